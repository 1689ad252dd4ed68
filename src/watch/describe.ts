import { isAddressReason, sentenceOn, wordsOf } from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
import type { InvalidRow, Plan } from '../collector/plan.ts';
import {
  countOf,
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatSize,
  formatUnits,
} from '../common/format.ts';
import { shorten } from '../rows/columns/names.ts';
import type { Refusal, Stop } from '../worker/stop-switch.ts';
import type { RunEvent, Sampled } from './events.ts';
import type { RunView, Summary } from './run-view.ts';
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
  const { name, by, example, isDoubtful, others = [] } = column;
  const against = isDoubtful ? ', although its name speaks against it' : '';
  const how = by === 'option' ? 'as told' : `guessed by ${isDoubtful ? 'content' : by}${against}`;
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
  const { rows, uniqueDomains: unique, invalidRows, freshDomains: fresh, calls, lookups } = plan;
  const unmade = calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
  const cost = describeCost(plan);
  const examples = plan.invalidExamples.map(inLine);
  const reasons = Object.entries(plan.invalidByReason)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${formatCount(count)} ${inShort(reason)}`);
  const such = invalidRows > examples.length ? ', such as' : '';
  const known = fresh > 0 ? `, ${formatCount(fresh)} of them fresh in the store` : '';
  const invalid = `${countOf(invalidRows, 'row')}: ${reasons.join(', ')}${such}`;
  return shown([
    entry('rows', [formatCount(rows), ...oddities(plan)].join('; ')),
    entry('unique', `${countOf(unique, 'domain')}${known}`),
    entry('invalid', invalidRows === 0 ? 'none' : invalid),
    ...examples.map((text) => entry('', text)),
    entry('calls', `${formatCount(calls)} to make${unmade}`),
    calls > 0 && entry('time', describeTime(plan) ?? 'not known before the limit of the API is'),
    cost !== undefined && entry('cost', cost),
    runId !== undefined && entry('run', runId),
  ]);
}

/** `line 7 (blank)`, `sheet row 8 'http://localhost' (no web address)`. */
function inLine({ row, sheetRow, line, reason, cell }: InvalidRow): string {
  const inFile = line === undefined ? `row ${formatCount(row)}` : `line ${line}`;
  const place = sheetRow === undefined ? inFile : `sheet row ${sheetRow}`;
  return `${place} ${cell === '' ? '' : `'${cell}' `}(${inShort(reason)})`;
}

function inShort(reason: string): string {
  return findReason(reason)?.short ?? reason;
}

function describeTime({ estimate, calls }: Plan): string | undefined {
  if (!estimate || calls === 0) return undefined;
  const whose = estimate.limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(estimate.durationMs / 1_000);
  const time = seconds < 1 ? 'a second' : `about ${formatDuration(seconds * 1_000)}`;
  return `${time} at ${formatRate(estimate.limitPerSecond)}, ${whose}`;
}

function describeCost({ bill, cost, price = 0, calls }: Plan): string | undefined {
  if (calls === 0 || (!bill && cost === undefined)) return undefined;
  if (!bill) {
    return `${formatPrice(cost ?? 0)} at ${formatPrice(price)} a call, if none has to be made twice`;
  }
  const money = cost === undefined ? '' : ` (${formatPrice(cost)} at ${formatPrice(price)} each)`;
  return `at most ${formatUnits(bill)}${money}, if none has to be made twice`;
}

function oddities(plan: Plan): readonly string[] {
  const { raggedRows, firstShiftedLine, passedRows } = plan;
  const shifted = plan.invalidByReason['too_many_cells'] ?? 0;
  const ragged = raggedRows - shifted;
  const first = `the first in line ${firstShiftedLine}`;
  return shown([
    plan.oneSite !== undefined &&
      `All rows lead to one site, ${plan.oneSite}: if they are of several companies, name another column with --domain-column`,
    shifted > 0 &&
      `${countOf(shifted, 'row')} with more cells than the header, not looked up because the domain may be in another column, ${first}; quote texts that hold a delimiter`,
    ragged > 0 && `${countOf(ragged, 'row')} with more or fewer cells than the header, kept`,
    passedRows !== undefined &&
      `${countOf(passedRows, 'row')} that --where leaves out, kept as they are`,
  ]);
}

const MOST_SAMPLED = 20;

/** Describes what came of a sample, and what the rest would take. */
export function describeSample({ of, domains, calls, bill, left }: Sampled): readonly string[] {
  const width = Math.max(0, ...domains.slice(0, MOST_SAMPLED).map(({ domain }) => domain.length));
  const more = domains.length - MOST_SAMPLED;
  const units = left.bill ? ` and ${formatUnits(left.bill)}` : '';
  const money = left.cost === undefined ? '' : ` (${formatPrice(left.cost)})`;
  return shown([
    `Sample: ${formatCount(domains.length)} of ${countOf(of, 'domain')}, ${countOf(calls, 'call')}${bill ? `, billed ${formatUnits(bill)}` : ''}`,
    ...domains
      .slice(0, MOST_SAMPLED)
      .map(({ domain, status, values }) =>
        `  ${domain.padEnd(width)}  ${STATUSES[status].name.padEnd(9)}  ${values.map(shorten).join(' | ')}`.trimEnd(),
      ),
    more > 0 && `  … and ${formatCount(more)} more`,
    `The other ${countOf(left.lookups, 'domain')} would take about ${countOf(left.calls, 'call')}${units}${money}, if they go like these.`,
  ]);
}

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop(stop: Stop, naming: Naming = ON_TERMINAL): string {
  const text = inWords(describeWhy(stop), naming);
  return text.includes('urther call')
    ? text
    : `${text} No further call is made.${describeTimeOf(stop)}`;
}

function describeTimeOf({ reason, comeBackAtMs, throttledMs, seen }: Stop): string {
  if (comeBackAtMs === undefined || seen) {
    return throttledMs === undefined ? '' : ' It does not say when to come back.';
  }
  const when = new Date(comeBackAtMs).toISOString();
  return reason === 'max_calls_per'
    ? ` The next may be made from ${when} on.`
    : ` It said to come back at ${when}.`;
}

function describeWhy(stop: Stop): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError } = stop;
  if (seen) {
    return `${describeMisdirection(seen)} No further call is made, nothing of it is kept, and the outputs stay as they were.`;
  }
  if (storeError !== undefined) return `${storeError} ${STOPS[reason]}`;
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return `The API is out (${trouble}) and says to wait longer than {maxWait}.`;
  }
  if (trouble !== undefined) return `${STOPS[reason]} The last one ended with: ${trouble}.`;
  if (throttledMs !== undefined) {
    return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up.`;
  }
  if (refusal && reason === 'refused') {
    const did = refusal.httpStatus < 300 ? 'answered' : 'refused';
    const between = refusal.httpStatus < 300 ? 'other answer' : 'success';
    return `The API ${did} five different domains in the same way, with no ${between} between: ${refusal.httpStatus} ${saidBy(refusal) ?? 'without a word why'}. So it is about the calls, not about the domains, and nothing of it is kept. Check {credential}, the plan of the account, the parameters ({param}) and the address ({baseUrl}); {maxFailed} 100% takes the API at its word.`;
  }
  const said = refusal && saidBy(refusal);
  return said === undefined ? STOPS[reason] : `${STOPS[reason]} It says: ${said}.`;
}

const LONGEST_SAID = 200;

/** What a refusal says, quoted; undefined when it says nothing. */
function saidBy({ httpStatus, said }: Refusal): string | undefined {
  if (said === '' || said === `http_${httpStatus}`) return undefined;
  return `'${said.length > LONGEST_SAID ? `${said.slice(0, LONGEST_SAID - 1)}…` : said}'`;
}

function describeMisdirection(seen: Misdirection): string {
  if (isAddressReason(seen)) {
    const { what, check } = wordsOf(seen);
    return `The first calls failed because ${what}: ${check}.`;
  }
  const [got, check] = MISDIRECTIONS[seen];
  return `The first calls were all ${got}: ${check}.`;
}

/** The same of a single call. */
export function describeMisdirectionOfOne(seen: Misdirection): string {
  if (isAddressReason(seen)) return sentenceOn(seen);
  const [got, check] = MISDIRECTIONS[seen];
  return inWords(`The call was ${got}: ${check}.`);
}

/** The summary for people, in lines. */
export function describeSummary(summary: Summary): readonly string[] {
  const { statuses, rows, elapsedMs, filled, logos, changes, stopped } = summary;
  const parts = Object.entries(statuses).flatMap(([status, count]) =>
    count > 0 ? [`${formatCount(count)} ${STATUSES[status as keyof typeof statuses].name}`] : [],
  );
  const { next } = judge(summary);
  return shown([
    `${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`,
    describeCalls(summary),
    summary.pace && describePace(summary.pace),
    summary.callsPer && describeCallsPer(summary.callsPer),
    summary.out !== undefined &&
      file('rows', summary.out === '-' ? 'standard output' : summary.out),
    summary.failures !== undefined &&
      file('failures', `${summary.failures} (${countOf(rows - statuses.found, 'row')})`),
    filled &&
      file(
        'filled',
        Object.entries(filled)
          .map(([name, cells]) => `${shorten(name)} ${formatCount(cells)}`)
          .join(', '),
      ),
    logos && file('logos', describeLogos(logos)),
    changes &&
      file(
        'changes',
        `${changes.file} (${formatCount(changes.new)} new, ${formatCount(changes.changed)} changed)`,
      ),
    ...(summary.reports ?? []).map((report) => file('report', report)),
    file('store', `${summary.store.folder} (${formatSize(summary.store.sizeBytes)})`),
    statuses.pending > 0 && describePending(summary),
    stopped ? `Stopped early. ${describeGoingOn(stopped)}` : statuses.pending > 0 ? '' : next,
  ]);
}

function file(name: string, text: string): string {
  return `  ${name.padEnd(9)} ${text}`;
}

function describeCalls(summary: Summary): string {
  const { calls, lookups, freshDomains, retries, throttled, bill, cost } = summary;
  const rate = calls > 0 ? `, ${summary.callsPerSecond.toFixed(1)} calls/s` : '';
  const billed = bill ? `; billed ${formatUnits(bill)}` : '';
  const money = cost === undefined ? '' : `; cost ${formatPrice(cost)}`;
  return `${countOf(calls, 'call')} for ${countOf(lookups, 'domain')}, ${formatCount(freshDomains)} fresh; ${countOf(retries, 'retry', 'retries')}, ${formatCount(throttled)} throttled${rate}${billed}${money}`;
}

function describePending({
  statuses: { pending },
  pendingUntilMs,
}: Pick<Summary, 'statuses' | 'pendingUntilMs'>): string {
  const are = pending === 1 ? 'row is' : 'rows are';
  const after =
    pendingUntilMs === undefined ? '' : ` after ${new Date(pendingUntilMs).toISOString()}`;
  return `${formatCount(pending)} ${are} pending: the API has accepted the lookups and has no answer ready. Run the same command again${after} to ask for it.`;
}

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer({
  count,
  unit,
  used,
  left,
  endsAtMs,
}: NonNullable<Summary['callsPer']>): string {
  const until = new Date(endsAtMs).toISOString();
  return `Calls: ${formatCount(used)} of ${formatCount(count)}/${unit} used, ${formatCount(left)} left until ${until}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos(logos: NonNullable<Summary['logos']>): string {
  const why = Object.entries(logos.reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${formatCount(count)} ${reason}`);
  const missing = `${formatCount(logos.missing)} missing${why.length > 0 ? `: ${why.join(', ')}` : ''}`;
  return `${logos.folder} (${formatCount(logos.saved)} saved, ${formatCount(logos.kept)} kept, ${missing})`;
}

/** `Pace: limit about 50/s; 0.4 % of the calls throttled`. */
function describePace(pace: PaceSummary): string {
  const { throttledShare: share } = pace;
  const digits = { maximumSignificantDigits: share < 0.01 ? 1 : 2 };
  const percent = `${(share * 100).toLocaleString('en-US', digits)} %`;
  const parts = shown([describeLimit(pace), share > 0 && `${percent} of the calls throttled`]);
  return `Pace: ${parts.join('; ')}`;
}

type Limit = NonNullable<RunView['limit']>;

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

/** How to continue a run that was stopped. */
function describeGoingOn({ reason, comeBackAtMs }: Stop, naming: Naming = ON_TERMINAL): string {
  const after = comeBackAtMs === undefined ? '' : ` after ${new Date(comeBackAtMs).toISOString()}`;
  const text =
    reason === 'misdirected'
      ? 'Once that is fixed, {again}.'
      : reason === 'refused'
        ? 'What was found before is kept: once that is fixed, {again}.'
        : reason === 'unusable_store'
          ? 'What could not be stored is in the outputs alone: keep them. {again}{toGoOn}.'
          : `What was found is kept: {again}${after}{toGoOn}.`;
  return inWords(text, naming);
}

export type Verdict = Pick<RunView, 'end' | 'exitCode' | 'headline' | 'next'>;

type Judged = (
  | Pick<Summary, 'statuses' | 'rows' | 'calls' | 'stopped'>
  | { readonly error: string; readonly exitCode: number; readonly rows: number }
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
  const enriched =
    rows === 0
      ? 'the list has no rows'
      : found === rows
        ? rows === 1
          ? 'the row was enriched'
          : `all ${countOf(rows, 'row')} enriched`
        : `${formatCount(found)} of ${countOf(rows, 'row')} enriched`;
  const more = shown([
    failed > 0 && `${countOf(failed, 'row')} failed`,
    stale > 0 && `${countOf(stale, 'row keeps', 'rows keep')} an older answer`,
    pending > 0 && `${countOf(pending, 'row')} pending`,
    skipped > 0 && `${countOf(skipped, 'row')} not asked`,
  ]);
  const start = stopped ? (end === 'interrupted' ? 'Interrupted' : 'Stopped early') : 'Done';
  const next = stopped
    ? `${end === 'interrupted' ? '' : `${describeStop(stopped, naming).replace(' No further call is made.', '')} `}${describeGoingOn(stopped, naming)}`
    : describeNext(run, naming);
  const headline = `${start}${end === 'nothing_found' ? ', but nothing was found' : ''}: ${[enriched, ...more].join(', ')}.`;
  return { end, exitCode: exitCodeOf(run), headline, ...(next === undefined ? {} : { next }) };
}

function describeNext(
  { statuses, calls }: Pick<Summary, 'statuses' | 'calls'>,
  naming: Naming,
): string | undefined {
  const { failed, stale, pending, skipped, not_found: unknown, rejected, invalid } = statuses;
  if (failed + stale + pending > 0) {
    return inWords(
      '{again}: it asks about those that failed or are pending, and about nothing else that is fresh.',
      naming,
    );
  }
  if (skipped > 0) {
    const were =
      skipped === 1 ? 'row was skipped: its outcome was' : 'rows were skipped: their outcomes were';
    return inWords(
      `${formatCount(skipped)} ${were} removed from the store while the run went on. {again}.`,
      naming,
    );
  }
  const nothing = findNothing({ statuses, calls });
  if (nothing === 'no_domain') return inWords('No row has a domain: check {domainColumn}.', naming);
  if (nothing === undefined) return undefined;
  const parts = shown([
    unknown > 0 && `${formatCount(unknown)} unknown to the API`,
    rejected > 0 && `${formatCount(rejected)} refused by it`,
    invalid > 0 && `${formatCount(invalid)} without a domain`,
  ]);
  return inWords(
    `No row has an answer: ${parts.join(', ')}. Check {baseUrl} and {domainColumn}, and whether one that must be known is found: brandfill try DOMAIN.`,
    naming,
  );
}
