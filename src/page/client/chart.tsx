import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { RunView, Span } from '../../watch/run-view.ts';
import { duration, rate } from './format.ts';

interface Line {
  readonly name: string;
  /** The custom property with its colour. */
  readonly color: string;
  readonly valueOf: (span: Span) => number | undefined;
  readonly isDashed?: boolean;
  readonly isFilled?: boolean;
}

type ChartProps = Pick<RunView, 'spans' | 'spanMs'>;

/** Calls per second against the limit. */
const LINES: readonly Line[] = [
  {
    name: 'calls per second',
    color: 'accent',
    valueOf: (span) => span.callsPerSecond,
    isFilled: true,
  },
  { name: 'limit', color: 'limit', valueOf: (span) => span.limitPerSecond, isDashed: true },
  { name: 'throttled per second', color: 'bad', valueOf: (span) => span.throttledPerSecond },
];

const HEIGHT = 170;
/** Seconds between two lines: whole, round numbers. */
const TIME_STEPS = [1, 60, 3_600].flatMap((unit) =>
  [1, 2, 5, 10, 15, 30].map((step) => step * unit),
);

/** The speed over the time of a run; its figures stand beside it for those who cannot see it. */
export function Chart(view: ChartProps): JSX.Element | null {
  const { spans } = view;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(view);
  latest.current = view;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = (): void => {
      const width = Math.floor(element.clientWidth);
      if (width === 0) return;
      plot.current ??= new uPlot(optionsOf(width), dataOf(latest.current), element);
      if (plot.current.width !== width) plot.current.setSize({ width, height: HEIGHT });
    };
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    const night = matchMedia('(prefers-color-scheme: dark)');
    const drawAgain = (): void => plot.current?.redraw();
    night.addEventListener('change', drawAgain);
    return () => {
      observer.disconnect();
      night.removeEventListener('change', drawAgain);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(view)), [spans]);
  if (spans.length === 0) return null;
  return (
    <figure>
      <figcaption>
        <strong>Speed</strong>
        <ul class="key">
          {LINES.map(({ name, color }) => (
            <li key={name}>
              <i style={{ background: `var(--${color})` }} />
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
    </figure>
  );
}

/** Each value holds for its span, so the last one is said twice. */
function dataOf({ spans, spanMs }: ChartProps): uPlot.AlignedData {
  const end = ((spans.at(-1)?.atMs ?? 0) + spanMs) / 1_000;
  const twice = <T,>(values: T[]): T[] => [...values, ...values.slice(-1)];
  return [
    [...spans.map(({ atMs }) => atMs / 1_000), end],
    ...LINES.map(({ valueOf }) => twice(spans.map((span) => valueOf(span) ?? null))),
  ] as uPlot.AlignedData;
}

/** Asked at each drawing, since day and night may change: what an element would have. */
const colorOf = (name: string) => (): string => {
  const element = document.body.appendChild(document.createElement('i'));
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.remove();
  return color;
};

function optionsOf(width: number): uPlot.Options {
  const line = { stroke: colorOf('line'), width: 1 };
  const axis = { stroke: colorOf('quiet'), grid: line, ticks: line };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height: HEIGHT,
    padding: [null, 32, null, null], // half of the last label
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(0.1, most * 1.1)] } },
    axes: [
      {
        ...axis,
        incrs: TIME_STEPS,
        space: 84, // of the longest label, `2 h 30 min`, and a gap
        values: (_, seconds) => seconds.map((s) => (s === 0 ? '0' : duration(s * 1_000))),
      },
      {
        ...axis,
        size: 76,
        values: (_, values) => values.map((value) => (value === 0 ? '0' : rate(value))),
      },
    ],
    series: [
      {},
      ...LINES.map(({ color, isDashed, isFilled }) => ({
        stroke: colorOf(color),
        width: 2,
        points: { show: false },
        ...(stepped && { paths: stepped }),
        ...(isDashed && { dash: [6, 4] }),
        ...(isFilled && { fill: colorOf('tint') }),
      })),
    ],
  };
}
