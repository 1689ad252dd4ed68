import { wordsOf } from '../../brand/network-error.ts';
import type { RunReport } from '../run-report.ts';
import { drawChart, linearScale, logScale, type Scale, type Series } from './chart.ts';
import { count, type Html, html, latency, meter, number, share, table } from './html.ts';
import { endOf } from './speed.ts';

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
    cellOf: ({ answer }) => MEANINGS[answer] ?? wordsOf(answer)?.what ?? meaningOfClass(answer),
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
  invalid_response: '200 without a JSON object',
  response_too_large: 'too large to be read',
};
