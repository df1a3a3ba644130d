// Pictures of a model from eight sides: no WebGL needed, and comparable between makers.

import { useState } from "preact/hooks";

import type { Model } from "./data";
import { source } from "./context";

const VIEWS = 8;
const FIRST = 1;

/** Shows a strip's view; moving over it turns the model. With `onOpen` it is a button, on which
 * the arrow keys turn it too. */
export function Poster({ model, alt, onOpen }: { model: Model; alt: string; onOpen?: () => void }) {
  const [view, setView] = useState(FIRST);
  const [lost, setLost] = useState(false);
  const turn = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setView(Math.min(VIEWS - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * VIEWS))));
  };
  const inside = model.poster && !lost ? (
    <img src={source().poster(model)} alt={alt} loading="lazy" decoding="async" draggable={false} onError={() => setLost(true)}
      style={{ transform: `translateX(${(-100 / VIEWS) * view}%)` }} />
  ) : model.preview && !lost ? (
    <>
      <img class="own" src={source().picture(model.preview)} alt={alt} loading="lazy" decoding="async" onError={() => setLost(true)} />
      <span class="note">the maker's own picture: {reason(model)}</span>
    </>
  ) : <span class="note only">{lost ? "Its picture is missing in this report." : model.note ?? "no picture of this model"}</span>;
  if (!onOpen) return <div class="poster" onPointerMove={turn} onPointerLeave={() => setView(FIRST)}>{inside}</div>;
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowLeft: VIEWS - 1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    setView((now) => (now + step) % VIEWS);
  };
  return (
    <button class="poster" onPointerMove={turn} onPointerLeave={() => setView(FIRST)} onKeyDown={keys} onClick={onOpen}>{inside}</button>
  );
}

const reason = (model: Model) => (model.note ?? "ours is missing").replace(/^no picture of this model: /, "");
