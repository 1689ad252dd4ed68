import { formatDuration } from '../../job/values/duration.ts';
import type { RunReport } from '../run-report.ts';
import { type Html, html } from './html.ts';
import { table } from './tables.ts';
import { latency, number } from './words.ts';

/** The values of the charts as figures. */
export function figuresTable({ spans, spanMs }: RunReport['timeline']): Html {
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
