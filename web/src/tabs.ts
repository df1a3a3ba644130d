// Rows of links that are wider than a telephone.

import { useLayoutEffect, useRef } from "preact/hooks";

/** Keeps the link of the current place in the middle of its row, as far as the row scrolls. */
export function useCurrentInView(current: string) {
  const row = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const box = row.current;
    const one = box?.querySelector<HTMLElement>("[aria-current]");
    if (box && one) box.scrollLeft = one.offsetLeft - (box.clientWidth - one.offsetWidth) / 2;
  }, [current]);
  return row;
}
