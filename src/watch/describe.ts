import { isAddressReason, wordsOf } from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
import {
  countOf,
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatSize,
  formatUnits,
} from '../common/format.ts';
import type { InvalidRow, Plan, PlanEstimate, PlanOfSecond } from '../producer/plan.ts';
import { shorten } from '../rows/columns/names.ts';
import type { Refusal, Stop, StopReason } from '../worker/stop-switch.ts';
import type { LeftAtApi, RunEvent, Sampled } from './events.ts';
import { MISDIRECTIONS, STOPS } from './reasons.ts';
import {
  type ApiSummary,
  type CallsPerSummary,
  findNothing,
  type LogosSummary,
  type PaceSummary,
  type Summary,
  type WaitsSummary,
} from './summary.ts';

type Opened = Extract<RunEvent, { type: 'opened' }>;

/** Describes in a line how the input was understood. */
export function describeInput(event: Opened): string {
  const { input, format, column } = event;
  const others = describeOthers(event);
  return `${input} is ${format}; domains are in column ${describeColumn(column)}${others && `; ${others}`}`;
}

/** Describes the plan in lines. */
export function describePlan(plan: Plan): readonly string[] {
  const { rows, uniqueDomains, invalidRows, freshDomains, calls } = plan;
  const lines = [
    `Plan: ${countOf(rows, 'row')}, ${countOf(uniqueDomains, 'unique domain')}, ` +
      `${formatCount(invalidRows)} invalid, ${formatCount(freshDomains)} fresh, ${countOf(calls, 'call')} to make${describeUnmade(plan)}`,
    invalidRows > 0 && `Invalid, for example: ${plan.invalidExamples.map(inLine).join('; ')}`,
    describeTimeAndCost(plan),
    describeSecond(plan),
    ...oddities(plan),
  ];
  return lines.filter((line) => line !== false && line !== '') as string[];
}

const MOST_SAMPLED = 20;

/** Describes what came of a sample, and what the rest would take. */
export function describeSample(sampled: Sampled): readonly string[] {
  const { of, domains, calls, bill, apis, left } = sampled;
  const billed = bill ? `, billed ${formatUnits(bill)}` : '';
  const shown = domains.slice(0, MOST_SAMPLED);
  const width = Math.max(0, ...shown.map(({ domain }) => domain.length));
  const more = domains.length - shown.length;
  const ofApis = (apis ?? []).map(
    ({ name, calls, bill }) =>
      `  ${name}: ${countOf(calls, 'call')}${bill ? `, billed ${formatUnits(bill)}` : ''}`,
  );
  return [
    `Sample: ${formatCount(domains.length)} of ${countOf(of, 'domain')}, ${countOf(calls, 'call')}${billed}`,
    ...ofApis,
    ...shown.map(({ domain, status, values }) =>
      `  ${domain.padEnd(width)}  ${status.replace('_', ' ').padEnd(9)}  ${values.map(shorten).join(' | ')}`.trimEnd(),
    ),
    ...(more > 0 ? [`  … and ${formatCount(more)} more`] : []),
    `The other ${countOf(left.lookups, 'domain')} would take about ${describeLeft(left)}${left.second ? `, and ${describeLeft(left.second)} at ${left.second.api}` : ''}, if they go like these.`,
  ];
}

/** `10 calls and 8 credits (0.40)`. */
function describeLeft({ calls, bill, cost }: LeftAtApi): string {
  const units = bill ? ` and ${formatUnits(bill)}` : '';
  const money = cost === undefined ? '' : ` (${formatPrice(cost)})`;
  return `${countOf(calls, 'call')}${units}${money}`;
}

/**
 * Describes how the input was understood, as a block of lines for somebody who will be asked to
 * confirm.
 */
export function inputBlock(event: Opened): readonly string[] {
  const { input, format, column } = event;
  const others = describeOthers(event);
  return [
    shorten(input),
    entry('format', format),
    entry('domains', `in column ${describeColumn(column)}`),
    ...(others === '' ? [] : [entry('', others)]),
  ];
}

/**
 * Describes the plan in the same way.
 *
 * @param runId the id of the run in logs; missing where it has none
 */
export function planBlock(plan: Plan, runId?: string): readonly string[] {
  const { rows, uniqueDomains, freshDomains, invalidRows, invalidExamples, estimate } = plan;
  const fresh = freshDomains > 0 ? `, ${formatCount(freshDomains)} of them fresh in the store` : '';
  const more = invalidRows > invalidExamples.length ? ', such as' : '';
  return [
    entry('rows', [formatCount(rows), ...oddities(plan)].join('; ')),
    entry('unique', `${countOf(uniqueDomains, 'domain')}${fresh}`),
    entry('invalid', invalidRows === 0 ? 'none' : `${describeReasons(plan)}${more}`),
    ...invalidExamples.map((row) => entry('', inLine(row))),
    entry('calls', `${formatCount(plan.calls)} to make${describeUnmade(plan)}`),
    ...(plan.calls === 0 ? [] : [entry('time', describeTime(estimate))]),
    ...(plan.cost === undefined && !plan.bill ? [] : [entry('cost', describeCost(plan))]),
    ...(plan.second ? [entry('then', describeCallsOfSecond(plan.second))] : []),
    ...(runId === undefined ? [] : [entry('run', runId)]),
  ];
}

function entry(name: string, text: string): string {
  return `  ${name.padEnd(8)} ${text}`;
}

function describeColumn({ name, by, example, isDoubtful }: Opened['column']): string {
  const against = isDoubtful ? ', although its name speaks against it' : '';
  const how = by === 'option' ? 'as told' : `guessed by ${isDoubtful ? 'content' : by}${against}`;
  const such = example === undefined ? '' : `, such as '${shorten(example)}'`;
  return `'${shorten(name)}' (${how})${such}`;
}

const MOST_OTHERS = 3;

function describeOthers({ column }: Opened): string {
  const { others = [] } = column;
  if (others.length === 0) return '';
  const isShared = (name: string): boolean =>
    [column, ...others].filter((each) => each.name === name).length > 1;
  const named = others
    .slice(0, MOST_OTHERS)
    .map(
      ({ index, name }) => `'${shorten(name)}'${isShared(name) ? ` (column ${index + 1})` : ''}`,
    );
  const more = others.length - named.length;
  const all = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
  return `also possible: ${all}; --domain-column takes another`;
}

/** Says that more lookups are due than calls are made. */
function describeUnmade({ calls, lookups }: Plan): string {
  return calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
}

/** `row 7 (empty)`, `sheet row 8 'http://localhost' (single_label)`. */
function inLine({ row, sheetRow, line, reason, cell }: InvalidRow): string {
  const inFile = line === undefined ? '' : ` in line ${line}`;
  const place =
    sheetRow === undefined ? `row ${formatCount(row)}${inFile}` : `sheet row ${sheetRow}`;
  return `${place} ${cell === '' ? '' : `'${cell}' `}(${reason})`;
}

/** `6 rows: 3 single_label, 2 empty, 1 free_mail`, the most frequent first. */
function describeReasons({ invalidRows, invalidByReason }: Plan): string {
  const reasons = Object.entries(invalidByReason)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, rows]) => `${formatCount(rows)} ${reason}`);
  return `${countOf(invalidRows, 'row')}: ${reasons.join(', ')}`;
}

function describeTimeAndCost(plan: Plan): string {
  if (plan.calls === 0) return '';
  const parts = [
    plan.estimate && `takes ${describeTime(plan.estimate)}`,
    (plan.cost !== undefined || plan.bill) && `costs ${describeCost(plan)}`,
  ].filter((part) => typeof part === 'string');
  const text = parts.join('; ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `Then hunter: 3 domains, and those that the first API does not know; at most 13 calls`. */
function describeSecond({ second }: Plan): string {
  return second ? `Then ${describeCallsOfSecond(second)}` : '';
}

function describeCallsOfSecond(second: PlanOfSecond): string {
  const { api, lookups, mostLookups, calls } = second;
  const unknown = 'what the first API does not know';
  const what =
    lookups === 0
      ? unknown
      : `${countOf(lookups, 'domain')}${mostLookups > lookups ? `, and ${unknown}` : ''}`;
  const costs = second.cost !== undefined || second.bill ? `; costs ${describeCost(second)}` : '';
  return `${api}: ${what}; at most ${countOf(calls, 'call')}${costs}`;
}

function describeTime(estimate: PlanEstimate | undefined): string {
  if (estimate === undefined) return 'not known before the limit of the API is';
  const { durationMs, limitPerSecond, limitIs } = estimate;
  const whose = limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(durationMs / 1_000);
  const time = seconds < 1 ? 'a second' : `about ${formatDuration(seconds * 1_000)}`;
  return `${time} at ${formatRate(limitPerSecond)}, ${whose}`;
}

function describeCost({ bill, cost = 0, price }: Pick<Plan, 'bill' | 'cost' | 'price'>): string {
  if (bill) {
    const money =
      price === undefined ? '' : ` (${formatPrice(cost)} at ${formatPrice(price)} each)`;
    return `at most ${formatUnits(bill)}${money}, if none has to be made twice`;
  }
  return `${formatPrice(cost)} at ${formatPrice(price ?? 0)} a call, if none has to be made twice`;
}

function oddities(plan: Plan): readonly string[] {
  const { raggedRows, shortRows, firstShiftedLine, blankLines, blankRows } = plan;
  const shifted = plan.invalidByReason['too_many_cells'] ?? 0;
  const torn = plan.invalidByReason['torn_row'] ?? 0;
  const long = raggedRows - shortRows - shifted;
  const short = shortRows - torn;
  const first = `the first in line ${firstShiftedLine}`;
  return [
    shifted > 0 &&
      `${countOf(shifted, 'row')} with more cells than the header, not looked up because the domain may be in another column, ${first}; quote texts that hold a delimiter`,
    torn > 0 &&
      `${countOf(torn, 'row')} torn off the one above by a line break, not looked up because the domain is in another column${shifted > 0 ? '' : `, ${first}`}; quote texts that hold a line break`,
    long > 0 && `${countOf(long, 'row')} with more cells than the header, kept as they are`,
    short > 0 && `${countOf(short, 'row')} with fewer cells than the header, filled up`,
    blankLines > 0 && `${countOf(blankLines, 'blank line')} left out`,
    blankRows > 0 && `${countOf(blankRows, 'row')} of nothing but delimiters, kept as they are`,
  ].filter((line) => line !== false);
}

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop(stop: Stop): string {
  const { api, isSecond = false, ...why } = stop;
  const text = describeWhy(why);
  if (api === undefined) return text;
  return `${api}: ${isSecond ? text.replaceAll(OF_API, '--then-$1') : text}`;
}

/** Options that are called otherwise for a second API. */
const OF_API = /--(max-calls-per|max-calls|max-cost|base-url)\b/g;

function describeWhy(stop: Stop): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError } = stop;
  if (seen) {
    return `${describeMisdirection(seen)} No further call is made, nothing of it is kept, and the outputs stay as they were.`;
  }
  if (storeError !== undefined) return `${storeError} ${STOPS[reason]}`;
  if (refusal && (reason === 'refused' || reason === 'forbidden')) {
    return `${describeRefusal(reason, refusal)} No further call is made.`;
  }
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return `The API is out (${trouble}) and says to wait longer than --max-wait. No further call is made. It said to come back at ${new Date(comeBackAtMs).toISOString()}.`;
  }
  if (trouble !== undefined) return `${STOPS[reason]} The last one ended with: ${trouble}.`;
  const said = refusal && saidBy(refusal) !== undefined ? ` It says: ${saidBy(refusal)}.` : '';
  const why =
    throttledMs === undefined ? `${STOPS[reason]}${said}` : describeOnlyThrottled(throttledMs);
  if (comeBackAtMs === undefined) {
    return throttledMs === undefined ? why : `${why} It does not say when to come back.`;
  }
  const who = reason === 'max_calls_per' ? 'The next may be made from' : 'It said to come back at';
  const when = new Date(comeBackAtMs).toISOString();
  return `${why} ${who} ${when}${reason === 'max_calls_per' ? ' on' : ''}.`;
}

function describeOnlyThrottled(throttledMs: number): string {
  return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up. No further call is made.`;
}

function describeRefusal(reason: StopReason, refusal: Refusal): string {
  const { httpStatus } = refusal;
  const words = saidBy(refusal) ?? 'without a word why';
  if (reason === 'forbidden') {
    return `The API answered ${httpStatus} five times in a row: ${words}. Check --auth and what the credential is allowed.`;
  }
  const did = httpStatus < 300 ? 'answered' : 'refused';
  return `The API ${did} five different domains in the same way, with no ${httpStatus < 300 ? 'other answer' : 'success'} between: ${httpStatus} ${words}. So it is about the calls, not about the domains, and nothing of it is kept. Check the credential (--auth, BRANDFILL_API_KEY), the plan of the account, the parameters (--param) and the address (--base-url); --max-failed 100% takes the API at its word.`;
}

/** What a refusal says, quoted; undefined when it says nothing. */
function saidBy({ httpStatus, said }: Refusal): string | undefined {
  return said === '' || said === `http_${httpStatus}` ? undefined : `'${cut(said)}'`;
}

const LONGEST_SAID = 200;

function cut(said: string): string {
  return said.length > LONGEST_SAID ? `${said.slice(0, LONGEST_SAID - 1)}…` : said;
}

function describeMisdirection(seen: Misdirection): string {
  if (!isAddressReason(seen)) return MISDIRECTIONS[seen].first;
  const { what, check } = wordsOf(seen);
  return `The first calls failed because ${what}: ${check}.`;
}

/** The summary for people, in lines. */
export function describeSummary(summary: Summary): readonly string[] {
  const { statuses, rows, elapsedMs } = summary;
  const parts = Object.entries(statuses)
    .filter(([, rowCount]) => rowCount > 0)
    .map(([status, rowCount]) => `${formatCount(rowCount)} ${status.replace('_', ' ')}`);
  const notEnriched = rows - statuses.found;
  const lines = [
    `${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`,
    `${countOf(summary.calls, 'call')} for ${countOf(summary.lookups, 'domain')}, ` +
      `${formatCount(summary.freshDomains)} fresh; ${countOf(summary.retries, 'retry', 'retries')}, ` +
      `${formatCount(summary.throttled)} throttled` +
      (summary.calls > 0 ? `, ${summary.callsPerSecond.toFixed(1)} calls/s` : '') +
      (summary.bill ? `; billed ${formatUnits(summary.bill)}` : '') +
      (summary.cost === undefined ? '' : `; cost ${formatPrice(summary.cost)}`),
  ];
  if (summary.apis) lines.push(...summary.apis.map(describeApi));
  else if (summary.pace) lines.push(describePace(summary.pace));
  if (summary.callsPer) lines.push(describeCallsPer(summary.callsPer));
  if (summary.out !== undefined)
    lines.push(`  rows      ${summary.out === '-' ? 'standard output' : summary.out}`);
  if (summary.failures !== undefined) {
    const { failures, failuresSheet: sheet } = summary;
    const place = sheet === undefined ? failures : `sheet '${sheet}' of it`;
    lines.push(`  failures  ${place} (${countOf(notEnriched, 'row')})`);
  }
  if (summary.filled) {
    const cells = Object.entries(summary.filled).map(
      ([name, cells]) => `${shorten(name)} ${formatCount(cells)}`,
    );
    lines.push(`  filled    ${cells.join(', ')}`);
  }
  if (summary.logos) lines.push(`  logos     ${describeLogos(summary.logos)}`);
  if (summary.changes) {
    const { file, new: added, changed } = summary.changes;
    lines.push(`  changes   ${file} (${formatCount(added)} new, ${formatCount(changed)} changed)`);
  }
  for (const report of summary.reports ?? []) lines.push(`  report    ${report}`);
  lines.push(`  store     ${summary.store.folder} (${formatSize(summary.store.sizeBytes)})`);
  if (statuses.pending > 0) lines.push(describePendingRows(summary));
  if (summary.stopped) {
    lines.push(`Stopped early. ${describeGoingOn(summary.stopped)}`);
  } else if (statuses.skipped > 0) {
    lines.push(`${describePruned(statuses.skipped)} Run the same command again.`);
  } else {
    const nothing = describeNothing(summary);
    if (nothing !== undefined) lines.push(nothing);
  }
  return lines;
}

/** `hunter: 3 rows found; 4 calls for 4 domains; billed 3 credits; limit about 8.3/s`. */
function describeApi({ name, found, calls, lookups, bill, cost, pace }: ApiSummary): string {
  const parts = [
    `${countOf(found, 'row')} found`,
    `${countOf(calls, 'call')} for ${countOf(lookups, 'domain')}`,
    bill && `billed ${formatUnits(bill)}`,
    cost !== undefined && `cost ${formatPrice(cost)}`,
    pace && describePace(pace).replace(/^Pace: /, ''),
  ].filter((part) => typeof part === 'string');
  return `${name}: ${parts.join('; ')}`;
}

/** Says that a run was for nothing, and what to check; undefined when it was not. */
export function describeNothing(run: Pick<Summary, 'statuses' | 'calls'>): string | undefined {
  const nothing = findNothing(run);
  if (nothing === undefined) return undefined;
  if (nothing === 'no_domain') return 'No row has a domain: check --domain-column.';
  const { not_found: unknown, rejected, invalid } = run.statuses;
  const parts = [
    unknown > 0 && `${formatCount(unknown)} unknown to the API`,
    rejected > 0 && `${formatCount(rejected)} refused by it`,
    invalid > 0 && `${formatCount(invalid)} without a domain`,
  ].filter((part) => part !== false);
  return `No row has an answer: ${parts.join(', ')}. Check --base-url and --domain-column, and whether one that must be known is found: brandfill try DOMAIN.`;
}

/** `3 rows are pending: …`. */
function describePendingRows({
  statuses: { pending },
  pendingUntilMs,
}: Pick<Summary, 'statuses' | 'pendingUntilMs'>): string {
  const are = pending === 1 ? 'row is' : 'rows are';
  const when =
    pendingUntilMs === undefined ? '' : ` after ${new Date(pendingUntilMs).toISOString()}`;
  return `${formatCount(pending)} ${are} pending: the API has accepted the lookups and has no answer ready. Run the same command again${when} to ask for it.`;
}

/** `3 rows were skipped: …`, for a run that was not stopped. */
export function describePruned(rows: number): string {
  const were =
    rows === 1 ? 'row was skipped: its outcome was' : 'rows were skipped: their outcomes were';
  return `${formatCount(rows)} ${were} removed from the store while the run went on.`;
}

/** How to continue a run that was stopped. */
export function describeGoingOn({ reason, comeBackAtMs }: Stop): string {
  if (reason === 'misdirected') return 'Once that is fixed, run the same command again.';
  if (reason === 'refused')
    return 'What was found before is kept: once that is fixed, run the same command again.';
  if (reason === 'unusable_store')
    return 'What could not be stored is in the outputs alone: keep them. Then run the same command again to go on.';
  const when = comeBackAtMs === undefined ? '' : ` after ${new Date(comeBackAtMs).toISOString()}`;
  return `What was found is kept: run the same command again${when} to go on.`;
}

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer({ count, unit, used, left, endsAtMs }: CallsPerSummary): string {
  const until = new Date(endsAtMs).toISOString();
  return `Calls: ${formatCount(used)} of ${formatCount(count)}/${unit} used, ${formatCount(left)} left until ${until}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, saved, kept, missing, reasons }: LogosSummary): string {
  const why = Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${formatCount(count)} ${reason}`);
  const parts = [
    `${formatCount(saved)} saved`,
    `${formatCount(kept)} kept`,
    `${formatCount(missing)} missing${missing > 0 ? `: ${why.join(', ')}` : ''}`,
  ];
  return `${folder} (${parts.join(', ')})`;
}

/** `Pace: limit about 50/s; 0.4 % of the calls throttled; waited 12 s as told, 3 s backing off`. */
function describePace({ mostAtOnce, throttledShare, waitedMs, ...pace }: PaceSummary): string {
  const limits = [describeLimit(pace), mostAtOnce !== undefined && `at most ${mostAtOnce} at once`];
  const waits = Object.entries(WAITS)
    .map(([why, words]) => ({ ms: waitedMs[why as keyof WaitsSummary], words }))
    .filter(({ ms }) => ms >= SHORTEST_SHOWN_MS)
    .map(({ ms, words }) => `${formatDuration(ms)} ${words}`);
  const parts = [
    limits.filter((limit) => limit !== false).join(', ') || 'no limit met',
    ...(throttledShare > 0 ? [`${formatShare(throttledShare)} of the calls throttled`] : []),
    ...(waits.length > 0 ? [`waited ${waits.join(', ')}`] : []),
  ];
  return `Pace: ${parts.join('; ')}`;
}

function describeLimit({
  limitIs,
  limitPerSecond = 0,
}: Pick<PaceSummary, 'limitIs' | 'limitPerSecond'>): string | false {
  switch (limitIs) {
    case 'fixed':
      return `held to ${formatRate(limitPerSecond)}`;
    case 'published':
      return `limit about ${formatRate(limitPerSecond)}, as the API says`;
    case 'learned':
      return `limit about ${formatRate(limitPerSecond)}`;
    case 'unknown':
      return false;
  }
}

/** A shorter wait goes unnoticed and is not mentioned. */
const SHORTEST_SHOWN_MS = 100;

const WAITS: Readonly<Record<keyof WaitsSummary, string>> = {
  told: 'as told',
  backingOff: 'backing off',
  outage: 'for an outage',
  retryBudget: 'for the retry budget',
};

/** `12 %`, `0.4 %`, `0.02 %`. */
function formatShare(share: number): string {
  return `${(share * 100).toLocaleString('en-US', { maximumSignificantDigits: share < 0.01 ? 1 : 2 })} %`;
}
