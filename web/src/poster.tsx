// Pictures of a model from eight sides: no WebGL needed, and comparable between makers.

import { useState } from "preact/hooks";

import type { Model } from "./data";
import { source } from "./context";

export const VIEWS = 8;

/** Shows a strip's view; moving over it, or the arrow keys, turns the model. */
export function Poster({ model, alt, size = 160 }: { model: Model; alt: string; size?: number }) {
  const [view, setView] = useState(1);
  if (!model.poster) return <div class="no-poster" style={{ width: `${size}px`, height: `${size}px` }}>{model.note ?? "no picture of this model"}</div>;
  const turn = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setView(Math.min(VIEWS - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * VIEWS))));
  };
  return (
    <div class="poster" style={{ width: `${size}px`, height: `${size}px` }} onPointerMove={turn} onPointerLeave={() => setView(1)}>
      <img src={source().poster(model)} alt={alt} loading="lazy" decoding="async"
        style={{ transform: `translateX(${(-100 / VIEWS) * view}%)` }} />
    </div>
  );
}
