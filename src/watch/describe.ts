import { isAddressReason, sentenceOn } from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
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
import type { Refusal, Stop } from '../worker/stop-switch.ts';
import type { RunEvent, Sampled } from './events.ts';
import type { Limit, RunView, Summary } from './run-view.ts';
import { endOf, exitCodeOf, findNothing, type PaceSummary } from './summary.ts';
import {
  findReason,
  inWords,
  MISDIRECTIONS,
  type Naming,
  ON_TERMINAL,
  STATUSES,
  STOPS,
} from './words.ts';

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

function entry(name: string, text: string): string {
  return `  ${name.padEnd(8)} ${text}`;
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
  const reasons = byCount(planned.invalidByReason, (reason) => findReason(reason)?.short ?? reason);
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
  return `${place} ${cell === '' ? '' : `'${cell}' `}(${findReason(reason)?.short ?? reason})`;
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

const MOST_SAMPLED = 20;

/** Describes what came of a sample, and what the rest would take. */
export function describeSample({ of, domains, calls, bill, left }: Sampled): readonly string[] {
  const first = domains.slice(0, MOST_SAMPLED);
  const more = domains.length - first.length;
  const width = Math.max(0, ...first.map(({ domain }) => domain.length));
  const billed = bill ? `, billed ${formatUnits(bill)}` : '';
  const units = left.bill ? ` and ${formatUnits(left.bill)}` : '';
  const money = left.cost === undefined ? '' : ` (${formatPrice(left.cost)})`;
  return shown([
    `Sample: ${formatCount(domains.length)} of ${countOf(of, 'domain')}, ${countOf(calls, 'call')}${billed}`,
    ...first.map(({ domain, status, values }) => {
      const cells = values.map(shorten).join(' | ');
      return `  ${domain.padEnd(width)}  ${STATUSES[status].name.padEnd(9)}  ${cells}`.trimEnd();
    }),
    more > 0 && `  … and ${formatCount(more)} more`,
    `The other ${countOf(left.lookups, 'domain')} would take about ${countOf(left.calls, 'call')}${units}${money}, if they go like these.`,
  ]);
}

/** The summary for people, in lines. */
export function describeSummary(summary: Summary): readonly string[] {
  const { statuses, rows, elapsedMs, filled, logos, changes, stopped, out, pace } = summary;
  const there = Object.entries(statuses).filter(([, count]) => count > 0);
  const parts = there.map(
    ([status, count]) => `${formatCount(count)} ${STATUSES[status as keyof typeof statuses].name}`,
  );
  const after = stopped
    ? `Stopped early. ${describeGoingOn(stopped)}`
    : statuses.pending > 0
      ? describePending(summary)
      : judge(summary).next;
  const files: readonly (readonly [string, string | undefined])[] = [
    ['rows', out === '-' ? 'standard output' : out],
    [
      'failures',
      summary.failures && `${summary.failures} (${countOf(rows - statuses.found, 'row')})`,
    ],
    ['filled', filled && byCount(filled, shorten)],
    ['logos', logos && describeLogos(logos)],
    [
      'changes',
      changes &&
        `${changes.file} (${formatCount(changes.new)} new, ${formatCount(changes.changed)} changed)`,
    ],
    ...(summary.reports ?? []).map((report) => ['report', report] as const),
    ['store', `${summary.store.folder} (${formatSize(summary.store.sizeBytes)})`],
  ];
  return shown([
    `${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`,
    describeCalls(summary),
    pace && describePace(pace),
    summary.callsPer && describeCallsPer(summary.callsPer),
    ...files.map(([name, text]) => text !== undefined && `  ${name.padEnd(9)} ${text}`),
    after,
  ]);
}

function describeCalls(summary: Summary): string {
  const { calls, lookups, freshDomains, retries, throttled, bill, cost } = summary;
  const rate = calls > 0 ? `, ${summary.callsPerSecond.toFixed(1)} calls/s` : '';
  const billed = bill ? `; billed ${formatUnits(bill)}` : '';
  const money = cost === undefined ? '' : `; cost ${formatPrice(cost)}`;
  return `${countOf(calls, 'call')} for ${countOf(lookups, 'domain')}, ${formatCount(freshDomains)} fresh; ${countOf(retries, 'retry', 'retries')}, ${formatCount(throttled)} throttled${rate}${billed}${money}`;
}

function describePending({ statuses: { pending }, pendingUntilMs }: Summary): string {
  const are = pending === 1 ? 'row is' : 'rows are';
  return `${formatCount(pending)} ${are} pending: the API has accepted the lookups and has no answer ready. Run the same command again${afterTime(pendingUntilMs)} to ask for it.`;
}

function afterTime(ms: number | undefined): string {
  return ms === undefined ? '' : ` after ${new Date(ms).toISOString()}`;
}

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer(per: NonNullable<Summary['callsPer']>): string {
  const [used, count, left] = [per.used, per.count, per.left].map(formatCount);
  const until = new Date(per.endsAtMs).toISOString();
  return `Calls: ${used} of ${count}/${per.unit} used, ${left} left until ${until}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, reasons, ...counts }: NonNullable<Summary['logos']>): string {
  const [saved, kept, missing] = [counts.saved, counts.kept, counts.missing].map(formatCount);
  const why = byCount(reasons, (reason) => reason);
  return `${folder} (${saved} saved, ${kept} kept, ${missing} missing${why === '' ? '' : `: ${why}`})`;
}

/** `Pace: limit about 50/s; 0.4 % of the calls throttled`. */
function describePace(pace: PaceSummary): string {
  const { throttledShare: share } = pace;
  const digits = { maximumSignificantDigits: share < 0.01 ? 1 : 2 };
  const percent = `${(share * 100).toLocaleString('en-US', digits)} %`;
  const parts = shown([describeLimit(pace), share > 0 && `${percent} of the calls throttled`]);
  return `Pace: ${parts.join('; ')}`;
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
export function describeStop(stop: Stop, naming: Naming = ON_TERMINAL): string {
  const { reason, comeBackAtMs, throttledMs, seen } = stop;
  const text = inWords(describeWhy(stop), naming);
  if (text.includes('urther call')) return text;
  const when = comeBackAtMs !== undefined && !seen && new Date(comeBackAtMs).toISOString();
  const unknown = throttledMs === undefined ? '' : ' It does not say when to come back.';
  const told =
    reason === 'max_calls_per'
      ? `The next may be made from ${when} on`
      : `It said to come back at ${when}`;
  return `${text} No further call is made.${when ? ` ${told}.` : unknown}`;
}

function describeWhy(stop: Stop): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError } = stop;
  if (seen) {
    return `${describeMisdirection(seen, 'The first calls were all')} No further call is made, nothing of it is kept, and the outputs stay as they were.`;
  }
  if (storeError !== undefined) return `${storeError} ${STOPS[reason]}`;
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return `The API is out (${trouble}) and says to wait longer than {maxWait}.`;
  }
  if (trouble !== undefined) return `${STOPS[reason]} The last one ended with: ${trouble}.`;
  if (throttledMs !== undefined) {
    return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up.`;
  }
  const said = refusal && saidBy(refusal);
  if (refusal && reason === 'refused') {
    const isAnswer = refusal.httpStatus < 300;
    const [did, between] = isAnswer ? ['answered', 'other answer'] : ['refused', 'success'];
    return `The API ${did} five different domains in the same way, with no ${between} between: ${refusal.httpStatus} ${said ?? 'without a word why'}. So it is about the calls, not about the domains, and nothing of it is kept. Check {credential}, the plan of the account, the parameters ({param}) and the address ({baseUrl}); {maxFailed} 100% takes the API at its word.`;
  }
  return said === undefined ? STOPS[reason] : `${STOPS[reason]} It says: ${said}.`;
}

const LONGEST_SAID = 200;

/** What a refusal says, quoted; undefined when it says nothing. */
function saidBy({ httpStatus, said }: Refusal): string | undefined {
  if (said === '' || said === `http_${httpStatus}`) return undefined;
  return `'${shortenTo(said, LONGEST_SAID)}'`;
}

/** @param calls those that showed it */
export function describeMisdirection(
  seen: Misdirection,
  calls: 'The first calls were all' | 'The call was',
): string {
  if (isAddressReason(seen)) return sentenceOn(seen);
  const [got, check] = MISDIRECTIONS[seen];
  return `${calls} ${got}: ${check}.`;
}

/** How to continue a run that was stopped. */
function describeGoingOn({ reason, comeBackAtMs }: Stop, naming: Naming = ON_TERMINAL): string {
  const special = GOING_ON[reason];
  return inWords(
    special ?? `What was found is kept: {again}${afterTime(comeBackAtMs)}{toGoOn}.`,
    naming,
  );
}

const GOING_ON: Readonly<Partial<Record<Stop['reason'], string>>> = {
  misdirected: 'Once that is fixed, {again}.',
  refused: 'What was found before is kept: once that is fixed, {again}.',
  unusable_store: 'What could not be stored is in the outputs alone: keep them. {again}{toGoOn}.',
};

export type Verdict = Pick<RunView, 'end' | 'exitCode' | 'headline' | 'next'>;

type Judged = (
  | Pick<Summary, 'statuses' | 'rows' | 'calls' | 'stopped'>
  | { readonly error: string; readonly exitCode: number }
) & { readonly naming?: Naming };

/** Says in a sentence whether a run worked, and what to do. */
export function judge(run: Judged): Verdict {
  const { naming = ON_TERMINAL } = run;
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
  const start = HEADS[end] ?? 'Done';
  const why = stopped && end !== 'interrupted' ? `${describeStop(stopped, naming)} ` : '';
  const next = stopped
    ? `${why.replace(' No further call is made.', '')}${describeGoingOn(stopped, naming)}`
    : nextOf(run);
  return {
    end,
    exitCode: exitCodeOf(run),
    headline: `${start}: ${parts.join(', ')}.`,
    ...(next !== undefined && { next: inWords(next, naming) }),
  };
}

const HEADS: Readonly<Partial<Record<NonNullable<RunView['end']>, string>>> = {
  interrupted: 'Interrupted',
  stopped: 'Stopped early',
  nothing_found: 'Done, but nothing was found',
};

function nextOf({ statuses, calls }: Pick<Summary, 'statuses' | 'calls'>): string | undefined {
  const { failed, stale, pending, skipped, not_found: unknown, rejected, invalid } = statuses;
  if (failed + stale + pending > 0) {
    return '{again}: it asks about those that failed or are pending, and about nothing else that is fresh.';
  }
  if (skipped > 0) {
    const were = countOf(
      skipped,
      'row was skipped: its outcome was',
      'rows were skipped: their outcomes were',
    );
    return `${were} removed from the store while the run went on. {again}.`;
  }
  const nothing = findNothing({ statuses, calls });
  if (nothing === 'no_domain') return 'No row has a domain: check {domainColumn}.';
  if (nothing === undefined) return undefined;
  const parts = shown([
    unknown > 0 && `${formatCount(unknown)} unknown to the API`,
    rejected > 0 && `${formatCount(rejected)} refused by it`,
    invalid > 0 && `${formatCount(invalid)} without a domain`,
  ]);
  return `No row has an answer: ${parts.join(', ')}. Check {baseUrl} and {domainColumn}, and whether one that must be known is found: brandfill try DOMAIN.`;
}
