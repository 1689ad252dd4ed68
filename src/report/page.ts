import { formatDuration, formatPrice, formatSize, formatUnits } from '../common/format.ts';
import {
  count,
  Html,
  html,
  latency,
  meter,
  number,
  STATUSES,
  STYLE,
  share,
  table,
  time,
} from './html.ts';
import type { RunReport } from './run-report.ts';
import { answersSection, latencySection, speedSection } from './speed.ts';

/** Forbids loading and running anything: the page is self-contained. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/**
 * Makes a page of a report, in the order in which people ask: did it work, what went wrong, how
 * fast was it, with which settings. The page needs no other file.
 */
export function renderReport(report: RunReport): string {
  const { run } = report;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Brandfill ${report.brandfill}">
<title>${run.input}: ${run.headline}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${verdict(report)}
${tiles(report)}
${rowsSection(report)}
${reasonsSection(report)}
${speedSection(report)}
${answersSection(report)}
${latencySection(report)}
${columnsSection(report)}
${domainsSection(report)}
${costSection(report)}
${noticesSection(report)}
${filesSection(report)}
${settingsSection(report)}
<footer>Made by Brandfill ${report.brandfill} when the run ended, ${time(run.finishedAt)}. Example rows are from the list, answers from the API: share it with nobody who may not see them.</footer>
</main>
</body>
</html>
`.text;
}

/** The cost of the calls. */
function costSection({ bill, cost, rows, apis }: RunReport): Html | false {
  if (apis.length > 0) return apisSection(apis);
  if (bill !== null) return billSection(bill, rows.statuses.found);
  if (cost === null) return false;
  const { perCall, calls, total, planned } = cost;
  const { found } = rows.statuses;
  const facts: readonly (readonly [string, string])[] = [
    ['in all', `${formatPrice(total)} for ${count(calls, 'call')}, those throttled left out`],
    ['a call', formatPrice(perCall)],
    ...(found > 0 ? ([['an enriched row', formatPrice(total / found)]] as const) : []),
    ...(planned === null ? [] : ([['as planned', formatPrice(planned)]] as const)),
  ];
  return html`<section><h2>Cost</h2>${table('Cost', facts, [
    { name: 'what', isHead: true, cellOf: ([what]) => what },
    { name: 'how much', isWide: true, cellOf: ([, amount]) => amount },
  ])}</section>`;
}

/** What each of two APIs found and cost. */
function apisSection(apis: RunReport['apis']): Html {
  return html`<section><h2>APIs</h2>${table('APIs', apis, [
    { name: 'API', isHead: true, cellOf: ({ name }) => name },
    { name: 'rows found', isNumber: true, cellOf: ({ found }) => number(found) },
    { name: 'domains asked', isNumber: true, cellOf: ({ lookups }) => number(lookups) },
    { name: 'calls', isNumber: true, cellOf: ({ calls }) => number(calls) },
    { name: 'billed', cellOf: ({ bill }) => (bill ? formatUnits(bill) : '–') },
    { name: 'cost', cellOf: ({ cost }) => (cost === null ? '–' : formatPrice(cost)) },
    { name: 'asked no more because of', cellOf: ({ stopReason }) => stopReason ?? '–' },
  ])}</section>`;
}

function billSection(bill: NonNullable<RunReport['bill']>, found: number): Html {
  const { units, unit, most, price, total } = bill;
  const facts: readonly (readonly [string, string])[] = [
    ['billed', formatUnits({ units, unit })],
    ...(most === null
      ? []
      : ([['at most, as planned', formatUnits({ units: most, unit })]] as const)),
    ...(found > 0
      ? ([['an enriched row', formatUnits({ units: units / found, unit })]] as const)
      : []),
    ...(price === null ? [] : ([['a unit', formatPrice(price)]] as const)),
    ...(total === null ? [] : ([['in all', formatPrice(total)]] as const)),
  ];
  return html`<section><h2>Cost</h2>${table('Cost', facts, [
    { name: 'what', isHead: true, cellOf: ([what]) => what },
    { name: 'how much', isWide: true, cellOf: ([, amount]) => amount },
  ])}</section>`;
}

/** The domains that took longest, and those that were tried most often. */
function domainsSection({ slowest, mostRetried }: RunReport): Html | false {
  if (slowest.length === 0 && mostRetried.length === 0) return false;
  return html`<section><h2>Domains</h2><div class="pair">
${
  slowest.length > 0 &&
  html`<div><h3>Slowest call</h3>${table('Domains with the slowest calls', slowest, [
    { name: 'domain', isHead: true, isCode: true, cellOf: ({ domain }) => domain },
    { name: 'took', isNumber: true, cellOf: ({ latencyMs }) => latency(latencyMs) },
    { name: 'answer', isCode: true, cellOf: ({ answer }) => answer },
  ])}</div>`
}
${
  mostRetried.length > 0 &&
  html`<div><h3>Tried most often</h3>${table('Domains that were tried most often', mostRetried, [
    { name: 'domain', isHead: true, isCode: true, cellOf: ({ domain }) => domain },
    { name: 'calls', isNumber: true, cellOf: ({ attempts }) => number(attempts) },
    {
      name: 'in the end',
      cellOf: ({ status, reason }) =>
        html`${STATUSES[status].name}${reason !== '' && html` <code class="muted">${reason}</code>`}`,
    },
  ])}</div>`
}
</div></section>`;
}

type Reason = RunReport['reasons'][number];

/** The reasons why rows were not enriched, with examples and advice. */
function reasonsSection({ reasons, otherReasonRows, rows, files, run }: RunReport): Html | false {
  if (reasons.length === 0) {
    return (
      rows.total > 0 &&
      run.end !== 'error' &&
      html`<section><h2>What went wrong</h2><p>Nothing: every row was enriched.</p></section>`
    );
  }
  const { failuresSheet } = files;
  const sheet = failuresSheet !== null && html`the sheet <code>${failuresSheet}</code> of `;
  return html`<section><h2>What went wrong</h2>
${bySeverity(reasons).map((reason, at) => drawReason(reason, { total: rows.total, isOpen: at < OPEN }))}
${otherReasonRows > 0 && html`<p class="muted">${count(otherReasonRows, 'row')} more, for other reasons.</p>`}
${files.failures !== null && html`<p class="muted">They are all in ${sheet}<code>${files.failures}</code>.</p>`}
</section>`;
}

const OPEN = 6;

/** Puts the reasons that the reader can do something about first. */
function bySeverity(reasons: readonly Reason[]): readonly Reason[] {
  const place = ({ status }: Reason): number => SEVERITY.indexOf(status);
  return reasons.toSorted((one, other) => place(one) - place(other) || other.rows - one.rows);
}

const SEVERITY = ['failed', 'stale', 'rejected', 'pending', 'skipped', 'invalid', 'not_found'];

function drawReason(
  { status, reason, rows, advice, httpStatus, examples }: Reason,
  { total, isOpen }: { readonly total: number; readonly isOpen: boolean },
): Html {
  const words = STATUSES[status].name;
  const said = httpStatus !== null && !reason.endsWith(String(httpStatus));
  return html`<article class="reason"><header><span class="badge ${status}">${words}</span><h3 class="code">${reason}${said && html` <span class="muted">(HTTP ${httpStatus})</span>`}</h3><span class="rows">${count(rows, 'row')} <span class="muted">${share(rows, total)}</span></span></header>
<p>${advice}</p>
<details${isOpen && html` open`}><summary>${examples.length === 1 ? 'The row' : examples.length === rows ? 'The rows' : `The first ${examples.length} rows`}</summary>
${table(`Rows with ${reason}`, examples, [
  { name: 'row', isNumber: true, cellOf: ({ row }) => row.toLocaleString('en-US') },
  { name: 'cell', isCode: true, cellOf: ({ cell }) => (cell === '' ? '(blank)' : cell) },
  ...(examples.some(({ domain }) => domain !== '')
    ? [{ name: 'domain', isCode: true, cellOf: ({ domain }: Example) => domain }]
    : []),
  {
    name: 'the row, as in the list',
    isCode: true,
    isMinor: true,
    isWide: true,
    cellOf: ({ text }) => text,
  },
])}</details></article>`;
}

type Example = Reason['examples'][number];

type Status = keyof RunReport['rows']['statuses'];

/** Whether the run worked, in a sentence, and what to do. */
function verdict({ run }: RunReport): Html {
  return html`<header>
<p class="eyebrow">Brandfill report · <b>${run.input}</b></p>
<div class="verdict ${run.end}">
<h1>${run.headline}</h1>
${run.next !== '' && html`<p class="next">${run.next}</p>`}
<p class="facts"><span>${time(run.startedAt)}</span><span>took ${formatDuration(run.elapsedMs)}</span><span>exit code ${run.exitCode}</span><span>run <code>${run.id}</code></span></p>
</div></header>`;
}

/** The figures that people look for first. */
function tiles({ rows, domains, calls, run, cost }: RunReport): Html {
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
function rowsSection({ rows, run, domains, lookups, reasons }: RunReport): Html {
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
function columnsSection({ columns, filled, rows }: RunReport): Html | false {
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

/** The notices of the run. */
function noticesSection({ run: { notices } }: RunReport): Html | false {
  return (
    notices.length > 0 &&
    html`<section><h2>Remarks</h2>${notices.map((notice) => html`<p>${notice}</p>`)}</section>`
  );
}

/** Where the files are. */
function filesSection({ files, run }: RunReport): Html {
  const { changes, logos, storeBytes } = files;
  const rows: readonly (readonly [string, string])[] = [
    ['list', `${run.input}${run.format === '' ? '' : ` (${run.format})`}`],
    ...(run.domainColumn === null ? [] : ([['domains in column', run.domainColumn]] as const)),
    ...(files.out === null ? [] : ([['rows', place(files.out)]] as const)),
    ...(files.failures === null ? [] : ([['failures', placeOfFailures(files)]] as const)),
    ...(changes === null
      ? []
      : ([
          [
            'changes',
            `${changes.file} (${number(changes.new)} new, ${number(changes.changed)} changed)`,
          ],
        ] as const)),
    ...(logos === null
      ? []
      : ([
          [
            'logos',
            `${logos.folder} (${number(logos.saved)} saved, ${number(logos.kept)} kept, ${number(logos.missing)} missing)`,
          ],
        ] as const)),
    ['store', `${files.store}${storeBytes === null ? '' : ` (${formatSize(storeBytes)})`}`],
  ];
  return html`<section><h2>Files</h2>${table('Files', rows, [
    { name: 'what', isHead: true, cellOf: ([what]) => what },
    { name: 'where', isCode: true, isWide: true, cellOf: ([, where]) => where },
  ])}</section>`;
}

/** The settings of the run. */
function settingsSection({ settings }: RunReport): Html {
  const given = settings.filter(({ isDefault }) => !isDefault);
  const defaults = settings.filter(({ isDefault }) => isDefault);
  const tableOf = (some: typeof settings): Html =>
    table('Settings', some, [
      { name: 'setting', isHead: true, isCode: true, cellOf: ({ name }) => name },
      { name: 'value', isCode: true, isWide: true, cellOf: ({ value }) => value },
    ]);
  return html`<section><h2>Settings</h2>
${given.length > 0 && tableOf(given)}
${defaults.length > 0 && html`<details><summary>${count(defaults.length, 'setting')} left at the default</summary>${tableOf(defaults)}</details>`}
</section>`;
}

function placeOfFailures({ failuresSheet, failures }: RunReport['files']): string {
  const file = place(failures ?? '');
  return failuresSheet === null ? file : `sheet '${failuresSheet}' of ${file}`;
}

function place(path: string): string {
  return path === '-' ? 'standard output' : path;
}
