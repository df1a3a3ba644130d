// One model on its canvas, with what there is instead while it is not there.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { source } from "./context";
import type { Model, Score } from "./data";
import { Poster } from "./poster";
import { viewer } from "./stage";
import type { Viewer } from "./viewer-api";

/** Counts how often the person has chosen a folder, so that models are asked for again. */
export const chosen = signal(0);

interface Props {
  model: Model;
  label: string;
  score?: Score | null;
  /** What turns it. */
  keys?: string;
}

export function Stand({ model, label, score = null, keys = "arrow keys" }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    let stage: Viewer | null = null;
    let gone = false;
    setProblem(null);
    setReady(false);
    const load = async () => {
      const opened = await viewer();
      const bytes = await source().model(model);
      if (gone) return;
      stage = opened;
      await opened.add(element, bytes, score?.pose ?? null);
      if (gone) opened.remove(element);
      else setReady(true);
    };
    // Only what comes near the screen is loaded.
    const watcher = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      watcher.disconnect();
      load().catch((error: unknown) => !gone && setProblem(error instanceof Error ? error.message : String(error)));
    }, { rootMargin: "400px" });
    watcher.observe(element.parentElement ?? element);
    return () => {
      gone = true;
      watcher.disconnect();
      stage?.remove(element);
    };
  }, [model.sha256, model.path, chosen.value]);
  return (
    <div class="stand">
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${label}; ${keys} turn it`} hidden={problem !== null} data-ready={ready} />
      {!ready && problem === null && <div class="waiting" aria-hidden="true"><Poster model={model} alt="" /><i /></div>}
      {problem !== null && (
        <div class="instead">
          <Poster model={model} alt={label} />
          <p>{problem}</p>
        </div>
      )}
    </div>
  );
}
