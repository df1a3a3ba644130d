// What changes while one looks: the service's events, and who wants to hear of them. Nothing is asked
// while the page is hidden or the person has paused; whoever comes back misses nothing.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { PREFIX, problem } from "../api";
import { session } from "./parts";

export interface Told {
  id: string;
  event: string;
  /** The worker's line. */
  data: Record<string, unknown> & { run_id?: string; job_id?: string; timestamp?: string };
}

export type Connection = "connecting" | "live" | "lost";
export const connection = signal<Connection>("connecting");
export const paused = signal(false);
const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => (hidden.value = document.hidden));
/** Whether somebody looks, may look, and wants to see what changes. */
export const following = computed(() => !hidden.value && !paused.value && session.value !== null);

/** What no event tells (a worker that died, time that passes) is asked for this often. */
const EVERY_MS = 5000;
const SOONEST_MS = 300;

/** Reads a stream of events until it ends or is no longer wanted, from the place that `seen` has on, which is kept up to date. */
export async function stream(query: string, seen: { last: string | null }, until: AbortSignal, hear: (told: Told) => void, open?: () => void): Promise<void> {
  const answer = await fetch(`${PREFIX}/events${query}`, {
    credentials: "same-origin", cache: "no-store", signal: until,
    headers: { Accept: "text/event-stream", ...(seen.last === null ? {} : { "Last-Event-ID": seen.last }) },
  });
  if (!answer.ok || !answer.body) throw await problem(answer);
  open?.();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest = (rest + value).replaceAll("\r\n", "\n");
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const told = understand(block);
      if (told.id) seen.last = told.id;
      if (told.event) hear(told);
    }
  }
}

function understand(block: string): Told {
  const told: Told = { id: "", event: "", data: {} };
  const text: string[] = [];
  for (const line of block.split("\n")) {
    const found = line.match(/^(id|event|data): ?(.*)$/s);
    if (found?.[1] === "data") text.push(found[2]!);
    else if (found) told[found[1] as "id" | "event"] = found[2]!;
  }
  try {
    told.data = JSON.parse(text.join("\n")) as Told["data"];
  } catch {
    // A line that is no JSON is only a sign that something happened.
  }
  return told;
}

/** Time has passed. */
const TICK: Told = { id: "", event: "tick", data: {} };

type Wish = { concerns: (told: Told) => boolean; ask: () => void };
const wishes = new Set<Wish>();

/** Follows the service from now on. */
export function listen(): void {
  const seen = { last: null };
  effect(() => {
    if (!following.value) return undefined;
    const stop = new AbortController();
    const all = () => wishes.forEach((wish) => wish.ask());
    const timer = setInterval(() => wishes.forEach((wish) => wish.concerns(TICK) && wish.ask()), EVERY_MS);
    void (async () => {
      for (let wait = 500; !stop.signal.aborted; wait = Math.min(wait * 2, 10_000)) {
        try {
          await stream("", seen, stop.signal, (told) => {
            for (const wish of wishes) if (wish.concerns(told)) wish.ask();
          }, () => {
            connection.value = "live";
            wait = 500;
            // What happened before it was open was not heard.
            all();
          });
        } catch {
          // Tried again below.
        }
        if (stop.signal.aborted) return;
        connection.value = "lost";
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    })();
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  });
}

export interface Answer<T> {
  /** The newest answer to this question. */
  value: T | null;
  /** Why there is no newer one. */
  problem: string | null;
  /** Asks at once. */
  again: () => void;
}

const everything = () => true;

/** Asks a question now, and again whenever an event concerns it. A question is another one if its key is. Whoever answers slowly is asked less often. */
export function useLive<T>(key: string, ask: () => Promise<T>, concerns: (told: Told) => boolean = everything): Answer<T> {
  const [answer, setAnswer] = useState<{ key: string; value: T | null; problem: string | null; text: string }>({ key, value: null, problem: null, text: "" });
  const latest = useRef({ ask, concerns });
  latest.current = { ask, concerns };
  const now = useRef<() => void>(() => undefined);
  useEffect(() => {
    let gone = false;
    let busy = false;
    let wanted = false;
    let soonest = 0;
    let timer = 0;
    /** Whether a person wants to know, also if nothing is followed. */
    let forced = true;
    const run = async () => {
      timer = 0;
      // Whoever comes back asks anyway.
      if (!forced && !following.peek()) return;
      busy = true;
      forced = wanted = false;
      const started = performance.now();
      try {
        const value = await latest.current.ask();
        const text = JSON.stringify(value);
        // The same answer again changes nothing on the page.
        if (!gone) setAnswer((before) => (before.key === key && before.problem === null && text === before.text ? before : { key, value, problem: null, text }));
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        if (!gone) setAnswer((before) => ({ key, value: before.key === key ? before.value : null, problem: said, text: "" }));
      }
      busy = false;
      soonest = performance.now() + Math.max(SOONEST_MS, 3 * (performance.now() - started));
      if (wanted && !gone) plan();
    };
    const plan = () => {
      wanted = true;
      if (busy || timer !== 0) return;
      timer = window.setTimeout(() => void run(), Math.max(0, soonest - performance.now()));
    };
    const wish: Wish = { concerns: (told) => latest.current.concerns(told), ask: plan };
    wishes.add(wish);
    now.current = () => {
      forced = true;
      soonest = 0;
      clearTimeout(timer);
      timer = 0;
      plan();
    };
    void run();
    return () => {
      gone = true;
      clearTimeout(timer);
      wishes.delete(wish);
    };
  }, [key]);
  const own = answer.key === key;
  return { value: own ? answer.value : null, problem: own ? answer.problem : null, again: () => now.current() };
}

export const never = () => false;
/** An event that is no mere tick. */
export const happened = (told: Told): boolean => told.event !== "tick";
export const ofRun = (run: string) => (told: Told): boolean => told.data.run_id === undefined || told.data.run_id === run;
