import type { InvalidRow, Plan, PlannedRows } from '../collector/plan.ts';
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
import { shorten } from '../rows/columns/names.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RunEvent } from './events.ts';
import { describeMisdirection, shortOf } from './reasons.ts';
import type { Limit, RunView, Summary } from './run-view.ts';
import { endOf, exitCodeOf, findNothing } from './summary.ts';
import { GOING_ON, inWords, type Naming, STATUSES, STOPS } from './words.ts';

type Opened = Extract<RunEvent, { type: 'opened' }>;
type Lines = readonly (string | false | undefined)[];

function shown(lines: Lines): readonly string[] {
  return lines.filter((line): line is string => typeof line === 'string' && line !== '');
}

/** Lines for people as one, for a log. */
export function inOneLine(lines: readonly string[]): string {
  return lines.map((line) => line.trim().replaceAll(/ {2,}/g, ' ')).join('; ');
}

/** Describes how the input was understood. */
export function describeInput({ input, format, column }: Opened): readonly string[] {
  const { name, by, example, others = [] } = column;
  const how = by === 'option' ? 'as told' : `guessed by ${by}`;
  const such = example === undefined ? '' : `, such as '${shorten(example)}'`;
  const all = [column, ...others].map((each) => each.name);
  const named = others.slice(0, 3).map(({ index, name }) => {
    const isShared = all.filter((each) => each === name).length > 1;
    return `'${shorten(name)}'${isShared ? ` (column ${index + 1})` : ''}`;
  });
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  return shown([
    shorten(input),
    entry('format', format),
    entry('domains', `in column '${shorten(name)}' (${how})${such}`),
    others.length > 0 &&
      entry('', `also possible: ${named.join(', ')}${more}; --domain-column takes another`),
  ]);
}

function entry(name: string, text: string, width = 8): string {
  return `  ${name.padEnd(width)} ${text}`;
}

/** Describes the plan, with the id of the run in logs for somebody who will be asked to confirm. */
export function describePlan(plan: Plan, runId?: string): readonly string[] {
  const { calls, lookups } = plan;
  const unmade = calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
  return shown([
    ...describeRows(plan),
    entry('calls', `${formatCount(calls)} to make${unmade}`),
    ...(calls > 0 ? [entry('time', timeOf(plan)), costOf(plan)] : []),
    runId !== undefined && entry('run', runId),
  ]);
}

/** Describes what a list has: its rows, domains, and rows without one. */
export function describeRows(planned: PlannedRows): readonly string[] {
  const { invalidRows, invalidExamples: examples, freshDomains: fresh } = planned;
  const reasons = byCount(planned.invalidByReason, shortOfInvalid);
  const such = invalidRows > examples.length ? ', such as' : '';
  const known = fresh > 0 ? `, ${formatCount(fresh)} of them fresh in the store` : '';
  const invalid = `${countOf(invalidRows, 'row')}: ${reasons}${such}`;
  return [
    entry('rows', [formatCount(planned.rows), ...oddities(planned)].join('; ')),
    entry('unique', `${countOf(planned.uniqueDomains, 'domain')}${known}`),
    entry('invalid', invalidRows === 0 ? 'none' : invalid),
    ...examples.map((row) => entry('', inLine(row))),
  ];
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

function timeOf({ estimate }: Plan): string {
  if (!estimate) return 'not known before the limit of the API is';
  const whose = estimate.limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(estimate.durationMs / 1_000);
  const time = seconds < 1 ? 'a second' : `about ${formatDuration(seconds * 1_000)}`;
  return `${time} at ${formatRate(estimate.limitPerSecond)}, ${whose}`;
}

function costOf({ bill, cost, price = 0 }: Plan): string | undefined {
  const money = cost === undefined ? undefined : formatPrice(cost);
  const each = formatPrice(price);
  const text = bill
    ? `at most ${formatUnits(bill)}${money === undefined ? '' : ` (${money} at ${each} each)`}`
    : money && `${money} at ${each} a call`;
  return text && entry('cost', `${text}, if none has to be made twice`);
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

/** The summary for people, in lines. */
export function describeSummary(summary: Summary): readonly string[] {
  const { statuses, rows, elapsedMs, filled, logos, changes, stopped, out, failures } = summary;
  const counts = Object.entries(statuses).flatMap(([status, count]) =>
    count > 0 ? [`${formatCount(count)} ${STATUSES[status as keyof typeof statuses].name}`] : [],
  );
  const file = (name: string, text: string | undefined) => text && entry(name, text, 9);
  return shown([
    `${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${counts.length > 0 ? `: ${counts.join(', ')}` : ''}`,
    describeCalls(summary),
    describePace(summary),
    summary.callsPer && describeCallsPer(summary.callsPer),
    file('rows', out === '-' ? 'standard output' : out),
    file('failures', failures && `${failures} (${countOf(rows - statuses.found, 'row')})`),
    file('filled', filled && byCount(filled, shorten)),
    file('logos', logos && describeLogos(logos)),
    changes &&
      file(
        'changes',
        `${changes.file} (${formatCount(changes.new)} new, ${formatCount(changes.changed)} changed)`,
      ),
    ...(summary.reports ?? []).map((report) => file('report', report)),
    file('store', `${summary.store.folder} (${formatSize(summary.store.sizeBytes)})`),
    stopped ? `Stopped early. ${describeGoingOn(stopped)}` : nextOf(summary),
  ]);
}

function describeCalls(summary: Summary): string {
  const { calls, lookups, freshDomains, retries, throttled, bill, cost } = summary;
  const rate = calls > 0 ? `, ${summary.callsPerSecond.toFixed(1)} calls/s` : '';
  const billed = bill ? `; billed ${formatUnits(bill)}` : '';
  const money = cost === undefined ? '' : `; cost ${formatPrice(cost)}`;
  return `${countOf(calls, 'call')} for ${countOf(lookups, 'domain')}, ${formatCount(freshDomains)} fresh; ${countOf(retries, 'retry', 'retries')}, ${formatCount(throttled)} throttled${rate}${billed}${money}`;
}

/** `Pace: limit about 50/s; 0.4 % of the calls throttled`. */
function describePace({ limit, calls, throttled }: Summary): string | undefined {
  if (!limit) return undefined;
  const share = calls === 0 ? 0 : throttled / calls;
  const digits = { maximumSignificantDigits: share < 0.01 ? 1 : 2 };
  const percent = `${(share * 100).toLocaleString('en-US', digits)} %`;
  return `Pace: ${describeLimit(limit)}${share > 0 ? `; ${percent} of the calls throttled` : ''}`;
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

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer(per: NonNullable<Summary['callsPer']>): string {
  const [used, count, left] = [per.used, per.count, per.left].map(formatCount);
  return `Calls: ${used} of ${count}/${per.unit} used, ${left} left until ${timeAt(per.endsAtMs)}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, reasons, ...counts }: NonNullable<Summary['logos']>): string {
  const [saved, kept, missing] = [counts.saved, counts.kept, counts.missing].map(formatCount);
  const why = byCount(reasons, (reason) => reason);
  return `${folder} (${saved} saved, ${kept} kept, ${missing} missing${why === '' ? '' : `: ${why}`})`;
}

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop(stop: Stop, naming?: Naming): string {
  const { reason, comeBackAtMs } = stop;
  const told =
    reason === 'max_calls_per'
      ? 'The next may be made from {time} on.'
      : 'It said to come back at {time}.';
  return shown([
    describeWhy(stop, naming),
    reason !== 'interrupted' && 'No further call is made.',
    comeBackAtMs !== undefined && told.replace('{time}', timeAt(comeBackAtMs)),
  ]).join(' ');
}

const LONGEST_SAID = 200;

function describeWhy(stop: Stop, naming?: Naming): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError } = stop;
  const { httpStatus = 0, said = '' } = refusal ?? {};
  const isSilent = said === '' || said === `http_${httpStatus}`;
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return inWords(`The API is out (${trouble}) and says to wait longer than {maxWait}.`, naming);
  }
  if (throttledMs !== undefined) {
    return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up.`;
  }
  return shown([
    storeError,
    seen && `The first calls were all alike. ${describeMisdirection(seen, naming)}`,
    inWords(STOPS[reason], naming),
    trouble !== undefined && `The last call ended with: ${trouble}.`,
    refusal && reason === 'refused' && isSilent && `It answered ${httpStatus}, without a word why.`,
    !isSilent && `It answered ${httpStatus}: '${shortenTo(said, LONGEST_SAID)}'.`,
  ]).join(' ');
}

/** How to continue a run that was stopped. */
function describeGoingOn({ reason, comeBackAtMs }: Stop, naming?: Naming): string {
  const usual = `What was found is kept: {again}${afterTime(comeBackAtMs)}{toGoOn}.`;
  return inWords(GOING_ON[reason] ?? usual, naming);
}

function afterTime(ms: number | undefined): string {
  return ms === undefined ? '' : ` after ${timeAt(ms)}`;
}

function timeAt(ms: number): string {
  return new Date(ms).toISOString();
}

type Judged =
  | Pick<Summary, 'statuses' | 'rows' | 'calls' | 'stopped' | 'pendingUntilMs'>
  | { readonly error: string; readonly exitCode: number };

/** Says in a sentence whether a run worked, and what to do. */
export function judge(
  run: Judged,
  naming?: Naming,
): Pick<RunView, 'end' | 'exitCode' | 'headline' | 'next'> {
  if ('error' in run) {
    const kept = inWords('What was found is kept: {again}{toGoOn}.', naming);
    const headline = 'It ended with an error before the rows were written.';
    return { end: 'error', exitCode: run.exitCode, headline, next: `${run.error} ${kept}` };
  }
  const { statuses, rows, stopped } = run;
  const { found, stale, failed, pending, skipped } = statuses;
  const end = endOf(run);
  const all = rows === 1 ? 'the row was enriched' : `all ${countOf(rows, 'row')} enriched`;
  const some = `${formatCount(found)} of ${countOf(rows, 'row')} enriched`;
  const parts = shown([
    rows === 0 ? 'the list has no rows' : found === rows ? all : some,
    failed > 0 && `${countOf(failed, 'row')} failed`,
    stale > 0 && `${countOf(stale, 'row keeps', 'rows keep')} an older answer`,
    pending > 0 && `${countOf(pending, 'row')} pending`,
    skipped > 0 && `${countOf(skipped, 'row')} not asked`,
  ]);
  const why = stopped && end === 'stopped' ? describeWhy(stopped, naming) : '';
  const next = stopped
    ? shown([why, describeGoingOn(stopped, naming)]).join(' ')
    : nextOf(run, naming);
  const exitCode = exitCodeOf(run);
  return { end, exitCode, headline: `${HEADS[end] ?? 'Done'}: ${parts.join(', ')}.`, next };
}

const HEADS: Readonly<Partial<Record<NonNullable<RunView['end']>, string>>> = {
  interrupted: 'Interrupted',
  stopped: 'Stopped early',
  nothing_found: 'Done, but nothing was found',
};

/** What to do after a run that was not stopped; undefined where all is well. */
function nextOf(
  { statuses, calls, pendingUntilMs }: Pick<Summary, 'statuses' | 'calls' | 'pendingUntilMs'>,
  naming?: Naming,
): string | undefined {
  const { failed, stale, pending, skipped, not_found: unknown, rejected, invalid } = statuses;
  const nothing = findNothing({ statuses, calls });
  if (failed + stale + pending + skipped > 0) {
    const again = `{again}${afterTime(pendingUntilMs)}: it asks about those that failed, are pending or were not asked, and about nothing else that is fresh.`;
    return inWords(again, naming);
  }
  if (nothing === undefined) return undefined;
  if (nothing === 'no_domain') return inWords('No row has a domain: check {domainColumn}.', naming);
  const parts = shown([
    unknown > 0 && `${formatCount(unknown)} unknown to the API`,
    rejected > 0 && `${formatCount(rejected)} refused by it`,
    invalid > 0 && `${formatCount(invalid)} without a domain`,
  ]);
  const check =
    'Check {baseUrl} and {domainColumn}, and whether one that must be known is found: brandfill try DOMAIN.';
  return inWords(`No row has an answer: ${parts.join(', ')}. ${check}`, naming);
}
