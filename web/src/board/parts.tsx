// Small parts that several screens of the dashboard share.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";

import { ROLES, STATUSES } from "../api";
import type { Role, Run, Session } from "../api";
import { count, seconds } from "../format";
import { go, link, nothingChosen, write } from "../state";
import type { Link } from "../state";

export const session = signal<Session | null>(null);
export const may = (role: Role): boolean => session.value !== null && ROLES.indexOf(session.value.role) >= ROLES.indexOf(role);

/** Says something to those who cannot see it, and to all others in a line that goes away. */
export const said = signal("");
export const say = (text: string): void => void (said.value = text);

const FRESH: Partial<Link> = { text: "", item: "", swipe: [], change: "", job: "", by: "", sort: "item" };

/** A link to another place of the dashboard; what was chosen at the old one stays behind. */
export function To({ to, children, ...rest }: { to: Partial<Link>; children: ComponentChildren; class?: string; title?: string; "aria-current"?: "page" | undefined; "aria-label"?: string }) {
  const target = { ...link.value, ...FRESH, only: nothingChosen(), ...to };
  return (
    <a {...rest} href={write(target)} onClick={(event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      go(target);
      scrollTo(0, 0);
    }}>{children}</a>
  );
}

export const visit = (to: Partial<Link>): void => {
  go({ ...FRESH, only: nothingChosen(), ...to });
  scrollTo(0, 0);
};

/** How many jobs of a run have a model; what was only rehearsed has none. */
export const made = ({ jobs, rehearsed }: Run): number => jobs.completed - rehearsed;

/** How far a run is, by state. */
export function Progress({ run, label }: { run: Run; label: string }) {
  const sizes: [string, number][] = [...STATUSES.map((status): [string, number] => [status, status === "completed" ? made(run) : run.jobs[status]]), ["rehearsed", run.rehearsed]];
  const parts = sizes.filter(([, size]) => size > 0);
  const words = parts.map(([status, size]) => `${size.toLocaleString("en-US")} ${status}`).join(", ") || "no jobs";
  return (
    <span class="progress" role="img" aria-label={`${label}: ${words}`} title={words}>
      {parts.map(([status, size]) => <i key={status} class={status} style={{ flexGrow: size }} />)}
    </span>
  );
}

export function Chip({ status }: { status: string }) {
  return <span class={`chip ${status}`}>{status}</span>;
}

/** A moment as people say it, the exact one beside it. */
export function When({ at }: { at: string | null }) {
  if (!at) return <>–</>;
  const moment = new Date(at);
  return <time dateTime={at} title={moment.toLocaleString()}>{ago((Date.now() - moment.getTime()) / 1000)}</time>;
}

export function ago(age: number | null): string {
  if (age === null) return "–";
  if (age < 1) return "now";
  if (age < 60) return `${Math.floor(age)} s ago`;
  if (age < 3600) return `${Math.floor(age / 60)} min ago`;
  if (age < 48 * 3600) return `${Math.floor(age / 3600)} h ago`;
  return `${Math.floor(age / 86_400)} days ago`;
}

export const left = (value: number | null): string => (value === null ? "" : `about ${seconds(value)} left`);

/** Copies a text, also where a page on plain http may not. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={() => void copy(text).then((ok) => {
      setDone(ok);
      say(ok ? `Copied ${what}` : "The browser did not let this be copied");
    })}>{done ? "copied" : "copy"}</button>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.style.position = "fixed";
    const home = document.querySelector("dialog[open]") ?? document.body;
    home.append(box);
    box.select();
    // The only way on plain http.
    const ok = document.execCommand("copy");
    box.remove();
    return ok;
  }
}

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => (before instanceof HTMLElement ? before.focus() : undefined);
  }, []);
  return (
    <dialog ref={box} aria-labelledby="dialog-title" onClose={onClose} onClick={(event) => event.target === box.current && box.current?.close()}>
      <div class="inside">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** A step that changes something, asked about once more. */
export interface Question {
  title: string;
  /** What will happen, with number and price. */
  body: ComponentChildren;
  button: string;
  danger?: boolean;
  /** Does it; what it returns is told, what it throws is shown. */
  act: () => Promise<string>;
}

export const question = signal<Question | null>(null);

export function Confirm() {
  const asked = question.value;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => setProblem(null), [asked]);
  if (!asked) return null;
  const act = async () => {
    setBusy(true);
    setProblem(null);
    try {
      say(await asked.act());
      question.value = null;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <Dialog title={asked.title} onClose={() => (question.value = null)}>
      {asked.body}
      {problem && <p class="bad" role="alert">{problem}</p>}
      <div class="ends">
        <button type="button" onClick={() => (question.value = null)}>Not now</button>
        <button type="button" class={asked.danger ? "primary danger" : "primary"} disabled={busy} onClick={() => void act()}>{busy ? "One moment…" : asked.button}</button>
      </div>
    </Dialog>
  );
}

export function Trouble({ problem }: { problem: string | null }) {
  return problem ? <p class="trouble" role="alert">{problem}</p> : null;
}

export const jobsWord = (jobs: number): string => count(jobs, "job");
