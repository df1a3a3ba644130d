// One model on its canvas, with what there is instead while it is not there.

import { useEffect, useRef, useState } from "preact/hooks";

import { source } from "./context";
import type { Model, Score } from "./data";
import { Poster } from "./poster";
import { viewer } from "./stage";
import type { Viewer } from "./viewer-api";

interface Props {
  model: Model;
  label: string;
  truth?: Model | null;
  score?: Score | null;
}

export function Stand({ model, label, truth = null, score = null }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let stage: Viewer | null = null;
    let gone = false;
    const element = canvas.current;
    setProblem(null);
    setReady(false);
    (async () => {
      const opened = await viewer();
      const bytes = await source().model(model);
      const pose = score?.pose ?? null;
      const real = truth && pose ? await source().model(truth).catch(() => null) : null;
      if (gone || !element) return;
      stage = opened;
      await opened.add(element, bytes, real, pose);
      if (gone) opened.remove(element);
      else setReady(true);
    })().catch((error: unknown) => !gone && setProblem(error instanceof Error ? error.message : String(error)));
    return () => {
      gone = true;
      if (element) stage?.remove(element);
    };
  }, [model.sha256]);
  return (
    <div class="stand">
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${label}; arrow keys turn it`} hidden={problem !== null} data-ready={ready} />
      {problem !== null && (
        <div class="instead">
          <Poster model={model} alt={label} size={220} />
          <p class="hint">{problem}</p>
        </div>
      )}
    </div>
  );
}
