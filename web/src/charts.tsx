// Small pictures of numbers, as SVG with a text for those who cannot see it. They are drawn as wide
// as they are shown, so that letters keep their size on a telephone.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Point {
  label: string;
  x: number;
  y: number;
  size: number;
  colour: string;
}

interface Axis {
  label: string;
  format: (value: number) => string;
}

const HEIGHT = 340;
const PAD = { left: 66, right: 18, top: 14, bottom: 46 };
/** Below this, names stand above their lines instead of beside them. */
const NARROW = 440;

/** The width that an element has on the page. */
function useWidth() {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(560);
  useLayoutEffect(() => {
    const look = () => {
      const svg = box.current?.querySelector("svg");
      if (svg?.clientWidth) setWidth(Math.max(240, Math.min(900, svg.clientWidth)));
    };
    look();
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return { box, width };
}

/** Round numbers from nothing to `most`, as many as there is room for. */
function ticks(most: number, room: number): number[] {
  if (most <= 0) return [0];
  const raw = most / Math.max(2, Math.min(5, Math.floor(room / 70)));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const found = [];
  for (let at = 0; at * step <= most * 1.001; at += 1) found.push(at * step);
  return found;
}

const short = (label: string, most: number) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);

export function Scatter({ title, hint, x, y, points }: { title: string; hint: string; x: Axis; y: Axis; points: Point[] }) {
  const { box, width } = useWidth();
  const mostX = Math.max(...points.map((point) => point.x), 0) * 1.1 || 1;
  const mostY = Math.max(...points.map((point) => point.y), 0) * 1.1 || 1;
  const px = (value: number) => PAD.left + (value / mostX) * (width - PAD.left - PAD.right);
  const py = (value: number) => HEIGHT - PAD.bottom - (value / mostY) * (HEIGHT - PAD.top - PAD.bottom);
  const text = points.map((point) => `${point.label}: ${x.format(point.x)}, ${y.format(point.y)}`).join("; ");
  return (
    <figure class="chart" ref={box}>
      <figcaption>{title} <small>{hint}</small></figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${title}. ${text}`}>
        {ticks(mostX, width - PAD.left).map((value) => (
          <g key={`x${value}`}>
            <line class="grid-line" x1={px(value)} x2={px(value)} y1={PAD.top} y2={HEIGHT - PAD.bottom} />
            <text x={px(value)} y={HEIGHT - PAD.bottom + 17} text-anchor="middle">{x.format(value)}</text>
          </g>
        ))}
        {ticks(mostY, HEIGHT).map((value) => (
          <g key={`y${value}`}>
            <line class="grid-line" x1={PAD.left} x2={width - PAD.right} y1={py(value)} y2={py(value)} />
            <text x={PAD.left - 8} y={py(value) + 4} text-anchor="end">{y.format(value)}</text>
          </g>
        ))}
        <text x={(width + PAD.left) / 2} y={HEIGHT - 8} text-anchor="middle" class="axis">{x.label}</text>
        <text x={14} y={HEIGHT / 2 - 16} text-anchor="middle" class="axis" transform={`rotate(-90 14 ${HEIGHT / 2 - 16})`}>{y.label}</text>
        {points.map((point) => {
          const right = px(point.x) > width * 0.6;
          return (
            <g key={point.label}>
              <circle cx={px(point.x)} cy={py(point.y)} r={4 + 9 * point.size} style={{ fill: point.colour }} class="mark" />
              <text x={px(point.x) + (right ? -1 : 1) * (9 + 9 * point.size)} y={py(point.y) + 4} text-anchor={right ? "end" : "start"} class="label">
                {short(point.label, width < NARROW ? 18 : 28)}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

export interface Strip {
  label: string;
  colour: string;
  values: number[];
  /** At 5, 25, 50, 75 and 95 %. */
  quantiles: [number, number, number, number, number] | number[];
}

/** One line of dots per algorithm with its quartiles. */
export function Strips({ title, axis, strips }: { title: string; axis: Axis; strips: Strip[] }) {
  const most = Math.max(...strips.flatMap((strip) => strip.values), 0) * 1.04 || 1;
  const { box, width } = useWidth();
  const narrow = width < NARROW;
  const row = narrow ? 44 : 30;
  const left = narrow ? 10 : 132;
  const height = strips.length * row + 30;
  const px = (value: number) => left + (value / most) * (width - left - 26);
  const text = strips.map((strip) => `${strip.label}: median ${axis.format(strip.quantiles[2]!)}`).join("; ");
  return (
    <figure class="chart" ref={box}>
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title}. ${text}`}>
        {ticks(most, width - left).map((value) => (
          <g key={value}>
            <line class="grid-line" x1={px(value)} x2={px(value)} y1={4} y2={height - 24} />
            <text x={px(value)} y={height - 8} text-anchor={narrow && value === 0 ? "start" : "middle"}>{axis.format(value)}</text>
          </g>
        ))}
        {strips.map((strip, at) => {
          const y = at * row + (narrow ? row - 12 : row / 2 + 2);
          const [p5, p25, p50, p75, p95] = strip.quantiles.map(px) as [number, number, number, number, number];
          return (
            <g key={strip.label} style={{ color: strip.colour }}>
              {narrow
                ? <text x={left} y={y - 14} class="label">{short(strip.label, 40)}</text>
                : <text x={left - 12} y={y + 4} text-anchor="end" class="label">{short(strip.label, 18)}</text>}
              <line x1={p5} x2={p95} y1={y} y2={y} class="whisker" />
              {strip.values.map((value, i) => <circle key={i} cx={px(value)} cy={y + ((i * 7) % 9) - 4} r="2.5" class="speck" />)}
              <rect x={p25 - 1} y={y - 8} width={Math.max(2, p75 - p25 + 2)} height="16" rx="2" class="box" />
              <line x1={p50} x2={p50} y1={y - 9} y2={y + 9} class="median" />
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** One column for each day, and the limit that holds for a day. */
export function Columns({ title, bars, limit, format }: { title: string; bars: { label: string; value: number }[]; limit: { value: number; label: string } | null; format: (value: number) => string }) {
  const { box, width } = useWidth();
  const height = 260;
  const shown = bars.slice(-Math.max(7, Math.floor((width - PAD.left) / 22)));
  const most = Math.max(...shown.map((bar) => bar.value), limit?.value ?? 0) * 1.1 || 1;
  const step = (width - PAD.left - PAD.right) / Math.max(shown.length, 7);
  const py = (value: number) => height - 34 - (value / most) * (height - 34 - PAD.top);
  const every = Math.ceil(shown.length / Math.max(2, Math.floor((width - PAD.left) / 80)));
  const text = shown.map((bar) => `${bar.label}: ${format(bar.value)}`).join("; ");
  return (
    <figure class="chart columns" ref={box}>
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title}. ${text}${limit ? `; ${limit.label}` : ""}`}>
        {ticks(most, height).map((value) => (
          <g key={value}>
            <line class="grid-line" x1={PAD.left} x2={width - PAD.right} y1={py(value)} y2={py(value)} />
            <text x={PAD.left - 8} y={py(value) + 4} text-anchor="end">{format(value)}</text>
          </g>
        ))}
        {shown.map((bar, at) => (
          <g key={bar.label}>
            <rect class="column" x={PAD.left + at * step + step * 0.15} width={Math.min(step * 0.7, 56)} y={py(bar.value)} height={Math.max(1, py(0) - py(bar.value))} rx="3"><title>{`${bar.label}: ${format(bar.value)}`}</title></rect>
            {(shown.length - 1 - at) % every === 0 && <text x={PAD.left + at * step + step * 0.15 + Math.min(step * 0.35, 28)} y={height - 14} text-anchor="middle">{bar.label.slice(5)}</text>}
          </g>
        ))}
        {limit && (
          <g>
            <line class="limit" x1={PAD.left} x2={width - PAD.right} y1={py(limit.value)} y2={py(limit.value)} />
            <text class="label" x={width - PAD.right} y={py(limit.value) - 6} text-anchor="end">{limit.label}</text>
          </g>
        )}
      </svg>
    </figure>
  );
}
