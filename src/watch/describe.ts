import type { InvalidRow, Plan, PlannedRows } from '../collector/plan.ts';
import { EXIT } from '../common/errors.ts';
import {
  countOf,
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatSize,
  formatUnits,
} from '../common/format.ts';
import { shortenTo } from '../common/text.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RunEvent } from './events.ts';
import { describeMisdirection, shortOf } from './reasons.ts';
import { type Limit, type RunView, type StatusCounts, sumOf } from './run-view.ts';
import { ENDINGS, GO_ON, GOING_ON, STATUSES, STOPS, type StatusName } from './words.ts';

// What is said of a run in sentences: of its list, its plan, a stop, and its end.

type Text = string | false | undefined;

/** Names, each with texts below each other; those without a text are left out. */
function table(
  entries: Readonly<Record<string, Text | readonly Text[]>>,
  width = 8,
): readonly string[] {
  return Object.entries(entries).flatMap(([name, texts]) =>
    shown([texts].flat()).map((text, at) => `  ${(at === 0 ? name : '').padEnd(width)} ${text}`),
  );
}

function shown(texts: readonly Text[]): readonly string[] {
  return texts.filter((text): text is string => typeof text === 'string' && text !== '');
}

/** Lines for people as one, for a log. */
export function inOneLine(lines: readonly string[]): string {
  return lines.map((line) => line.trim().replaceAll(/ {2,}/g, ' ')).join('; ');
}

/** Describes how the input was understood. */
export function describeInput({
  input,
  format,
  column,
}: Extract<RunEvent, { type: 'opened' }>): readonly string[] {
  const named = (column.others ?? []).slice(0, 3).map((other) => `'${shorten(other.name)}'`);
  const domains = [
    `in ${describeColumn(column)}`,
    named.length > 0 && `also possible: ${named.join(', ')}; --domain-column takes another`,
  ];
  return [shorten(input), ...table({ format, domains })];
}

/** `column 'Website' (guessed by name), such as 'acme.com'`. */
export function describeColumn({ name, by, example }: DomainColumn): string {
  const how = by === 'option' ? 'as told' : `guessed by ${by}`;
  const such = example === undefined ? '' : `, such as '${shorten(example)}'`;
  return `column '${shorten(name)}' (${how})${such}`;
}

/** Describes the plan. */
export function describePlan(plan: Plan): readonly string[] {
  const { calls, lookups } = plan;
  const unmade = calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
  return [
    ...describeRows(plan),
    ...table({
      calls: `${formatCount(calls)} to make${unmade}`,
      time: calls > 0 && timeOf(plan),
      cost: calls > 0 && costOf(plan),
    }),
  ];
}

/** Describes what a list has: its rows, domains, and rows without one. */
export function describeRows(planned: PlannedRows): readonly string[] {
  const { rows, invalidRows, invalidExamples: examples, freshDomains: fresh } = planned;
  const reasons = byCount(planned.invalidByReason, shortOfInvalid);
  const such = invalidRows > examples.length ? ', such as' : '';
  const known = fresh > 0 ? `, ${formatCount(fresh)} of them fresh in the store` : '';
  return table({
    rows: [formatCount(rows), ...oddities(planned)].join('; '),
    unique: `${countOf(planned.uniqueDomains, 'domain')}${known}`,
    invalid: [
      invalidRows === 0 ? 'none' : `${countOf(invalidRows, 'row')}: ${reasons}${such}`,
      ...examples.map(inLine),
    ],
  });
}

/** `3 blank, 1 free mail`, the most frequent first. */
function byCount(counts: Readonly<Record<string, number>>, nameOf: (key: string) => string) {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  return sorted.map(([key, count]) => `${formatCount(count)} ${nameOf(key)}`).join(', ');
}

/** `line 7 (blank)`, `sheet row 8 'http://localhost' (no web address)`. */
function inLine({ row, sheetRow, line, reason, cell }: InvalidRow): string {
  const inFile = line === undefined ? `row ${formatCount(row)}` : `line ${line}`;
  const place = sheetRow === undefined ? inFile : `sheet row ${sheetRow}`;
  return `${place} ${cell === '' ? '' : `'${cell}' `}(${shortOfInvalid(reason)})`;
}

function shortOfInvalid(reason: string): string {
  return shortOf('invalid', reason) ?? reason;
}

function oddities(plan: PlannedRows): readonly string[] {
  const { oneSite, raggedRows, firstShiftedLine, passedRows } = plan;
  const shifted = plan.invalidByReason['too_many_cells'] ?? 0;
  const ragged = raggedRows - shifted;
  return shown([
    oneSite !== undefined &&
      `All rows lead to one site, ${oneSite}: if they are of several companies, name another column with --domain-column`,
    shifted > 0 &&
      `${countOf(shifted, 'row')} with more cells than the header, not looked up because the domain may be in another column, the first in line ${firstShiftedLine}; quote texts that hold a delimiter`,
    ragged > 0 && `${countOf(ragged, 'row')} with more or fewer cells than the header, kept`,
    passedRows !== undefined &&
      `${countOf(passedRows, 'row')} that --where leaves out, kept as they are`,
  ]);
}

function timeOf({ estimate }: Plan): string {
  if (!estimate) return 'not known before the limit of the API is';
  const whose = estimate.limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(estimate.durationMs / 1_000);
  const time = seconds < 1 ? 'a second' : `about ${formatDuration(seconds * 1_000)}`;
  return `${time} at ${formatRate(estimate.limitPerSecond)}, ${whose}`;
}

function costOf({ bill, cost, price = 0 }: Plan): Text {
  const money = cost === undefined ? undefined : formatPrice(cost);
  const each = formatPrice(price);
  const text = bill
    ? `at most ${formatUnits(bill)}${money === undefined ? '' : ` (${money} at ${each} each)`}`
    : money && `${money} at ${each} a call`;
  return text && `${text}, if none has to be made twice`;
}

/** `limit about 50/s, as the API says`, or `no limit met`; meanwhile, one that is sought. */
export function describeLimit(limit: Limit, isSought = false): string {
  const { limitIs, limitPerSecond = 0, mostAtOnce } = limit;
  const rate = formatRate(limitPerSecond);
  const unknown = isSought ? 'finding the limit' : 'no limit met';
  const words = {
    fixed: `held to ${rate}`,
    published: `limit about ${rate}, as the API says`,
    learned: `limit about ${rate}`,
    unknown: mostAtOnce === undefined ? unknown : '',
  }[limitIs];
  return shown([words, mostAtOnce !== undefined && `at most ${mostAtOnce} at once`]).join(', ');
}

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop(stop: Stop): string {
  const { reason, comeBackAtMs } = stop;
  const at = comeBackAtMs === undefined ? undefined : timeAt(comeBackAtMs);
  const isOurs = reason === 'max_calls_per';
  return shown([
    describeWhy(stop),
    reason !== 'interrupted' && 'No further call is made.',
    at && (isOurs ? `The next may be made from ${at} on.` : `It said to come back at ${at}.`),
  ]).join(' ');
}

const LONGEST_SAID = 200;

function describeWhy(stop: Stop): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError } = stop;
  const { httpStatus = 0, said = '' } = refusal ?? {};
  const isSilent = said === '' || said === `http_${httpStatus}`;
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return `The API is out (${trouble}) and says to wait longer than --max-wait.`;
  }
  if (throttledMs !== undefined) {
    return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up.`;
  }
  return shown([
    storeError,
    seen && `The first calls were all alike. ${describeMisdirection(seen)}`,
    STOPS[reason],
    trouble !== undefined && `The last call ended with: ${trouble}.`,
    refusal && reason === 'refused' && isSilent && `It answered ${httpStatus}, without a word why.`,
    !isSilent && `It answered ${httpStatus}: '${shortenTo(said, LONGEST_SAID)}'.`,
  ]).join(' ');
}

function timeAt(ms: number): string {
  return new Date(ms).toISOString();
}

type Ending = Pick<RunView, 'statuses'> &
  Partial<Pick<RunView, 'calls' | 'stopped' | 'pendingUntilMs'>>;

/** How a run ended, in a word. */
function endOf({ statuses, stopped, calls = 0 }: Ending): NonNullable<RunView['end']> {
  if (stopped) return stopped.reason === 'interrupted' ? 'interrupted' : 'stopped';
  if (countAgain(statuses) > 0) return 'some_failed';
  const rows = sumOf(statuses);
  const { not_found, rejected, invalid } = statuses;
  // Lists have such rows; a list of nothing else speaks of a wrong column or a wrong API.
  const isForNothing = invalid === rows || (calls > 0 && not_found + rejected + invalid === rows);
  return rows > 0 && isForNothing ? 'nothing_found' : 'done';
}

/** Rows that the next run asks about. Some are skipped without a stop when their outcomes were removed. */
function countAgain({ failed, stale, pending, skipped }: StatusCounts): number {
  return failed + stale + pending + skipped;
}

/** The exit code of a run; of a trial of one domain without `calls`: not known is then the answer. */
export function exitCodeOf(run: Ending): number {
  const end = endOf(run);
  if (end === 'done') return EXIT.ok;
  return end === 'stopped' || end === 'interrupted' ? EXIT[end] : EXIT.someFailed;
}

/** Says in a sentence whether a run worked, and what to do. */
export function judge(run: Ending & Pick<RunView, 'end' | 'elapsedMs'>): Partial<RunView> {
  if (run.end === 'error') {
    return { headline: WITHOUT_ROWS, next: GO_ON };
  }
  const { statuses, stopped, elapsedMs } = run;
  const end = endOf(run);
  const counts = countsOf(statuses).map(([, count]) => `, ${count}`);
  const rows = `${countOf(sumOf(statuses), 'row')} in ${formatDuration(elapsedMs)}`;
  return {
    end,
    exitCode: exitCodeOf(run),
    headline: `${ENDINGS[end]}: ${rows}${counts.join('')}.`,
    why: stopped && end === 'stopped' ? describeWhy(stopped) : undefined,
    next: nextOf(run),
  };
}

/** How a run ended that had an error. */
export const WITHOUT_ROWS = 'It ended with an error before the rows were written.';

/** `41,020 found`, `3 failed`; those of zero are left out, except that of found rows. */
export function countsOf(
  statuses: Readonly<StatusCounts>,
): readonly (readonly [name: StatusName, count: string])[] {
  return (Object.keys(STATUSES) as StatusName[])
    .map((name) => [name, statuses[name] ?? 0] as const)
    .filter(([name, count]) => name === 'found' || count > 0)
    .map(([name, count]) => [name, `${formatCount(count)} ${STATUSES[name].name}`]);
}

const NO_DOMAIN = 'No row has a domain: check --domain-column.';
const NO_ANSWER =
  'No row has an answer: check --base-url and --domain-column, and whether one that must be known is found: brandfill try DOMAIN.';

/** What to do after a run; undefined where all is well. */
function nextOf(run: Ending): string | undefined {
  const { statuses, stopped, pendingUntilMs } = run;
  const afterMs = stopped ? stopped.comeBackAtMs : pendingUntilMs;
  const after = afterMs === undefined ? '' : ` after ${timeAt(afterMs)}`;
  if (stopped) {
    return (
      GOING_ON[stopped.reason] ??
      `What was found is kept: run the same command again${after} to go on.`
    );
  }
  if (countAgain(statuses) > 0) {
    return `Run the same command again${after}: it asks about those that failed, are pending or were not asked, and about nothing else that is fresh.`;
  }
  if (endOf(run) === 'done') return undefined;
  const isBlank = statuses.not_found + statuses.rejected === 0;
  return isBlank ? NO_DOMAIN : NO_ANSWER;
}

/** How a run ended, for people, in lines. */
export function describeEnd(view: RunView): readonly string[] {
  const { statuses, rows, filled, logos, changes, out, failures } = view;
  const { limit, callsPer, store, reports, headline, next, throttled } = view;
  const isUnmeasured = throttled > 0 && limit?.limitIs === 'unknown';
  return shown([
    headline,
    describeCalls(view),
    limit && !isUnmeasured && `Pace: ${describeLimit(limit)}`,
    callsPer && describeCallsPer(callsPer),
    ...table(
      {
        rows: out === '-' ? 'standard output' : out,
        failures: failures && `${failures} (${countOf(rows - statuses.found, 'row')})`,
        filled: filled && byCount(filled, (column) => `in ${shorten(column)}`),
        logos: logos && describeLogos(logos),
        changes:
          changes &&
          `${changes.file} (${countOf(changes.new, 'row')} new, ${formatCount(changes.changed)} changed)`,
        report: reports?.join(', '),
        store: store && `${store.folder} (${formatSize(store.sizeBytes)})`,
      },
      9,
    ),
    view.stopped === undefined && describeWorst(view),
    next,
  ]);
}

/** What most of the rows got that failed: the failures file has it row by row. */
function describeWorst({ reasons }: Pick<RunView, 'reasons'>): string | undefined {
  const worst = reasons.find(({ status }) => status === 'failed' || status === 'stale');
  return worst && `${countOf(worst.rows, 'row')} ${STATUSES[worst.status].name}: ${worst.advice}`;
}

/** `1,234 calls for 900 domains, 12.3 calls/s; 5 calls throttled; 40 domains fresh in the store; cost 2.46`. */
function describeCalls(view: RunView): string {
  const { calls, lookups, freshDomains, retries, throttled, bill, cost } = view;
  const rate = calls > 0 ? `, ${view.callsPerSecond.toFixed(1)} calls/s` : '';
  return shown([
    `${countOf(calls, 'call')} for ${countOf(lookups, 'domain')}${rate}`,
    throttled > 0 && `${countOf(throttled, 'call')} throttled`,
    retries > 0 && countOf(retries, 'retry', 'retries'),
    freshDomains > 0 && `${countOf(freshDomains, 'domain')} fresh in the store`,
    bill && `billed ${formatUnits(bill)}`,
    cost !== undefined && `cost ${formatPrice(cost)}`,
  ]).join('; ');
}

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer(per: NonNullable<RunView['callsPer']>): string {
  const [used, count, left] = [per.used, per.count, per.left].map(formatCount);
  return `Calls: ${used} of ${count}/${per.unit} used, ${left} left until ${timeAt(per.endsAtMs)}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, reasons, ...counts }: NonNullable<RunView['logos']>): string {
  const [saved, kept, missing] = [counts.saved, counts.kept, counts.missing].map(formatCount);
  const why = byCount(reasons, (reason) => reason);
  return `${folder} (${saved} saved, ${kept} kept, ${missing} missing${why === '' ? '' : `: ${why}`})`;
}
