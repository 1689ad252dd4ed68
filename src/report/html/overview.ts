import { formatDuration } from '../../job/values/duration.ts';
import { formatPrice } from '../../job/values/price.ts';
import type { RunReport } from '../run-report.ts';
import { type Html, html } from './html.ts';
import { meter, table } from './tables.ts';
import { count, number, STATUSES, share, time } from './words.ts';

type Status = keyof RunReport['rows']['statuses'];

/** Whether the run worked, in a sentence, and what to do. */
export function verdict({ run }: RunReport): Html {
  return html`<header>
<p class="eyebrow">Brandfill report · <b>${run.input}</b></p>
<div class="verdict ${run.end}">
<h1>${run.headline}</h1>
${run.next !== '' && html`<p class="next">${run.next}</p>`}
<p class="facts"><span>${time(run.startedAt)}</span><span>took ${formatDuration(run.elapsedMs)}</span><span>exit code ${run.exitCode}</span><span>run <code>${run.id}</code></span></p>
</div></header>`;
}

/** The figures that people look for first. */
export function tiles({ rows, domains, calls, run, cost }: RunReport): Html {
  const enriched = share(rows.statuses.found, rows.total);
  const all: readonly (readonly [string, string])[] = [
    [number(rows.total), rows.total === 1 ? 'row' : 'rows'],
    [enriched, 'enriched'],
    [number(domains.unique), domains.unique === 1 ? 'domain' : 'domains'],
    [number(domains.fresh), 'fresh, no call'],
    [number(calls.total), calls.total === 1 ? 'call' : 'calls'],
    ...(run.lookupMs > 0 && calls.total > 0
      ? ([[number(calls.perSecond, 1), 'calls/s']] as const)
      : []),
    ...(cost === null ? [] : ([[formatPrice(cost.total), 'cost']] as const)),
  ];
  // Long figures need more room than a single line has.
  const isLong = all.some(([value]) => value.length > ONE_LINE_LENGTH);
  return html`<div class="tiles of-${all.length}${isLong && ' long'}">${all.map(
    ([value, label]) => html`<div class="tile"><b>${value}</b><span>${label}</span></div>`,
  )}</div>`;
}

const ONE_LINE_LENGTH = 7;

/** Rows by how they ended. */
export function rowsSection({ rows, run, domains, lookups, reasons }: RunReport): Html {
  const statuses = (Object.keys(STATUSES) as Status[])
    .map((status) => ({ status, rows: rows.statuses[status] }))
    .filter(({ rows }) => rows > 0);
  const hasRows = statuses.length > 0;
  // Rows are skipped for one reason in a run: it stopped, or else they were pruned.
  const isPruned = reasons.some(({ reason }) => reason === 'pruned');
  const odd = [
    rows.ragged > 0 &&
      `${count(rows.ragged, 'row')} had more or fewer cells than the header: short ones were filled up, and no row was looked up whose domain may be in another column.`,
    rows.blankLines > 0 && `${count(rows.blankLines, 'blank line')} left out.`,
    !rows.areWritten && 'The rows were not written: the outputs are as they were before.',
  ];
  return html`<section><h2>Rows</h2>
${
  hasRows &&
  html`<div class="split" aria-hidden="true">${statuses.map(
    ({ status, rows }) => html`<i class="is-${status}" style="flex:${rows} 1 0"></i>`,
  )}</div>
${table('Rows by how they ended', statuses, [
  {
    name: 'status',
    isHead: true,
    cellOf: ({ status }) => html`<i class="swatch is-${status}"></i>${STATUSES[status].name}`,
  },
  { name: 'rows', isNumber: true, cellOf: (row) => number(row.rows) },
  { name: 'share', isNumber: true, cellOf: (row) => share(row.rows, rows.total) },
  {
    name: 'meaning',
    isMinor: true,
    isWide: true,
    cellOf: ({ status }) => (status === 'skipped' && isPruned ? PRUNED : STATUSES[status].meaning),
  },
])}`
}
${
  !hasRows &&
  run.end === 'error' &&
  html`<p>${number(domains.lookedUp)} of ${count(domains.due, 'lookup')} had ended by then: ${number(lookups.found)} found, ${number(lookups.not_found)} not found, ${number(lookups.rejected)} rejected, ${number(lookups.failed)} failed, ${number(lookups.pending)} pending.</p>`
}
${rows.total === 0 && run.end !== 'error' && html`<p>The list has no rows.</p>`}
${odd.map((line) => line !== false && html`<p class="muted">${line}</p>`)}
</section>`;
}

const PRUNED = 'the outcome was removed from the store meanwhile';

/** How many rows each added column has a value in. */
export function columnsSection({ columns, filled, rows }: RunReport): Html | false {
  const found = rows.statuses.found + rows.statuses.stale;
  if (columns.length === 0 && filled.length === 0) return false;
  const tableOf = (some: typeof columns): Html =>
    table('Columns', some, [
      { name: 'column', isHead: true, isCode: true, cellOf: ({ name }) => name },
      { name: 'rows', isNumber: true, cellOf: (column) => number(column.rows) },
      { name: 'of enriched', isNumber: true, cellOf: (column) => share(column.rows, found) },
      { name: '', isWide: true, isMinor: true, cellOf: (column) => meter(column.rows, found) },
    ]);
  const first = columns.slice(0, SHOWN_COLUMNS);
  const rest = columns.slice(SHOWN_COLUMNS);
  return html`<section><h2>Columns</h2>
${columns.length > 0 && html`<p class="muted">${explainColumns(found)}</p>${tableOf(first)}`}
${rest.length > 0 && html`<details class="on-screen"><summary>${count(rest.length, 'more column')}</summary>${tableOf(rest)}</details>`}
${
  filled.length > 0 &&
  html`<h3>Blank cells of the list that were filled</h3>${table('Cells that were filled', filled, [
    { name: 'column', isHead: true, isCode: true, cellOf: ({ name }) => name },
    { name: 'cells filled', isNumber: true, cellOf: (column) => number(column.rows) },
  ])}`
}
</section>`;
}

function explainColumns(found: number): string {
  return found === 1
    ? 'Whether each added column has a value in the enriched row.'
    : `In how many of the ${count(found, 'enriched row')} each added column has a value.`;
}

const SHOWN_COLUMNS = 40;
