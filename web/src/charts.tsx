// Small pictures of numbers, as SVG with a text for those who cannot see it.

export interface Point {
  label: string;
  x: number;
  y: number;
  size: number;
  colour: number;
}

interface Axis {
  label: string;
  format: (value: number) => string;
}

const WIDTH = 560;
const HEIGHT = 300;
const PAD = { left: 64, right: 16, top: 12, bottom: 44 };

function ticks(most: number): number[] {
  if (most <= 0) return [0];
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const found = [];
  for (let value = 0; value <= most + step * 0.01; value += step) found.push(value);
  return found;
}

function hue(index: number): string {
  return `var(--series-${index % 8})`;
}

export function Scatter({ title, x, y, points }: { title: string; x: Axis; y: Axis; points: Point[] }) {
  const mostX = Math.max(...points.map((point) => point.x), 0) * 1.08 || 1;
  const mostY = Math.max(...points.map((point) => point.y), 0) * 1.08 || 1;
  const px = (value: number) => PAD.left + (value / mostX) * (WIDTH - PAD.left - PAD.right);
  const py = (value: number) => HEIGHT - PAD.bottom - (value / mostY) * (HEIGHT - PAD.top - PAD.bottom);
  const text = points.map((point) => `${point.label}: ${x.format(point.x)}, ${y.format(point.y)}`).join("; ");
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${text}`}>
        {ticks(mostX).map((value) => (
          <g key={`x${value}`}>
            <line class="grid-line" x1={px(value)} x2={px(value)} y1={PAD.top} y2={HEIGHT - PAD.bottom} />
            <text x={px(value)} y={HEIGHT - PAD.bottom + 16} text-anchor="middle">{x.format(value)}</text>
          </g>
        ))}
        {ticks(mostY).map((value) => (
          <g key={`y${value}`}>
            <line class="grid-line" x1={PAD.left} x2={WIDTH - PAD.right} y1={py(value)} y2={py(value)} />
            <text x={PAD.left - 8} y={py(value) + 4} text-anchor="end">{y.format(value)}</text>
          </g>
        ))}
        <text x={(WIDTH + PAD.left) / 2} y={HEIGHT - 8} text-anchor="middle" class="axis">{x.label}</text>
        <text x={14} y={HEIGHT / 2} text-anchor="middle" class="axis" transform={`rotate(-90 14 ${HEIGHT / 2})`}>{y.label}</text>
        {points.map((point) => {
          const right = px(point.x) > WIDTH * 0.7;
          return (
            <g key={point.label}>
              <circle cx={px(point.x)} cy={py(point.y)} r={5 + 9 * point.size} style={{ fill: hue(point.colour) }} class="dot" />
              <text x={px(point.x) + (right ? -1 : 1) * (9 + 9 * point.size)} y={py(point.y) + 4} text-anchor={right ? "end" : "start"} class="label">
                {point.label}
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
  values: number[];
  low: number;
  middle: number;
  high: number;
}

/** One line of dots per algorithm with its quartiles. */
export function Strips({ title, axis, strips }: { title: string; axis: Axis; strips: Strip[] }) {
  const most = Math.max(...strips.flatMap((strip) => strip.values), 0) * 1.04 || 1;
  const row = 34;
  const left = 190;
  const height = strips.length * row + 34;
  const px = (value: number) => left + (value / most) * (WIDTH - left - PAD.right);
  const text = strips.map((strip) => `${strip.label}: median ${axis.format(strip.middle)}`).join("; ");
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`${title}. ${text}`}>
        {ticks(most).map((value) => (
          <g key={value}>
            <line class="grid-line" x1={px(value)} x2={px(value)} y1={4} y2={height - 26} />
            <text x={px(value)} y={height - 8} text-anchor="middle">{axis.format(value)}</text>
          </g>
        ))}
        {strips.map((strip, at) => {
          const y = at * row + row / 2 + 2;
          return (
            <g key={strip.label} style={{ color: hue(at) }}>
              <text x={left - 10} y={y + 4} text-anchor="end" class="label">{strip.label}</text>
              {strip.values.map((value, i) => (
                <circle key={i} cx={px(value)} cy={y + ((i * 7) % 5) - 2} r="2.5" class="speck" />
              ))}
              <rect x={px(strip.low)} y={y - 8} width={Math.max(1, px(strip.high) - px(strip.low))} height="16" class="box" />
              <line x1={px(strip.middle)} x2={px(strip.middle)} y1={y - 9} y2={y + 9} class="median" />
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
