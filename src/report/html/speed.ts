import { formatDuration, formatRate } from '../../common/format.ts';
import { findLongestHoldUp } from '../../watch/hold-up.ts';
import type { RunReport } from '../run-report.ts';
import { type Band, drawChart, linearScale } from './chart.ts';
import { count, type Html, html, latency, number, share, table } from './html.ts';

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
export function endOf({ spans, spanMs }: Timeline, lookupMs: number): number {
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
