import type { RunReport } from '../run-report.ts';
import { type Html, html } from './html.ts';
import { table } from './tables.ts';
import { count, STATUSES, share } from './words.ts';

type Reason = RunReport['reasons'][number];

/** The reasons why rows were not enriched, with examples and advice. */
export function reasonsSection({
  reasons,
  otherReasonRows,
  rows,
  files,
  run,
}: RunReport): Html | false {
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
