// A new run: which items, which algorithms, what it will cost, and the most it may.

import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api, micros } from "../api";
import type { Algo, Item, Order, Plan } from "../api";
import { count, priced, unique, usd } from "../format";
import { catalogue } from "./data";
import { useLive } from "./live";
import { Chip, To, Trouble, may, question, visit } from "./parts";

const PAGE = 120;
const chosenItems = signal<ReadonlySet<string>>(new Set());
const chosenAlgos = signal<ReadonlySet<string>>(new Set());
const name = signal("");
const notes = signal("");
const text = signal("");
/** The most it may cost, once the person has said so; until then the plan's own worst case. */
const most = signal<string | null>(null);
const anew = signal(false);

interface Foretold {
  for: string;
  plan: Plan | null;
  problem: string | null;
}
const foretold = signal<Foretold>({ for: "", plan: null, problem: null });

const order = computed<Order | null>(() => {
  if (chosenItems.value.size === 0 || chosenAlgos.value.size === 0) return null;
  return {
    parameters: { algos: [...chosenAlgos.value].sort(), items: [...chosenItems.value].sort() },
    ...(anew.value ? { dedupe: "none" as const } : {}),
  };
});

/** Asks for the plan of what is chosen, and takes only the answer to the last question. */
function foretell(wanted: Order): () => void {
  const key = JSON.stringify(wanted);
  const timer = setTimeout(() => {
    const keep = (plan: Plan | null, problem: string | null) => {
      if (order.value && JSON.stringify(order.value) === key) foretold.value = { for: key, plan, problem };
    };
    api.plan(wanted).then((plan) => keep(plan, null), (error: unknown) => keep(null, error instanceof Error ? error.message : String(error)));
  }, 200);
  return () => clearTimeout(timer);
}

export function NewRun() {
  const { value, problem } = useLive("catalogue", catalogue, (told) => told.event === "catalog_build" || told.event === "provider_closed" || told.event === "breaker_opened");
  const wanted = order.value;
  useEffect(() => (wanted ? foretell(wanted) : undefined), [wanted]);
  if (!may("submit")) return <p class="empty">Starting a run needs a token with the role <b>submit</b>.</p>;
  if (!value) return <><Trouble problem={problem} /><p class="empty">{problem ? "" : "Loading…"}</p></>;
  const items = [...value.items.values()];
  return (
    <>
      <h2 class="first">New run</h2>
      <div class="order">
        <div>
          <Algos algos={value.algos} />
          <Items items={items} />
        </div>
        <PlanBox />
      </div>
    </>
  );
}

function flip(set: typeof chosenItems, keys: string[], on: boolean): void {
  const next = new Set(set.value);
  for (const key of keys) {
    if (on) next.add(key);
    else next.delete(key);
  }
  set.value = next;
}

function Algos({ algos }: { algos: Algo[] }) {
  const ready = algos.filter((one) => one.runnable);
  const others = algos.filter((one) => !one.runnable);
  const line = (one: Algo) => (
    <label key={one.algo} class={one.runnable ? "pickable" : "pickable faint"}>
      <input type="checkbox" checked={chosenAlgos.value.has(one.algo)} onChange={(event) => flip(chosenAlgos, [one.algo], event.currentTarget.checked)} />
      <span><bdi>{one.algo}</bdi> <small>{one.kind}, {one.image_mode === "multi" ? "several pictures" : "one picture"}</small>
        {(one.closed ?? one.paused) && <small class="bad"> {one.closed ? "closed" : "paused"}: {(one.closed ?? one.paused)!.reason}</small>}
        {!one.runnable && <small> {one.problems[0]}</small>}</span>
      <b class="money">{one.unit_price_usd === null ? "price unknown" : one.unit_price_usd === 0 ? "free" : usd(micros(one.unit_price_usd))}</b>
    </label>
  );
  return (
    <section aria-labelledby="algos">
      <h3 id="algos">Algorithms <small>{chosenAlgos.value.size} of {algos.length}</small></h3>
      {ready.length === 0 && <p class="hint">None can run here yet: each says below what it lacks.</p>}
      <div class="pickables">{ready.map(line)}</div>
      {others.length > 0 && <details class="others" open={ready.length === 0}><summary>{others.length} more that cannot run here</summary><div class="pickables">{others.map(line)}</div></details>}
    </section>
  );
}

function Items({ items }: { items: Item[] }) {
  const wanted = text.value.trim().toLowerCase();
  const fitting = items.filter((one) => !wanted || [one.item, one.name, ...one.categories].some((word) => word?.toLowerCase().includes(wanted)));
  const keys = fitting.map((one) => one.item);
  const here = keys.filter((key) => chosenItems.value.has(key)).length;
  return (
    <section aria-labelledby="items">
      <div class="bar">
        <h3 id="items">Items <small>{chosenItems.value.size.toLocaleString("en-US")} of {items.length.toLocaleString("en-US")}</small></h3>
        <input type="search" aria-label="Search items" placeholder="Search items" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        <button type="button" disabled={here === keys.length} onClick={() => flip(chosenItems, keys, true)}>{wanted ? `Take all ${keys.length} that match` : `Take all ${keys.length}`}</button>
        <button type="button" disabled={here === 0} onClick={() => flip(chosenItems, keys, false)}>Take none</button>
      </div>
      {items.length === 0 && <p class="hint">The catalogue is empty: put pictures into <code>dataset/</code> and run <code>archi3d catalog build</code>.</p>}
      <div class="tiles">
        {fitting.slice(0, PAGE).map((one) => (
          <label key={one.item} class="tile">
            <input type="checkbox" checked={chosenItems.value.has(one.item)} onChange={(event) => flip(chosenItems, [one.item], event.currentTarget.checked)} />
            {one.pictures[0] ? <img src={one.pictures[0].href} alt="" loading="lazy" decoding="async" /> : <span class="nopicture">no picture</span>}
            <bdi class="name">{one.name || one.item}</bdi>
            <small><bdi>{one.item}</bdi></small>
          </label>
        ))}
      </div>
      {fitting.length > PAGE && <p class="hint">The first {PAGE} of {fitting.length.toLocaleString("en-US")} are shown; search to see others. “Take all” takes all of them.</p>}
    </section>
  );
}

/** Returns how many jobs an order is for; what cannot start yet waits until it can. */
const comes = (plan: Plan) => plan.start + plan.reuse + plan.blocked;

const expected = (plan: Plan): string => priced(micros(plan.expected_usd), plan.unknown_price_jobs);

/** The least number of cents that is enough, as dollars. */
const cents = (dollars: number): string => (Math.ceil(Math.round(dollars * 1e6) / 1e4) / 100).toFixed(2);

function PlanBox() {
  const wanted = order.value;
  const current = wanted !== null && foretold.value.for === JSON.stringify(wanted);
  const { plan, problem } = foretold.value;
  const limit = most.value ?? (plan && current ? cents(Math.max(plan.worst_usd, plan.expected_usd)) : "");
  const cap = Number(limit);
  const costs = plan !== null && (plan.expected_usd > 0 || plan.worst_usd > 0 || plan.unknown_price_jobs > 0);
  const fits = !costs || (limit !== "" && Number.isFinite(cap) && cap >= plan.expected_usd);
  const nothing = plan !== null && comes(plan) === 0;
  const ready = current && plan !== null && fits && !nothing && !plan.priceless && (!plan.existing || anew.value);
  return (
    <form class="card plan" aria-label="Plan" aria-busy={wanted !== null && !current} data-plan={current ? plan?.hash : ""} onSubmit={(event) => {
      event.preventDefault();
      if (ready && wanted) ask(wanted, plan, costs ? cap : null);
    }}>
      <h3>{wanted ? `${count(chosenItems.value.size, "item")} × ${count(chosenAlgos.value.size, "algorithm")}` : "Choose items and algorithms"}</h3>
      <div aria-live="polite">
        {wanted && !current && <p class="big"><small>working it out…</small></p>}
        {current && problem && <p class="bad">{problem}</p>}
        {current && plan && <Foreseen plan={plan} />}
      </div>
      <label class="field">Name <input value={name.value} placeholder="made up for you" pattern="[A-Za-z0-9][A-Za-z0-9._\-]*" title="letters, digits, dots, dashes and underscores" onInput={(event) => (name.value = event.currentTarget.value)} autocomplete="off" /></label>
      <label class="field">Never more than <span class="dollars">$ <input type="number" min="0" step="0.01" inputMode="decimal" value={limit} disabled={!costs} onInput={(event) => (most.value = event.currentTarget.value)} /></span></label>
      {current && costs && !fits && <p class="bad" role="alert">The plan is expected to cost {usd(micros(plan!.expected_usd))}: allow at least that much.</p>}
      <label class="field">Notes <input value={notes.value} onInput={(event) => (notes.value = event.currentTarget.value)} autocomplete="off" /></label>
      <button class="primary" disabled={!ready}>{ready ? `Start ${count(comes(plan), "job")} for ${expected(plan)}…` : "Start…"}</button>
      <p class="hint">You see number and price once more before anything is bought.</p>
    </form>
  );
}

function Foreseen({ plan }: { plan: Plan }) {
  return (
    <>
      <p class="big">{plan.expected_usd === 0 && plan.unknown_price_jobs > 0 ? "Price unknown" : usd(micros(plan.expected_usd))} <small>{plan.unknown_price_jobs === 0 ? "expected" : plan.expected_usd > 0 && `and ${count(plan.unknown_price_jobs, "job")} of unknown price`}{plan.worst_usd > plan.expected_usd && `, at worst ${usd(micros(plan.worst_usd))}`}</small></p>
      <dl>
        <dt>Jobs</dt><dd>{plan.jobs.toLocaleString("en-US")}</dd>
        <dt>To be made</dt><dd>{plan.start.toLocaleString("en-US")}</dd>
        {plan.reuse > 0 && <><dt>Copied for nothing</dt><dd>{plan.reuse.toLocaleString("en-US")}</dd></>}
        {plan.blocked > 0 && <><dt>Cannot start yet</dt><dd class="bad">{plan.blocked.toLocaleString("en-US")}</dd></>}
        {plan.unknown_price_jobs > 0 && <><dt>Price unknown</dt><dd class="bad">{plan.unknown_price_jobs.toLocaleString("en-US")}</dd></>}
      </dl>
      {plan.algos.length > 1 && (
        <table class="figures"><tbody>{plan.algos.map((one) => <tr key={one.algo}><th scope="row"><bdi>{one.algo}</bdi></th><td class="number">{one.jobs}</td><td class="number">{one.expected_usd === null ? "unknown" : usd(micros(one.expected_usd))}</td></tr>)}</tbody></table>
      )}
      {plan.algos.filter((one) => one.problem).map((one) => <p key={one.algo} class="bad"><bdi>{one.algo}</bdi>: {one.problem}</p>)}
      {plan.priceless && <p class="bad" role="alert"><bdi>{plan.priceless}</bdi> has no known price, so its jobs never start under a limit: give it a unit_price_usd in config/adapters.yaml (0 if it is free).</p>}
      {plan.warnings.map((line) => <p key={line} class="bad">{line}</p>)}
      {(plan.existing || anew.value) && (
        <p class="existing">
          {plan.existing && <>This is there already: <To to={{ screen: "run", run: plan.existing.run_id }}><bdi>{plan.existing.run_id}</bdi></To> <Chip status={plan.existing.status} /></>}
          <label class="line"><input type="checkbox" checked={anew.value} onChange={(event) => (anew.value = event.currentTarget.checked)} /> buy it again</label>
        </p>
      )}
    </>
  );
}

/** The word under which an order was sent: the same order again is the same run, whatever became of the answer. */
let sent = { body: "", key: "" };

function ask(wanted: Order, plan: Plan, cap: number | null): void {
  const full: Order = {
    ...wanted, if_plan: plan.hash, start: true,
    ...(cap === null ? {} : { max_cost_usd: cap }),
    ...(name.value.trim() ? { run_id: name.value.trim() } : {}),
    ...(notes.value.trim() ? { notes: notes.value.trim() } : {}),
  };
  const body = JSON.stringify(full);
  if (sent.body !== body) sent = { body, key: unique() };
  question.value = {
    title: `Start ${count(comes(plan), "job")}?`, button: `Start for ${expected(plan)}`,
    body: (
      <>
        <p><b>{count(chosenItems.value.size, "item")}</b> × <b>{[...chosenAlgos.value].join(", ")}</b></p>
        <p><b>{count(plan.start + plan.blocked, "job")}</b> to be made for {plan.unknown_price_jobs === 0 && "an expected "}<b class="money">{expected(plan)}</b>{cap !== null && <>, never more than <b class="money">{usd(micros(cap))}</b></>}.{plan.reuse > 0 && ` ${count(plan.reuse, "result")} copied from earlier runs at no cost.`}</p>
        {plan.unknown_price_jobs > 0 && <p class="bad">{count(plan.unknown_price_jobs, "job has", "jobs have")} no known price.</p>}
        {plan.blocked > 0 && <p class="bad">{count(plan.blocked, "of them waits", "of them wait")} until it can start, and then costs that.</p>}
      </>
    ),
    act: async () => {
      const made = await api.start(full, sent.key);
      sent = { body: "", key: "" };
      chosenItems.value = chosenAlgos.value = new Set();
      [name.value, notes.value, most.value, anew.value] = ["", "", null, false];
      visit({ screen: "run", run: made.run_id });
      return made.deduplicated ? `${made.run_id} was there already; nothing new was started` : `${made.run_id} is started`;
    },
  };
}
