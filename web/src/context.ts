// The one source of the page.

import type { Source } from "./source";

let current: Source | null = null;

export function setSource(source: Source): void {
  current = source;
}

export function source(): Source {
  if (!current) throw new Error("the page has no source yet");
  return current;
}
