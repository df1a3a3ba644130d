// Numbers as people read them: short where they are time, and where they are money to the cent from a dollar on and exact below it.

export function usd(micros: number | null): string {
  if (micros === null) return "–";
  const sign = micros < 0 ? "−" : "";
  const exact = Math.abs(Math.round(micros));
  const whole = exact < 1_000_000 ? exact : Math.round(exact / 10_000) * 10_000;
  const dollars = Math.floor(whole / 1_000_000);
  let fraction = String(whole % 1_000_000).padStart(6, "0");
  fraction = fraction.replace(/0{1,4}$/, "");
  return `${sign}$${dollars.toLocaleString("en-US")}.${fraction.padEnd(2, "0")}`;
}

export function seconds(value: number | null): string {
  if (value === null) return "–";
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 120) return `${minutes} min ${Math.round(value % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0.995 || share < 0.005 ? 0 : 1).replace(/\.0$/, "")} %`;
}

/** An interval of shares, as short as it can be. */
export function range(low: number, high: number): string {
  return `${Math.round(low * 100)}–${Math.round(high * 100)} %`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1000).toFixed(0)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString("en-US")} ${value === 1 ? one : many}`;
}

export function fixed(value: number | null, digits = 3): string {
  return value === null ? "–" : value.toFixed(digits);
}

/** A price on a rough scale, as people say it. */
export function about(micros: number | null): string {
  if (micros === null) return "–";
  return usd(Math.abs(micros) >= 10_000 ? Math.round(micros / 10_000) * 10_000 : micros);
}

/** A sum of which a part may be unknown: that part is never nothing. */
export function priced(micros: number | null, unknown: number): string {
  if (unknown === 0) return usd(micros);
  return micros ? `at least ${usd(micros)}` : "an unknown price";
}

/** A text as a sentence begins. */
export const begins = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function signed(value: number, format: (size: number) => string): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${format(Math.abs(value))}`;
}

/** A word nobody said before. `crypto.randomUUID` is missing on plain http. */
export function unique(): string {
  const digits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  // With lines in it no spreadsheet takes it for a number.
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
