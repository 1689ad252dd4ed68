import { DAY_MS, formatDuration, HOUR_MS } from '../common/format.ts';
import { type Html, html } from './html.ts';

/** A chart over time. */
export interface Chart {
  /** Tells it from other charts on the page, in letters. */
  readonly id: string;
  readonly title: string;
  /** Describes the chart to people who cannot see it. */
  readonly description: string;
  /** The length of the time axis, in milliseconds. */
  readonly endMs: number;
  readonly spanMs: number;
  readonly y: Scale;
  readonly formatY: (value: number) => string;
  /** Shaded periods, behind everything else. */
  readonly bands?: readonly Band[];
  readonly series: readonly Series[];
  /** The text for each span, shown when it is pointed at. */
  readonly hints: readonly string[];
}

/** One value for each span; null where there is none. */
export interface Series {
  /** The CSS class that it is drawn with. */
  readonly kind: string;
  /** `area` and `steps` hold a value for the whole span, `line` joins the middles of spans. */
  readonly shape: 'area' | 'steps' | 'line' | 'bars';
  readonly values: readonly (number | null)[];
}

export interface Band {
  readonly kind: string;
  readonly fromMs: number;
  readonly toMs: number;
}

const WIDTH = 760;
const HEIGHT = 230;
const LEFT = 58;
const RIGHT = 10;
const TOP = 12;
const BOTTOM = 30;

/** Draws a chart. It scrolls sideways where there is no room for it. */
export function drawChart(chart: Chart): Html {
  const { id, title, description, endMs, y, bands = [], series } = chart;
  const time = timeScale(endMs);
  const xOf = (ms: number): number => LEFT + time.placeOf(Math.min(ms, endMs)) * PLOT_WIDTH;
  const yOf = (value: number): number => TOP + (1 - Math.min(1, y.placeOf(value))) * PLOT_HEIGHT;
  const places = { chart, xOf, yOf };
  return html`<div class="chart" tabindex="0" role="region" aria-label="${title}"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">${title}</title>
<desc id="${id}-description">${description}</desc>
${bands.map((band) => drawBand(band, xOf))}
${y.ticks.map((tick) => drawLevel(chart.formatY(tick), yOf(tick)))}
${time.ticks.map((tick) => drawMoment(tick, xOf(tick)))}
${series.map((one) => drawSeries(one, places))}
${drawHints(places)}
</svg></div>`;
}

interface Places {
  readonly chart: Chart;
  readonly xOf: (ms: number) => number;
  readonly yOf: (value: number) => number;
}

function drawBand({ kind, fromMs, toMs }: Band, xOf: Places['xOf']): Html {
  const width = Math.max(1.5, xOf(toMs) - xOf(fromMs));
  return html`<rect class="band ${kind}" x="${px(xOf(fromMs))}" y="${TOP}" width="${px(width)}" height="${PLOT_HEIGHT}"/>`;
}

function drawLevel(label: string, y: number): Html {
  return html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(y)}" y2="${px(y)}"/><text x="${LEFT - 8}" y="${px(y + 4)}" text-anchor="end">${label}</text>`;
}

function drawMoment(ms: number, x: number): Html {
  const anchor = x > WIDTH - 40 ? 'end' : 'middle';
  const y = HEIGHT - BOTTOM;
  return html`<line class="axis" x1="${px(x)}" x2="${px(x)}" y1="${y}" y2="${y + 4}"/><text x="${px(x)}" y="${y + 18}" text-anchor="${anchor}">${ms === 0 ? '0' : formatDuration(ms)}</text>`;
}

function drawSeries(series: Series, places: Places): Html {
  const { kind, shape } = series;
  if (shape === 'line') return drawLine(series, places);
  if (shape === 'bars') return drawBars(series, places);
  const steps = drawSteps(series, places);
  return html`${shape === 'area' && html`<path class="area ${kind}" d="${closeArea(steps)}"/>`}<path class="line ${kind}" d="${steps.map(({ path }) => path).join('')}"/>`;
}

/** An uninterrupted piece of a line. */
interface Piece {
  readonly path: string;
  readonly fromX: number;
}

function drawSteps({ values }: Series, { chart, xOf, yOf }: Places): readonly Piece[] {
  return runsOf(values).map(({ from, values: run }) => {
    const x = (at: number): number => xOf((from + at) * chart.spanMs);
    const steps = run.map(
      (value, at) => `${at === 0 ? 'M' : 'L'}${px(x(at))} ${px(yOf(value))}H${px(x(at + 1))}`,
    );
    return { path: steps.join(''), fromX: x(0) };
  });
}

function closeArea(pieces: readonly Piece[]): string {
  const floor = HEIGHT - BOTTOM;
  return pieces.map(({ path, fromX }) => `${path}V${floor}H${px(fromX)}Z`).join('');
}

function drawLine({ kind, values }: Series, { chart, xOf, yOf }: Places): Html {
  const { spanMs, endMs } = chart;
  const x = (at: number): number =>
    (xOf(at * spanMs) + xOf(Math.min(endMs, (at + 1) * spanMs))) / 2;
  const pieces = runsOf(values).map(({ from, values: run }) =>
    run.map((value, at) => `${px(x(from + at))} ${px(yOf(value))}`),
  );
  const lines = pieces.filter((points) => points.length > 1);
  const alone = pieces.filter((points) => points.length === 1).flat();
  return html`<path class="line ${kind}" d="${lines.map((points) => `M${points.join('L')}`).join('')}"/>${alone.map((point) => html`<path class="dot ${kind}" d="M${point}h0.01"/>`)}`;
}

function drawBars({ kind, values }: Series, { chart, xOf, yOf }: Places): Html {
  const floor = HEIGHT - BOTTOM;
  const bars = values.map((value, at) => {
    if (value === null || value <= 0) return '';
    const [left, right] = [xOf(at * chart.spanMs), xOf((at + 1) * chart.spanMs)];
    const top = Math.min(yOf(value), floor - 2);
    return `M${px(left)} ${floor}V${px(top)}H${px(Math.max(right, left + 1.5))}V${floor}Z`;
  });
  return html`<path class="bars ${kind}" d="${bars.join('')}"/>`;
}

function drawHints({ chart: { hints, spanMs }, xOf }: Places): readonly Html[] {
  return hints.map((hint, at) => {
    const [left, right] = [xOf(at * spanMs), xOf((at + 1) * spanMs)];
    return html`<rect class="hint" x="${px(left)}" y="${TOP}" width="${px(right - left)}" height="${PLOT_HEIGHT}"><title>${hint}</title></rect>`;
  });
}

/** Splits values into pieces without gaps, each with the place where it begins. */
function runsOf(
  values: readonly (number | null)[],
): readonly { readonly from: number; readonly values: readonly number[] }[] {
  const runs: { from: number; values: number[] }[] = [];
  let run: { from: number; values: number[] } | undefined;
  for (const [at, value] of values.entries()) {
    if (value === null) run = undefined;
    else if (run) run.values.push(value);
    else runs.push((run = { from: at, values: [value] }));
  }
  return runs;
}

const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;

/** Rounds to what the eye can see. */
function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Turns values into places on a chart, and knows which values are worth a line. */
export interface Scale {
  /** 0 at the beginning, 1 at the end. */
  placeOf(value: number): number;
  readonly ticks: readonly number[];
}

/** From 0 to a round number not below `most`. */
export function linearScale(most: number, ticks = 4): Scale {
  const step = roundStep((most > 0 ? most : 1) / ticks);
  const end = step * Math.max(1, Math.ceil(most / step - 1e-9));
  const count = Math.round(end / step);
  return {
    placeOf: (value) => value / end,
    ticks: Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12))),
  };
}

/** From one power of ten to another, with equal distances between powers: for values far apart. */
export function logScale(least: number, most: number): Scale {
  const from = Math.max(least, 1e-3);
  const first = 1 / roundStep(1 / from);
  const last = Math.max(roundStep(most), first * 10);
  const decades = Math.log10(last / first);
  return {
    placeOf: (value) => Math.log10(Math.max(value, first) / first) / decades,
    ticks: ROUND_NUMBERS.filter((round) => round >= first * 0.999 && round <= last * 1.001).filter(
      (round) => decades <= MOST_FINE_DECADES || isPowerOfTen(round),
    ),
  };
}

/** Over more decades, lines at 2 and 5 would be too close. */
const MOST_FINE_DECADES = 2.5;
const ROUND_NUMBERS = Array.from({ length: 13 }, (_, at) => 10 ** (at - 4)).flatMap((power) => [
  power,
  2 * power,
  5 * power,
]);

function isPowerOfTen(value: number): boolean {
  return Number.isInteger(Number(Math.log10(value).toFixed(6)));
}

/** From 0 to a duration, with lines at round durations. */
export function timeScale(endMs: number, ticks = 8): Scale {
  const most = Math.max(1, endMs);
  const step =
    TIME_STEPS_MS.find((stepMs) => most / stepMs <= ticks) ??
    DAY_MS * roundStep(most / DAY_MS / ticks);
  return {
    placeOf: (value) => value / most,
    ticks: Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step),
  };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const factor = [1, 2, 5, 10].find((factor) => factor * power >= atLeast * (1 - 1e-9)) ?? 10;
  return factor * power;
}

const TIME_STEPS_MS = [
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * HOUR_MS),
];
