// What is shown: text, facets with counts, order.

import { FACETS, SORTS, choose, counts, go, jobs, known, link, nothingChosen, rows, shown } from "./state";
import type { Facet, Sort } from "./state";
import { count } from "./format";

const TITLES: Record<Facet, string> = {
  state: "State", algo: "Algorithm", category: "Category", error: "Failed because", score: "F-score", verdict: "Judged",
};

const SORT_WORDS: Record<Sort, string> = {
  item: "item", cost: "cost, highest first", time: "time, longest first", score: "F-score, best first",
  disagreement: "disagreement, largest first",
};

export function Filters() {
  const { text, only, sort } = link.value;
  const chosen = FACETS.reduce((sum, facet) => sum + only[facet].length, 0);
  const fitting = shown.value.reduce((sum, row) => sum + row.jobs.size, 0);
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <input type="search" aria-label="Search" value={text} onInput={(event) => go({ text: event.currentTarget.value })} placeholder="Search items and jobs" />
      <label class="line">Order by
        <select value={sort} onChange={(event) => go({ sort: event.currentTarget.value as Sort })}>
          {SORTS.map((one) => <option key={one} value={one}>{SORT_WORDS[one]}</option>)}
        </select>
      </label>
      <p role="status" class="hint">
        {part(shown.value.length, rows.value.length, "item")}, {part(fitting, jobs.value.length, "job")}
        {(chosen > 0 || text) && <> · <button type="button" class="link" onClick={() => go({ text: "", only: nothingChosen() })}>show all</button></>}
      </p>
      <details class="facets" open={innerWidth > 900}>
        <summary>Narrow down{chosen > 0 && ` (${chosen})`}</summary>
        <p class="hint">Numbers are jobs that fit everything else chosen here.</p>
        {FACETS.map((facet) => <FacetBox key={facet} facet={facet} />)}
      </details>
    </form>
  );
}

const part = (some: number, all: number, what: string) => (some === all ? count(all, what) : `${some.toLocaleString("en-US")} of ${count(all, what)}`);

function FacetBox({ facet }: { facet: Facet }) {
  const found = counts.value[facet];
  const chosen = link.value.only[facet];
  const values = [...new Set([...known.value[facet], ...chosen])].sort((a, b) => (facet === "score" ? b.localeCompare(a) : a.localeCompare(b)));
  if (values.length < 2 && chosen.length === 0) return null;
  const toggle = (value: string) =>
    go(choose(facet, chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]));
  return (
    <fieldset>
      <legend>{TITLES[facet]}</legend>
      {values.map((value) => (
        <label key={value} class={found.has(value) ? "value" : "value faint"}>
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          <bdi title={value}>{value}</bdi> <small>{(found.get(value) ?? 0).toLocaleString("en-US")}</small>
        </label>
      ))}
    </fieldset>
  );
}
