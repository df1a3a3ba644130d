// What a model costs, as far as anybody knows: what nobody knows is never nothing.

import type { Figures } from "./figures";
import { about } from "./format";

/** Whether nothing is known of what was paid. */
export const isUnknown = (one: Figures): boolean => one.unknown > 0 && one.spentMicros === 0;

export function Price({ micros, one }: { micros: number | null; one: Figures }) {
  if (isUnknown(one)) return <>price unknown</>;
  return <>{one.unknown > 0 && micros !== null && <small>at least </small>}{about(micros)}</>;
}
