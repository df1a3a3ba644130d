// The dashboard: one head, one screen, keys, and who one is.

import { computed, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import { Problem, api, onSignedOut } from "../api";
import { setSource } from "../context";
import { desk } from "../judge";
import { BOARD_SCREENS, data, follow, link, setScreens } from "../state";
import type { BoardScreen } from "../state";
import { useCurrentInView } from "../tabs";
import { Costs } from "./costs";
import { EMPTY, HttpSource } from "./data";
import { JobPage } from "./job";
import { connection, listen, paused } from "./live";
import { NewRun } from "./new";
import { Confirm, Dialog, To, may, question, said, say, session, visit } from "./parts";
import { NoRun, RunFrame, selectAll, selectFocused } from "./run";
import { Runs } from "./runs";
import { Workers } from "./workers";

const NAV: [BoardScreen, string][] = [["runs", "Runs"], ["workers", "Workers & providers"], ["costs", "Costs"], ["new", "New run"], ["judge", "Judge"]];
const OF_A_RUN: BoardScreen[] = ["run", "grid", "compare", "summary", "failures", "judge"];

const THEMES = ["light dark", "light", "dark"] as const;
const theme = signal<string>(kept("archi3d-theme") ?? THEMES[0]);
const helping = signal(false);
const screen = computed(() => link.value.screen as BoardScreen);

function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function turnTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value as (typeof THEMES)[number]) + 1) % THEMES.length]!;
  document.documentElement.style.colorScheme = theme.value;
  try {
    localStorage.setItem("archi3d-theme", theme.value);
  } catch {
    // It lasts as long as the page then.
  }
  say(`Theme: ${themeWord()}`);
}

const themeWord = () => (theme.value === "light dark" ? "as the system" : theme.value);

function turnRefresh(): void {
  paused.value = !paused.value;
  say(paused.value ? "Refresh is paused" : "Refresh resumed");
}

const KEYS: [string, string][] = [
  ["g r", "runs"], ["g w", "workers and providers"], ["g c", "costs"], ["g j", "judge"], ["g n", "new run"],
  ["/", "search"], ["f", "facets"], ["x", "select the job in focus"], ["a", "select all that match"],
  ["r", "pause refresh"], ["t", "theme"], ["?", "this help"],
  ["1 … 9", "in Compare: one algorithm alone"], ["m", "in Compare: how models are drawn"], ["0", "in Compare: back"], ["arrows", "turn the model in focus"],
];
const PLACES: Record<string, BoardScreen> = { r: "runs", w: "workers", c: "costs", j: "judge", n: "new" };

let going = -Infinity;
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const typing = target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== "checkbox");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || question.value || helping.value) return;
  const isSecond = performance.now() - going < 1500;
  going = -Infinity;
  const place = PLACES[event.key];
  if (isSecond && place) {
    event.preventDefault();
    visit({ screen: place, run: place === "judge" ? link.value.run : "" });
    return;
  }
  const actions: Record<string, () => void> = {
    g: () => (going = performance.now()), "/": () => document.querySelector<HTMLElement>("main input[type=search]")?.focus(),
    f: () => document.querySelector<HTMLElement>(".facets input")?.focus(), "?": () => (helping.value = true), t: turnTheme, r: turnRefresh,
    ...(screen.value === "run" && may("submit") ? { a: selectAll, x: selectFocused } : {}),
  };
  const action = actions[event.key];
  // In Judge, keys are answers.
  if (!action || (screen.value === "judge" && !["g", "?", "t", "r", "/"].includes(event.key))) return;
  event.preventDefault();
  action();
}

function Page() {
  const { run } = link.value;
  if (OF_A_RUN.includes(screen.value)) return run ? <RunFrame key={run} /> : <NoRun />;
  if (screen.value === "job") return <JobPage key={`${run} ${link.value.job}`} />;
  return screen.value === "workers" ? <Workers /> : screen.value === "costs" ? <Costs /> : screen.value === "new" ? <NewRun /> : <Runs />;
}

const CONNECTION = { connecting: "connecting", live: "live", lost: "no connection" };

function Head() {
  const isOf = (one: BoardScreen) => one === screen.value || (one === "runs" && (screen.value === "job" || (screen.value !== "judge" && OF_A_RUN.includes(screen.value))));
  const nav = useCurrentInView(screen.value);
  const state = paused.value ? "paused" : connection.value;
  return (
    <header>
      <h1><To to={{ screen: "runs", run: "" }}>archi3d</To></h1>
      <nav ref={nav} aria-label="Screens">
        {NAV.filter(([one]) => (one !== "new" || may("submit")) && (one !== "judge" || may("judge"))).map(([one, word]) => (
          <To key={one} to={{ screen: one, run: one === "judge" ? link.value.run : "" }} aria-current={isOf(one) ? "page" : undefined}>{word}</To>
        ))}
      </nav>
      <span class="corner">
        <button class={`live ${state}`} aria-pressed={paused.value} title="Pause refresh (r)" onClick={turnRefresh}><i />{paused.value ? "paused" : CONNECTION[connection.value]}</button>
        <button class="plain" title="Theme (t)" aria-label={`Theme: ${themeWord()}`} onClick={turnTheme}>{theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}</button>
        <button class="plain" title="Keys (?)" aria-label="Keys" onClick={() => (helping.value = true)}>?</button>
        <span class="who"><bdi>{session.value?.name}</bdi> <small>{session.value?.role}</small></span>
        <button class="link" onClick={() => void api.signOut().catch(() => undefined).then(() => (session.value = null))}>Sign out</button>
      </span>
    </header>
  );
}

function Help() {
  return (
    <Dialog title="Keys" onClose={() => (helping.value = false)}>
      <dl class="keys">{KEYS.map(([key, what]) => <><dt key={key}>{key.split(" ").map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{what}</dd></>)}</dl>
      <div class="ends"><button onClick={() => (helping.value = false)}>Close</button></div>
    </Dialog>
  );
}

function SignIn() {
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async (form: HTMLFormElement) => {
    setBusy(true);
    setProblem(null);
    try {
      session.value = await api.signIn(String(new FormData(form).get("token")).trim());
    } catch (error) {
      setProblem(error instanceof Problem && error.status === 401 ? "This token is not known here; it may have been revoked." : error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <main class="signin" tabIndex={-1}>
      <form class="card" onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget);
      }}>
        <h1>archi3d</h1>
        <p class="sub">Sign in with a token.</p>
        <label class="field">Token <input name="token" type="password" autocomplete="current-password" required autofocus placeholder="a3d_…" /></label>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <button class="primary" disabled={busy}>Sign in</button>
        <p class="hint">The address that <code>archi3d serve</code> prints signs you in by itself. <code>archi3d token create NAME</code> makes a token for another person.</p>
      </form>
    </main>
  );
}

function Said() {
  useEffect(() => {
    if (!said.value) return undefined;
    const timer = setTimeout(() => say(""), 5000);
    return () => clearTimeout(timer);
  }, [said.value]);
  return <div class="said" role="status" aria-live="polite">{said.value && <p>{said.value}</p>}</div>;
}

function App() {
  const { run, job } = link.value;
  const title = [job || run, NAV.find(([one]) => one === screen.value)?.[1] ?? "", "archi3d"].filter(Boolean).join(" · ");
  useLayoutEffect(() => void (document.title = title), [title]);
  if (!session.value) return <><SignIn /><Said /></>;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>("main")?.focus();
      }}>Skip to content</a>
      <Head />
      <main tabIndex={-1} data-screen={screen.value}><Page /></main>
      <Confirm />
      {helping.value && <Help />}
      <Said />
    </>
  );
}

/** Trades the token of the address for a cookie, and takes it out of the bar and of the history. */
async function signInByAddress(): Promise<void> {
  const token = location.hash.match(/^#token=(.+)$/)?.[1];
  if (token !== undefined) history.replaceState(null, "", location.pathname);
  try {
    session.value = token === undefined ? await api.session() : await api.signIn(decodeURIComponent(token));
  } catch (error) {
    if (token !== undefined || !(error instanceof Problem) || error.status !== 401) say(error instanceof Error ? error.message : String(error));
  }
}

async function start(): Promise<void> {
  const root = document.getElementById("app");
  if (!root) return;
  document.documentElement.style.colorScheme = theme.value;
  setSource(new HttpSource());
  data.value = EMPTY;
  desk.send = (votes, verdicts) => api.judge(votes, verdicts);
  onSignedOut.call = () => (session.value = null);
  await signInByAddress();
  setScreens(BOARD_SCREENS);
  follow();
  addEventListener("keydown", onKey);
  listen();
  root.textContent = "";
  render(<App />, root);
}

void start();
