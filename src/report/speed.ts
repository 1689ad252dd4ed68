import { wordsOf } from '../brand/network-error.ts';
import { DAY_MS, formatDuration, formatRate, HOUR_MS } from '../common/format.ts';
import { findReason } from '../watch/reasons.ts';
import { findLongestHoldUp } from '../watch/waits.ts';
import { count, type Html, html, latency, meter, number, share, table } from './html.ts';
import type { RunReport } from './run-report.ts';

type Timeline = RunReport['timeline'];
type Span = Timeline['spans'][number];

/** How fast calls went, against the limit. */
export function speedSection(report: RunReport): Html | false {
  const { calls, domains, run, timeline } = report;
  if (calls.total === 0) {
    const why = domains.unique === 0 ? ': the list has no domains' : FRESH;
    const because = domains.due === 0 ? why : '';
    return (
      run.end !== 'error' &&
      html`<section><h2>Speed</h2><p>No call was made${because}.</p></section>`
    );
  }
  return html`<section><h2>Speed</h2>
${timeline.spans.length > 0 && drawSpeed(report)}
${table('Speed', factsOf(report), [
  { name: 'what', isHead: true, cellOf: ([name]) => name },
  { name: 'how much', isWide: true, cellOf: ([, value]) => value },
])}
${timeline.spans.length > 0 && figuresTable(timeline)}
</section>`;
}

function drawSpeed({ timeline, calls, run, pace }: RunReport): Html {
  const { spans, spanMs } = timeline;
  const limits = spans.map(({ limitPerSecond }) => limitPerSecond);
  const throttled = spans.map(({ throttledPerSecond }) => throttledPerSecond);
  const bands = bandsOf(spans, spanMs);
  const most = Math.max(
    ...spans.map((span) => Math.max(span.callsPerSecond, span.limitPerSecond ?? 0)),
  );
  const limit = pace ? ` ${describeLimit(pace)}.` : '';
  const chart = drawChart({
    id: 'speed',
    title: 'Calls per second over time',
    description: `${count(calls.total, 'call')} in ${formatDuration(run.lookupMs)}, ${number(calls.perSecond, 1)} per second on average.${limit} The figures are in a table below.`,
    endMs: endOf(timeline, run.lookupMs),
    spanMs,
    y: linearScale(most),
    formatY: (rate) => number(rate, 2),
    bands,
    series: [
      { kind: 'rate', shape: 'area', values: spans.map((span) => span.callsPerSecond) },
      { kind: 'throttled', shape: 'bars', values: throttled },
      { kind: 'limit', shape: 'steps', values: limits },
    ],
    hints: spans.map(hintOf),
  });
  return html`<ul class="legend"><li><i></i>calls per second</li>
${limits.some((limit) => limit !== null) && html`<li><i class="limit"></i>limit</li>`}
${throttled.some((rate) => rate > 0) && html`<li><i class="box throttled"></i>throttled, per second</li>`}
${bands.some(({ kind }) => kind === 'told') && html`<li><i class="box told"></i>told to wait, or backing off</li>`}
${bands.some(({ kind }) => kind === 'paused') && html`<li><i class="box paused"></i>paused by somebody</li>`}
${bands.some(({ kind }) => kind === 'outage') && html`<li><i class="box outage"></i>the API was out</li>`}</ul>
${chart}`;
}

const FRESH = ': the outcomes of all domains were fresh';

/** The end of the last span, which usually is after the end of the lookups. */
function endOf({ spans, spanMs }: Timeline, lookupMs: number): number {
  const begin = spans.at(-1)?.atMs ?? 0;
  return Math.max(begin + 1, Math.min(begin + spanMs, lookupMs));
}

/** Spans in which calls were held up, next to each other as one. A band is as long as the wait was. */
function bandsOf(spans: readonly Span[], spanMs: number): readonly Band[] {
  const bands: { kind: string; fromMs: number; toMs: number }[] = [];
  for (const span of spans) {
    const { atMs, toldMs, backingOffMs, outageMs, pausedMs } = span;
    const held = { paused: pausedMs, outage: outageMs, told: toldMs + backingOffMs };
    const kind = findLongestHoldUp(held, spanMs);
    if (kind === undefined) continue;
    const last = bands.at(-1);
    if (last?.kind === kind && last.toMs >= atMs - 0.01 * spanMs) last.toMs = atMs + spanMs;
    else bands.push({ kind, fromMs: atMs, toMs: atMs + spanMs });
  }
  return bands;
}

function hintOf(span: Span): string {
  const { atMs, callsPerSecond, limitPerSecond, throttledPerSecond } = span;
  const waits = [
    [span.toldMs, 'told to wait'],
    [span.backingOffMs, 'backing off'],
    [span.outageMs, 'the API was out'],
    [span.pausedMs, 'paused for'],
  ] as const;
  return [
    `from ${atMs === 0 ? 'the start' : formatDuration(atMs)}`,
    `${number(callsPerSecond, 1)} calls/s`,
    ...(limitPerSecond === null ? [] : [`limit ${formatRate(limitPerSecond)}`]),
    ...(throttledPerSecond > 0 ? [`${number(throttledPerSecond, 1)}/s throttled`] : []),
    ...waits.flatMap(([ms, words]) => (ms > 0 ? [`${words} ${formatDuration(ms)}`] : [])),
  ].join(', ');
}

function factsOf({
  calls,
  pace,
  timeline,
}: Pick<RunReport, 'calls' | 'pace' | 'timeline'>): readonly (readonly [string, string])[] {
  const { told, backingOff, outage, retryBudget } = pace?.waitedMs ?? NO_WAITS;
  const pausedMs = timeline.spans.reduce((sum, span) => sum + span.pausedMs, 0);
  const waits: readonly (readonly [string, number])[] = [
    ['paused by somebody, which the average counts in', pausedMs],
    ['waited because the API had named a time', told],
    ['waited because it had throttled calls and named no time', backingOff],
    ['waited for an outage', outage],
    ['waited for the retry budget', retryBudget],
  ];
  return [
    ['average', `${number(calls.perSecond, 1)} calls per second`],
    ...(pace ? ([['limit', describeLimit(pace)]] as const) : []),
    ...(calls.throttled > 0
      ? ([
          [
            'throttled',
            `${count(calls.throttled, 'call')}, ${share(calls.throttled, calls.total)}`,
          ],
        ] as const)
      : []),
    ...(calls.retries > 0 ? ([['tried again', count(calls.retries, 'time')]] as const) : []),
    ...waits.filter(([, ms]) => ms >= 100).map(([name, ms]) => [name, formatDuration(ms)] as const),
  ];
}

const NO_WAITS = { told: 0, backingOff: 0, outage: 0, retryBudget: 0 };

function describeLimit({
  limitIs,
  limitPerSecond,
  mostAtOnce,
}: NonNullable<RunReport['pace']>): string {
  const rate = limitPerSecond === null ? '' : formatRate(limitPerSecond);
  const limit = {
    fixed: `held to ${rate}, as told by --rate`,
    published: `about ${rate}, as the API says`,
    learned: `about ${rate}, found out`,
    unknown: 'no limit met',
  }[limitIs];
  return mostAtOnce === null ? limit : `${limit}; at most ${mostAtOnce} at once`;
}

/** The values of the charts as figures. */
function figuresTable({ spans, spanMs }: RunReport['timeline']): Html {
  const orDash = (value: number | null, format: (value: number) => string): string =>
    value === null ? '–' : format(value);
  return html`<details class="on-screen"><summary>Speed and latency in figures, every ${formatDuration(spanMs)}</summary>
${table('Speed and latency over time', spans, [
  {
    name: 'from',
    isHead: true,
    isNumber: true,
    cellOf: ({ atMs }) => (atMs === 0 ? '0' : formatDuration(atMs)),
  },
  { name: 'calls/s', isNumber: true, cellOf: (span) => number(span.callsPerSecond, 1) },
  {
    name: 'limit/s',
    isNumber: true,
    cellOf: (span) => orDash(span.limitPerSecond, (limit) => number(limit, 1)),
  },
  {
    name: 'lookups/s',
    isNumber: true,
    isMinor: true,
    cellOf: (span) => number(span.lookupsPerSecond, 1),
  },
  { name: '429/s', isNumber: true, cellOf: (span) => number(span.throttledPerSecond, 1) },
  {
    name: 'retries/s',
    isNumber: true,
    isMinor: true,
    cellOf: (span) => number(span.retriesPerSecond, 1),
  },
  { name: 'p50', isNumber: true, cellOf: (span) => orDash(span.p50Ms, latency) },
  { name: 'p95', isNumber: true, cellOf: (span) => orDash(span.p95Ms, latency) },
  { name: 'p99', isNumber: true, cellOf: (span) => orDash(span.p99Ms, latency) },
])}</details>`;
}

/** The answers that calls got. */
export function answersSection({ calls, pace, run }: RunReport): Html | false {
  const { answers, measured, total } = calls;
  if (answers.length === 0) {
    return (
      total > 0 &&
      pace === null &&
      run.end !== 'error' &&
      html`<section><h2>Answers and latency</h2><p>Workers elsewhere made these calls. What each came to and how long it took is in <code>/metrics</code> of the workers (<code>brandfill worker --listen</code>).</p></section>`
    );
  }
  return html`<section><h2>Answers</h2>
${coverage(calls)}
${table('What calls came to', answers, [
  { name: 'answer', isHead: true, isCode: true, cellOf: ({ answer }) => answer },
  {
    name: 'meaning',
    isMinor: true,
    cellOf: ({ answer }) =>
      MEANINGS[answer] ??
      findReason(answer)?.short ??
      wordsOf(answer)?.what ??
      meaningOfClass(answer),
  },
  { name: 'calls', isNumber: true, cellOf: (answer) => number(answer.calls) },
  { name: 'share', isNumber: true, cellOf: (answer) => share(answer.calls, measured) },
  {
    name: '',
    isMinor: true,
    isWide: true,
    cellOf: (answer) => meter(answer.calls, measured, answer.answer === '200' ? '' : 'quiet'),
  },
])}</section>`;
}

/** How long calls took. */
export function latencySection({
  latency: figures,
  timeline,
  calls,
  run,
}: RunReport): Html | false {
  if (figures === null) return false;
  const { spans, spanMs } = timeline;
  const kinds = ['p99', 'p95', 'p50'] as const;
  const series = kinds.map(
    (kind): Series => ({ kind, shape: 'line', values: spans.map((span) => span[`${kind}Ms`]) }),
  );
  const values = series.flatMap(({ values }) => values.filter((value) => value !== null));
  const rows: readonly (readonly [string, number])[] = [
    ['average', figures.meanMs],
    ['half of the calls (p50)', figures.p50Ms],
    ['90 % (p90)', figures.p90Ms],
    ['95 % (p95)', figures.p95Ms],
    ['99 % (p99)', figures.p99Ms],
    ['the slowest', figures.maxMs],
  ];
  return html`<section><h2>Latency</h2>
${coverage(calls)}
${
  values.length > 0 &&
  html`<ul class="legend"><li><i class="p50"></i>half of the answers came within (p50)</li><li><i class="p95"></i>95 % (p95)</li><li><i class="p99"></i>99 % (p99)</li></ul>
${drawChart({
  id: 'latency',
  title: 'Latency over time',
  description: `Half of the calls took ${latency(figures.p50Ms)} at most, 95 % took ${latency(figures.p95Ms)}, 99 % took ${latency(figures.p99Ms)}; the slowest took ${latency(figures.maxMs)}.`,
  endMs: endOf(timeline, run.lookupMs),
  spanMs,
  y: scaleFor(values),
  formatY: latency,
  series,
  hints: spans.map(({ p50Ms, p95Ms, p99Ms }) =>
    p50Ms === null || p95Ms === null || p99Ms === null
      ? 'no answer'
      : `p50 ${latency(p50Ms)}, p95 ${latency(p95Ms)}, p99 ${latency(p99Ms)}`,
  ),
})}`
}
${table('Latency', rows, [
  { name: 'calls', isHead: true, cellOf: ([name]) => name },
  { name: 'took at most', isWide: true, cellOf: ([, ms]) => latency(ms) },
])}</section>`;
}

/** Beyond this ratio, the large values would press the small ones flat. */
const FAR_APART = 30;

function scaleFor(values: readonly number[]): Scale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  return most > FAR_APART * Math.max(least, 0.1) ? logScale(least, most) : linearScale(most);
}

/** Says that calls which workers elsewhere made are not covered. */
function coverage({ total, measured }: RunReport['calls']): Html | false {
  return (
    measured < total &&
    html`<p class="muted">Of the ${number(measured)} of ${count(total, 'call')} that this process made and that ended.</p>`
  );
}

function meaningOfClass(answer: string): string {
  return /^\d/.test(answer) ? (CLASSES[answer.charAt(0)] ?? '') : 'no answer';
}

const CLASSES: Readonly<Record<string, string>> = {
  2: 'no answer that can be used',
  3: 'sent to another place',
  4: 'refused',
  5: 'a fault of the API',
};

const MEANINGS: Readonly<Record<string, string>> = {
  200: 'an answer',
  401: 'the credential was refused',
  402: 'the quota is used up',
  404: 'not known',
  410: 'not known any more',
  429: 'too fast, or too much',
};

/** A chart over time. */
interface Chart {
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
interface Series {
  /** The CSS class that it is drawn with. */
  readonly kind: string;
  /** `area` and `steps` hold a value for the whole span, `line` joins the middles of spans. */
  readonly shape: 'area' | 'steps' | 'line' | 'bars';
  readonly values: readonly (number | null)[];
}

interface Band {
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
function drawChart(chart: Chart): Html {
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
interface Scale {
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
