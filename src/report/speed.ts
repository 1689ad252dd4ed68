import { wordsOf } from '../brand/network-error.ts';
import { formatDuration, formatRate } from '../common/format.ts';
import { findReason } from '../watch/reasons.ts';
import { findLongestHoldUp } from '../watch/waits.ts';
import { type Band, drawChart, linearScale, logScale, type Scale, type Series } from './chart.ts';
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
