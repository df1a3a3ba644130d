// Whom people prefer, from votes on pairs.

import type { Ranked, Ranking } from "./data";
import type { Figures } from "./figures";
import { count, percent } from "./format";
import { Price } from "./price";
import { data, hue, link, run } from "./state";

export function Votes({ all, judged }: { all: Figures[]; judged: boolean }) {
  const found = data.value.rankings.filter((one) => one.run_id === run.value);
  if (found.length === 0) return null;
  const narrowed = link.value.only.category.length > 0;
  return (
    <section aria-labelledby="votes">
      <h2 id="votes">Whom people prefer</h2>
      {narrowed && <p class="hint">Votes of all categories; <code>archi3d judge rank --category</code> ranks one.</p>}
      {found.map((one) => <Table key={one.mode} ranking={one} all={all} judged={judged && !narrowed} />)}
      <p class="hint">Bradley-Terry strengths from votes on pairs, on the scale of chess: 400 points are odds of 10 to 1, 1500 is the average. The line is the 95 % interval of 1,000 sets of votes drawn again by item and judge. Those whose intervals overlap are tied: some 700 votes tell thirds of eight algorithms apart, not neighbours.</p>
    </section>
  );
}

/** The places that somebody may have: whoever overlaps is not told apart. */
export function places(one: Ranked, all: Ranked[]): [number, number] {
  const others = all.filter((other) => other !== one);
  const above = others.filter((other) => clearly(other, one)).length;
  const below = others.filter((other) => clearly(one, other)).length;
  return [above + 1, all.length - below];
}

const clearly = (better: Ranked, worse: Ranked): boolean =>
  better.interval !== null && worse.interval !== null && better.interval[0] > worse.interval[1];

function verdict({ algos }: Ranking): string {
  const first = algos[0];
  if (!first) return "No two algorithms have votes in both directions: no ranking yet.";
  if (first.interval === null) return "Too few votes: no ranking yet.";
  const tied = algos.slice(1).filter((other) => !clearly(first, other)).map((other) => other.algo);
  if (tied.length === 0) return `${first.algo} is preferred to all others.`;
  return `${first.algo} has the most points, but is tied with ${tied.length === 1 ? tied[0] : `${tied.slice(0, -1).join(", ")} and ${tied.at(-1)}`}.`;
}

function Table({ ranking, all, judged }: { ranking: Ranking; all: Figures[]; judged: boolean }) {
  const ends = ranking.algos.flatMap((one) => one.interval ?? [one.points]);
  const [low, high] = [Math.min(...ends, 1400), Math.max(...ends, 1600)];
  const at = (points: number) => `${((points - low) / (high - low)) * 100}%`;
  return (
    <>
      <h3 class="way">{ranking.mode === "clay" ? "Shape alone (clay)" : ranking.mode === "textured" ? "As they look (textured)" : ranking.mode}</h3>
      <p><bdi>{verdict(ranking)}</bdi></p>
      {ranking.algos.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Ranking, ${ranking.mode}`}>
          <table class="figures">
            <thead>
              <tr>
                <th scope="col">Place</th><th scope="col">Algorithm</th><th scope="col">Points</th><th scope="col">95 % interval</th><th scope="col">Is the best</th><th scope="col">Votes</th>
                {judged && <><th scope="col">Accepted</th><th scope="col">Per accepted model</th></>}
              </tr>
            </thead>
            <tbody>
              {ranking.algos.map((one) => {
                const [first, last] = places(one, ranking.algos);
                const own = all.find((other) => other.algo === one.algo);
                return (
                  <tr key={one.algo}>
                    <td>{first === last ? first : `${first}–${last}`}{first !== last && <small> tied</small>}</td>
                    <th scope="row"><i class="dot" style={{ background: hue(one.algo) }} /><bdi>{one.algo}</bdi></th>
                    <td>{Math.round(one.points)}</td>
                    <td>{one.interval === null ? "too few votes" : (
                      <span class="span" style={{ color: hue(one.algo) }}>
                        <i><b style={{ left: at(one.interval[0]), right: `calc(100% - ${at(one.interval[1])})` }} /><em style={{ left: at(one.points) }} /></i>
                        <small>{Math.round(one.interval[0])} to {Math.round(one.interval[1])}</small>
                      </span>
                    )}</td>
                    <td>{one.best === null ? "–" : percent(one.best)}</td>
                    <td>{one.votes}</td>
                    {judged && <><td>{own && own.judged > 0 ? <>{percent(own.accepted / own.judged)} <small>{own.accepted} of {own.judged}</small></> : "not judged"}</td><td>{own ? <Price micros={own.perAcceptedMicros} one={own} /> : "–"}</td></>}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <p class="hint">
        {count(ranking.votes, "vote")}{ranking.both_unusable > 0 && `, ${ranking.both_unusable} more say that both are unusable`}.
        {ranking.agreement !== null && ` Judges agree with alpha ${ranking.agreement.toFixed(2)} (1: always, 0: as by chance).`}
        {ranking.unconnected.length > 0 && ` Not ranked, because no votes connect them with the others in both directions: ${ranking.unconnected.join(", ")}.`}
      </p>
    </>
  );
}
