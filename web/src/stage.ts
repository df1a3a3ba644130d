// The one viewer of the page, made when a model is first opened.

import { source } from "./context";
import type { Viewer } from "./viewer-api";

let opening: Promise<Viewer> | null = null;

/** Returns the viewer; fails with a sentence where the browser cannot draw in 3D. */
export function viewer(): Promise<Viewer> {
  opening ??= open();
  return opening;
}

async function open(): Promise<Viewer> {
  await source().script("viewer.js");
  if (!window.archi3dViewer) throw new Error("viewer.js is missing");
  try {
    return window.archi3dViewer.create((name) => source().script(name));
  } catch {
    throw new Error("This browser cannot draw in 3D here (no WebGL). The pictures show each model from eight sides.");
  }
}

/** Gives everything back; the next model opens a new one. */
export async function close(): Promise<void> {
  const current = opening;
  opening = null;
  try {
    (await current)?.dispose();
  } catch {
    // It never came to be.
  }
}
