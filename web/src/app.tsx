// The page: one head, one screen.

import { render } from "preact";

import { About } from "./about";
import { Compare } from "./compare";
import { setSource } from "./context";
import { Diff } from "./diff";
import { Failures } from "./failures";
import { Grid } from "./grid";
import { Judge } from "./judge";
import { FileSource } from "./source";
import { SCREENS, data, follow, go, link, run, write } from "./state";
import type { ReportScreen } from "./state";
import { Summary } from "./summary";
import { useCurrentInView } from "./tabs";

const TITLES: Record<ReportScreen, string> = {
  summary: "Summary", grid: "Grid", compare: "Compare", diff: "Diff", failures: "Failures", judge: "Judge", about: "About",
};

const PAGES: Record<ReportScreen, () => preact.ComponentChild> = {
  summary: () => <Summary />, grid: () => <Grid />, compare: () => <Compare />, diff: () => <Diff />,
  failures: () => <Failures />, judge: () => <Judge />, about: () => <About />,
};

function App() {
  const { runs, against, title } = data.value;
  const own = runs.filter((known) => known.run_id !== against);
  const screens = SCREENS.filter((screen) => screen !== "diff" || against);
  const screen = link.value.screen as ReportScreen;
  const nav = useCurrentInView(screen);
  document.title = `${TITLES[screen]} · ${title}`;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>("main")?.focus();
      }}>Skip to content</a>
      <header>
        <h1><bdi>{title}</bdi></h1>
        {own.length > 1 && (
          <label>Run <select value={run.value} onChange={(event) => go({ run: event.currentTarget.value })}>
            {own.map((known) => <option key={known.run_id}>{known.run_id}</option>)}
          </select></label>
        )}
        <nav ref={nav} aria-label="Screens">
          {screens.map((one) => (
            <a key={one} href={write({ ...link.value, screen: one })} aria-current={screen === one ? "page" : undefined} onClick={(event) => {
              // A new tab gets the link, this one only another screen.
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              go({ screen: one });
              scrollTo(0, 0);
            }}>{TITLES[one]}</a>
          ))}
        </nav>
      </header>
      <main tabIndex={-1}>
        {link.value.run && link.value.run !== run.value && <p class="empty" role="status">There is no run <bdi>{link.value.run}</bdi> in this report; this is <bdi>{run.value}</bdi>.</p>}
        {PAGES[screen]()}
      </main>
    </>
  );
}

function start(): void {
  const root = document.getElementById("app");
  if (!root) return;
  const inline = (name: string) => document.getElementById(`file:${name}`)?.textContent ?? null;
  try {
    const source = new FileSource(inline);
    setSource(source);
    data.value = source.data();
    follow();
    root.textContent = "";
    render(<App />, root);
  } catch (error) {
    root.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  }
}

start();
