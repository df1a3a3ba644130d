// The arithmetic of the summary: quantiles, intervals, paired differences.

export function quantile(values: number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const first = sorted[low] as number;
  const second = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  return first + (second - first) * (at - low);
}

/** Wilson's 95 % interval of a share. */
export function wilson(hits: number, of: number): [number, number] {
  if (of === 0) return [0, 1];
  const z = 1.959964;
  const share = hits / of;
  const denominator = 1 + (z * z) / of;
  const middle = (share + (z * z) / (2 * of)) / denominator;
  const half = (z / denominator) * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

export interface Paired {
  pairs: number;
  /** The median of the differences. */
  median: number;
  /** How often the first is larger, ties half: 0.5 means no difference. */
  larger: number;
  /** Two-sided p-value of Wilcoxon's signed-rank test. */
  p: number;
}

/** Compares paired values; nothing for fewer than five pairs, where no test can tell. */
export function paired(differences: number[]): Paired | null {
  if (differences.length < 5) return null;
  const larger = differences.reduce((sum, d) => sum + (d > 0 ? 1 : d === 0 ? 0.5 : 0), 0);
  return {
    pairs: differences.length,
    median: quantile(differences, 0.5) as number,
    larger: larger / differences.length,
    p: signedRank(differences.filter((d) => d !== 0)),
  };
}

function signedRank(differences: number[]): number {
  const n = differences.length;
  if (n === 0) return 1;
  const bySize = differences
    .map((d) => ({ size: Math.abs(d), positive: d > 0 }))
    .sort((a, b) => a.size - b.size);
  let plus = 0;
  let ties = 0;
  const doubled: number[] = [];
  for (let at = 0; at < n; ) {
    let end = at;
    while (end < n && bySize[end]!.size === bySize[at]!.size) end += 1;
    const rank = (at + 1 + end) / 2;
    const count = end - at;
    ties += count * count * count - count;
    for (let i = at; i < end; i += 1) {
      doubled.push(Math.round(rank * 2));
      if (bySize[i]!.positive) plus += rank;
    }
    at = end;
  }
  if (n <= 25) return exactSignedRank(doubled, Math.round(plus * 2));
  const mean = (n * (n + 1)) / 4;
  const variance = (n * (n + 1) * (2 * n + 1)) / 24 - ties / 48;
  const z = (Math.abs(plus - mean) - 0.5) / Math.sqrt(variance);
  return Math.min(1, 2 * (1 - normal(Math.max(z, 0))));
}

/** Counts all signs: exact, ties included. Ranks and the sum come doubled, as whole numbers. */
function exactSignedRank(ranks: number[], plus: number): number {
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  const ways = new Float64Array(total + 1);
  ways[0] = 1;
  for (const rank of ranks) {
    for (let sum = total; sum >= rank; sum -= 1) ways[sum]! += ways[sum - rank]!;
  }
  const low = Math.min(plus, total - plus);
  let tail = 0;
  for (let sum = 0; sum <= low; sum += 1) tail += ways[sum]!;
  return Math.min(1, (2 * tail) / 2 ** ranks.length);
}

/** The normal distribution function (Abramowitz and Stegun 7.1.26, error below 1.5e-7). */
function normal(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - poly * Math.exp(-x * x);
  return 0.5 * (1 + (x < 0 ? -erf : erf));
}

/** Corrects p-values of several tests at once (Holm): one of them below 0.05 is no chance find. */
export function holm(values: number[]): number[] {
  const order = values.map((p, at) => ({ p, at })).sort((a, b) => a.p - b.p);
  const corrected = new Array<number>(values.length);
  let least = 0;
  order.forEach(({ p, at }, rank) => {
    least = Math.max(least, Math.min(1, p * (values.length - rank)));
    corrected[at] = least;
  });
  return corrected;
}
