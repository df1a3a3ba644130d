// What is shown: text, facets with counts, order.

import { computed } from "@preact/signals";

import type { State } from "./data";
import { SORTS, facet, go, link, rows, shown } from "./state";
import type { Facet, Sort } from "./state";
import { count } from "./format";

const TITLES: [Facet, string][] = [
  ["algos", "Algorithm"], ["states", "State"], ["classes", "Error class"], ["categories", "Category"],
];

const SORT_WORDS: Record<Sort, string> = {
  item: "item", cost: "cost, highest first", time: "time, longest first", score: "score, best first",
  disagreement: "disagreement between algorithms",
};

const counts = computed(() => new Map(TITLES.map(([name]) => [name, facet(name)])));

export function Filters() {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <label>
        Search
        <input type="search" value={link.value.text} onInput={(event) => go({ text: event.currentTarget.value })} placeholder="product, name, category, job" />
      </label>
      <label>
        Order by
        <select value={link.value.sort} onChange={(event) => go({ sort: event.currentTarget.value as Sort })}>
          {SORTS.map((sort) => <option key={sort} value={sort}>{SORT_WORDS[sort]}</option>)}
        </select>
      </label>
      {TITLES.map(([name, title]) => <FacetBox key={name} name={name} title={title} />)}
      <p role="status" class="hint">{count(shown.value.length, "item")} of {rows.value.length}</p>
      {isFiltered() && (
        <button type="button" class="link" onClick={() => go({ text: "", algos: [], states: [], classes: [], categories: [] })}>show everything</button>
      )}
    </form>
  );
}

function isFiltered(): boolean {
  const { text, algos, states, classes, categories } = link.value;
  return text !== "" || algos.length + states.length + classes.length + categories.length > 0;
}

function FacetBox({ name, title }: { name: Facet; title: string }) {
  const found = counts.value.get(name) ?? new Map<string, number>();
  const chosen = link.value[name] as string[];
  const values = [...new Set([...found.keys(), ...chosen])].filter((value) => value !== "").sort();
  if (values.length < 2 && chosen.length === 0) return null;
  const toggle = (value: string) => {
    const next = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
    go({ [name]: next as State[] & string[] });
  };
  return (
    <fieldset>
      <legend>{title}</legend>
      {values.map((value) => (
        <label key={value} class="chip">
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          {value} <small>{found.get(value) ?? 0}</small>
        </label>
      ))}
    </fieldset>
  );
}
