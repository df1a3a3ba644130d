// Pictures of a model from eight sides: no WebGL needed, and comparable between makers.

import { useState } from "preact/hooks";

import type { Model } from "./data";
import { source } from "./context";

const VIEWS = 8;
const FIRST = 1;

/** Shows one view; moving over it turns the model, for which all views are loaded: a strip takes eight
 * times the memory. With `onOpen` it is a button, on which the arrow keys turn it too. */
export function Poster({ model, alt, onOpen }: { model: Model; alt: string; onOpen?: () => void }) {
  const [view, setView] = useState<number | null>(null);
  const [lost, setLost] = useState(false);
  const turn = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setView(Math.min(VIEWS - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * VIEWS))));
  };
  const inside = model.poster && !lost ? (
    view === null
      ? <img key="one" class="own" src={source().view(model)} alt={alt} loading="lazy" decoding="async" draggable={false} onError={() => setLost(true)} />
      : <img key="all" src={source().poster(model)} alt={alt} draggable={false} onError={() => setLost(true)} style={{ transform: `translateX(${(-100 / VIEWS) * view}%)` }} />
  ) : model.preview && !lost ? (
    <>
      <img class="own" src={source().picture(model.preview)} alt={alt} loading="lazy" decoding="async" onError={() => setLost(true)} />
      {model.note !== "" && <span class="note">the maker's own picture: {reason(model)}</span>}
    </>
  ) : <span class="note only">{lost ? "Its picture is missing." : model.note || "no picture of this model"}</span>;
  const rest = () => setView(null);
  // Until the strip is there, what was seen stays.
  const style = view === null || !model.poster ? undefined : { background: `url("${source().view(model)}") center / contain` };
  if (!onOpen) return <div class="poster" style={style} onPointerMove={turn} onPointerLeave={rest}>{inside}</div>;
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowLeft: VIEWS - 1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    setView((now) => ((now ?? FIRST) + step) % VIEWS);
  };
  return (
    <button class="poster" style={style} onPointerMove={turn} onPointerLeave={rest} onBlur={rest} onKeyDown={keys} onClick={onOpen}>{inside}</button>
  );
}

const reason = (model: Model) => (model.note ?? "ours is missing").replace(/^no picture of this model: /, "");
