import type { StatusCounts } from '../watch/summary.ts';

/** Markup that may go into a page as it is. Only `html` makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Values that may be put into a template. Markup stays as it is, texts and numbers are escaped, and
 * false, null and undefined come to nothing.
 */
export type HtmlValue = Html | string | number | false | undefined | null | readonly HtmlValue[];

/**
 * Makes markup. Whatever is put in is a text, in elements as in quoted attributes, unless it was made
 * by `html` itself.
 *
 * @example
 * ```ts
 * html`<td title="${name}">${name}</td>`;
 * ```
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((part, at) => part + toText(values[at])).join(''));
}

function toText(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(toText).join('');
  return escape(String(value));
}

function escape(text: string): string {
  return text
    .replaceAll(UNWELCOME, ' ')
    .replaceAll(/[&<>"'`]/g, (character) => `&#${character.codePointAt(0)};`);
}

/**
 * Characters that no page may hold, or that make a text read in another order than it is written.
 */
const UNWELCOME = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

/** One column of a table. */
interface TableColumn<T> {
  readonly name: string;
  /** Whether it holds numbers, set flush right. @default false */
  readonly isNumber?: boolean;
  /** Whether its cell names the row. @default false */
  readonly isHead?: boolean;
  /** Whether it is left out on a phone. @default false */
  readonly isMinor?: boolean;
  readonly isCode?: boolean;
  readonly isWide?: boolean;
  cellOf(row: T): HtmlValue;
}

/** A table with its headers. It scrolls sideways where there is no room for it. */
export function table<T>(
  caption: string,
  rows: readonly T[],
  columns: readonly TableColumn<T>[],
): Html {
  const heads = columns.map(
    (column) => html`<th scope="col" class="${classOf(column)}">${column.name}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><thead><tr>${heads}</tr></thead><tbody>
${rows.map((row) => html`<tr>${columns.map((column) => cell(column, row))}</tr>\n`)}</tbody></table></div>`;
}

function cell<T>(column: TableColumn<T>, row: T): Html {
  const content = column.cellOf(row);
  return column.isHead
    ? html`<th scope="row" class="${classOf(column)}">${content}</th>`
    : html`<td class="${classOf(column)}">${content}</td>`;
}

function classOf<T>({ isNumber, isMinor, isCode, isWide }: TableColumn<T>): string {
  return [isNumber && 'n', isMinor && 'hide-small', isCode && 'code', isWide && 'wide']
    .filter((name) => name !== false && name !== undefined)
    .join(' ');
}

/** A bar as long as a share; the share itself is printed beside it. */
export function meter(part: number, whole: number, kind = ''): Html {
  const percent = whole > 0 ? Math.min(100, (part / whole) * 100) : 0;
  return html`<span class="meter ${kind}"><i style="width:${percent.toFixed(1)}%"></i></span>`;
}

/** The name and the meaning of a row's status. */
interface StatusWords {
  readonly name: string;
  readonly meaning: string;
}

/** All statuses, in the order in which they are shown. */
export const STATUSES: Readonly<Record<keyof StatusCounts, StatusWords>> = {
  found: { name: 'found', meaning: 'enriched' },
  stale: { name: 'stale', meaning: 'not learned this time; the values of an older answer stay' },
  not_found: { name: 'not found', meaning: 'the API does not know the domain' },
  rejected: { name: 'rejected', meaning: 'the API refused the domain' },
  failed: { name: 'failed', meaning: 'no usable answer, however often it was tried' },
  pending: { name: 'pending', meaning: 'accepted by the API, no answer ready yet' },
  invalid: { name: 'invalid', meaning: 'no domain in the row; nothing was asked' },
  skipped: { name: 'skipped', meaning: 'not asked; the run stopped first' },
};

/** `1,204`. */
export function number(amount: number, digits = 0): string {
  return amount.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** `1,204 rows`, `1 row`. */
export function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}

/** `68 %`, `0.4 %`, `< 0.1 %`; empty for a share of nothing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent > 99.9 && percent < 100) return '> 99.9 %';
  return `${number(percent, percent < 10 || percent > 99 ? 1 : 0)} %`;
}

/** `2026-11-21 02:30:00 UTC`. */
export function time(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** `0.8 ms`, `120 ms`, `4.2 s`, `61 s`. */
export function latency(ms: number): string {
  if (ms < 10) return `${number(ms, 1)} ms`;
  if (ms < 1_000) return `${number(ms)} ms`;
  return `${number(ms / 1_000, ms < 10_000 ? 1 : 0)} s`;
}

const DARK = `
  --page: #0d1117; --card: #151b23; --ink: #e6edf3; --muted: #a3adb8; --line: #2f3742; --soft: #1e2630;
  --accent: #6cb0ff; --accent-soft: #1f3a5c; --warn: #f0b13c; --bad: #ff7b72;
  --found: #3fb950; --stale: #2f9e8f; --not_found: #8ea2b8; --rejected: #f0883e; --failed: #ff7b72; --pending: #56d4dd; --invalid: #d2a8ff; --skipped: #626d79;
  --p50: #6cb0ff; --p95: #f0b13c; --p99: #ff7b72;`;

/** The style of a report: on a screen by day and by night, on paper, on a phone. */
export const STYLE: string = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b2129; --muted: #56606b; --line: #d9dee4; --soft: #eef1f4;
  --accent: #0a5bc4; --accent-soft: #dbe9fb; --warn: #8a5a00; --bad: #b3261e;
  --found: #1f8a3d; --stale: #0f7a6c; --not_found: #6c7f94; --rejected: #c2560c; --failed: #cf2f26; --pending: #0b7285; --invalid: #7d4bc9; --skipped: #b4bcc6;
  --p50: #0a5bc4; --p95: #a86a00; --p99: #cf2f26;
}
@media screen and (prefers-color-scheme: dark) { :root {${DARK} } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 32px 20px 48px; }
h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: 27px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin-bottom: 12px; }
h3 { font-size: 15px; }
p { margin: 0; max-width: 72ch; }
p + p { margin-top: 8px; }
section > p.muted:last-child { margin-top: 14px; }
code, .code { font: 0.92em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.eyebrow { color: var(--muted); font-size: 14px; margin-bottom: 10px; overflow-wrap: anywhere; }
section, .verdict { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 22px 24px; margin-top: 18px; }
.verdict { border-left: 6px solid var(--found); margin-top: 0; }
.verdict.some_failed, .verdict.nothing_found, .verdict.stopped, .verdict.interrupted { border-left-color: var(--warn); }
.verdict.error { border-left-color: var(--bad); }
.verdict .next { max-width: none; margin-top: 10px; font-size: 16px; }
.verdict .facts { display: flex; flex-wrap: wrap; gap: 0 22px; max-width: none; margin-top: 14px; color: var(--muted); font-size: 14px; }
.tiles { display: grid; grid-template-columns: repeat(12, 1fr); gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; margin-top: 18px; }
.tile { grid-column: span 4; background: var(--card); padding: 14px 16px; overflow-wrap: anywhere; }
:where(.of-5) .tile:where(:nth-child(n + 4)) { grid-column: span 6; } :where(.of-7) .tile:where(:nth-child(-n + 4)) { grid-column: span 3; }
.tile b { display: block; font-size: 24px; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tile span { color: var(--muted); font-size: 13px; }
.split { display: flex; height: 22px; border-radius: 6px; overflow: hidden; gap: 2px; margin-bottom: 14px; }
.split i { display: block; min-width: 3px; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 8px; }
.is-found { background: var(--found); } .is-stale { background: var(--stale); } .is-not_found { background: var(--not_found); } .is-rejected { background: var(--rejected); }
.is-failed { background: var(--failed); } .is-pending { background: var(--pending); } .is-invalid { background: var(--invalid); } .is-skipped { background: var(--skipped); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; unicode-bidi: isolate; }
th:last-child, td:last-child { padding-right: 0; }
tr:last-child > td, tr:last-child > th { border-bottom: 0; }
thead th, thead th.code { color: var(--muted); font: 500 13px/1.5 system-ui, sans-serif; border-bottom: 1px solid var(--line) !important; white-space: nowrap; }
tbody th { font-weight: 500; }
.n { width: 1%; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { width: 45%; } .reason td.code.wide { width: 40%; }
td .meter { display: block; height: 9px; margin-top: 6px; border-radius: 3px; background: var(--soft); overflow: hidden; min-width: 60px; }
td .meter i { display: block; height: 100%; background: var(--accent); }
td .meter.quiet i { background: var(--not_found); }
.reason { border-top: 1px solid var(--line); padding: 16px 0; }
.reason:first-of-type { border-top: 0; padding-top: 0; }
.reason:last-of-type { padding-bottom: 0; }
.reason header { display: flex; gap: 6px 12px; align-items: baseline; flex-wrap: wrap; }
.reason h3 { flex: 1 1 240px; }
.reason .rows { font-variant-numeric: tabular-nums; white-space: nowrap; }
.reason p { margin: 4px 0 8px; }
.badge { font-size: 12.5px; font-weight: 600; border: 1px solid currentColor; border-radius: 99px; padding: 0 9px; white-space: nowrap; }
.badge.not_found, .badge.skipped { color: var(--muted); } .badge.stale { color: var(--stale); } .badge.rejected { color: var(--rejected); } .badge.failed { color: var(--bad); } .badge.pending { color: var(--pending); } .badge.invalid { color: var(--invalid); }
.reason table { font-size: 13px; }
.reason td.wide { color: var(--muted); }
details { margin-top: 12px; }
details > summary { cursor: pointer; color: var(--accent); font-size: 14px; width: fit-content; border-radius: 4px; }
details > :not(summary) { margin-top: 8px; }
.reason details { margin-top: 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; list-style: none; margin: 0 0 6px; padding: 0; font-size: 13.5px; color: var(--muted); }
.legend i { display: inline-block; width: 20px; height: 0; border-top: 3px solid var(--accent); margin-right: 7px; vertical-align: 4px; }
.legend i.limit { border-top-style: dashed; border-top-color: var(--ink); border-top-width: 2px; }
.legend i.box { height: 11px; border: 0; vertical-align: -1px; width: 14px; }
.legend i.throttled { background: var(--bad); } .legend i.told { background: var(--warn); opacity: 0.35; } .legend i.outage { background: var(--bad); opacity: 0.3; } .legend i.paused { background: var(--muted); opacity: 0.4; }
.legend i.p95 { border-top-color: var(--p95); border-top-style: dashed; } .legend i.p99 { border-top-color: var(--p99); border-top-style: dotted; }
.chart { overflow-x: auto; margin: 0 -4px 14px; padding: 0 4px; }
.chart svg { display: block; width: 100%; min-width: 560px; height: auto; font: 12px system-ui, sans-serif; }
.chart text { fill: var(--muted); font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--line); } .chart .axis { stroke: var(--muted); }
.chart .line { fill: none; stroke: var(--accent); stroke-width: 1.8; stroke-linejoin: round; }
.chart .area { fill: var(--accent-soft); opacity: 0.75; }
.chart .line.limit { stroke: var(--ink); stroke-width: 1.4; stroke-dasharray: 5 4; }
.chart .bars.throttled { fill: var(--bad); }
.chart .line.p50 { stroke: var(--p50); } .chart .line.p95 { stroke: var(--p95); stroke-dasharray: 6 3; } .chart .line.p99 { stroke: var(--p99); stroke-dasharray: 2 2.5; }
.chart .dot { stroke-width: 5; stroke-linecap: round; } .chart .dot.p50 { stroke: var(--p50); } .chart .dot.p95 { stroke: var(--p95); } .chart .dot.p99 { stroke: var(--p99); }
.chart .band { fill: var(--warn); opacity: 0.16; } .chart .band.outage { fill: var(--bad); opacity: 0.18; } .chart .band.paused { fill: var(--muted); opacity: 0.22; }
.chart .hint { fill: transparent; } .chart .hint:hover { fill: var(--muted); opacity: 0.16; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 8px 40px; }
.pair h3 { margin: 0 0 4px; }
footer { color: var(--muted); font-size: 13px; margin-top: 22px; }
@media (min-width: 820px) {
  .tiles:not(.long) { grid: auto / auto-flow 1fr; } .tiles:not(.long) .tile { grid-column: auto; }
}
@media (max-width: 680px) {
  .tiles { grid-template-columns: 1fr 1fr; } .tiles .tile { grid-column: auto; padding: 11px 14px; } .tiles .tile:last-child:nth-child(odd) { grid-column: 1 / -1; }
}
@media (min-width: 561px) { .reason td.code:not(.wide) { min-width: 24ch; } }
@media (max-width: 560px) {
  main { padding: 16px 12px 32px; } section, .verdict { padding: 16px; } h1 { font-size: 22px; }
  .pair { grid-template-columns: 1fr; } .hide-small { display: none; }
}
@media print {
  @page { margin: 14mm; }
  body { font-size: 10.5pt; background: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  section, .verdict, .tiles { margin-top: 10px; } section, .verdict { padding: 12px 14px; }
  .verdict, .tiles, .chart, .reason, tr { break-inside: avoid; } h2, h3, thead { break-after: avoid; }
  table { font-size: 9pt; } .scroll, .chart { overflow: visible; } .chart svg { min-width: 0; }
  .pair { grid-template-columns: 1fr 1fr; }
  details:not(.on-screen)::details-content { content-visibility: visible; display: block; height: auto; }
  details.on-screen { display: none; } details:not(.on-screen) > summary { color: var(--muted); list-style: none; }
  details > summary::-webkit-details-marker { display: none; }
}
`;
