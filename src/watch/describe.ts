import { wayOf } from '../calls/stops.ts';
import type {
  InvalidRow,
  Plan,
  PlannedApi,
  PlannedRows,
  RowPlace,
} from '../collector/first-reading.ts';
import { EXIT } from '../common/errors.ts';
import {
  countOf,
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatSize,
  formatUnits,
  round,
} from '../common/format.ts';
import { isMisdirection, sentenceOn, shortOf } from '../common/reasons.ts';
import { shortenTo } from '../common/text.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import type { Limit } from '../worker/pace-memory.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { RunEvent } from './events.ts';
import { type RunView, type SourceView, type StatusCounts, sumOf } from './run-view.ts';
import { ENDINGS, STATUSES, type StatusName, seenOf } from './words.ts';

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

/** Describes how the input was understood. */
export function describeInput({
  input,
  format,
  column,
}: Extract<RunEvent, { type: 'opened' }>): readonly string[] {
  const { others } = column;
  const isShared = (name: string): boolean =>
    [column, ...others].filter((one) => one.name === name).length > 1;
  const named = others
    .slice(0, 3)
    .map(
      ({ index, name }) => `'${shorten(name)}'${isShared(name) ? ` (column ${index + 1})` : ''}`,
    );
  const domains = [
    `in ${describeColumn(column)}`,
    named.length > 0 &&
      `also possible: ${named.join(', ')}${others.length > named.length ? ` and ${others.length - named.length} more` : ''}; option 'domainColumn' takes another`,
  ];
  return [shorten(input), ...table({ format, domains })];
}

/** `column 'Website' (guessed by name), such as 'acme.com'`. */
export function describeColumn({ index, name, by, example }: DomainColumn): string {
  const called = name.trim() === '' ? `${index + 1}, which has no name` : `'${shorten(name)}'`;
  const how = by === 'option' ? 'as told' : `guessed by ${by}`;
  const such = example === undefined ? '' : `, such as '${shorten(example)}'`;
  return `column ${called} (${how})${such}`;
}

/** Describes the plan. */
export function describePlan(plan: Plan): readonly string[] {
  const { calls, lookups, apis = [] } = plan;
  const unmade = calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
  return [
    ...describeRows(plan),
    ...table({
      calls:
        apis.length === 0
          ? `${formatCount(calls)} to make${unmade}`
          : [
              `at most ${formatCount(calls)} to make, each API about what the one before does not know`,
              ...apis.map(inPlan),
            ],
      time: calls > 0 && apis.length === 0 && timeOf(plan),
      cost:
        calls > 0 &&
        (apis.length === 0
          ? costOf(plan)
          : plan.cost !== undefined && `at most ${formatPrice(plan.cost, plan.currency)}`),
    }),
  ];
}

/** `second: at most 400, about 400 credits, if none has to be made twice`. */
function inPlan(api: PlannedApi): string {
  const { name, calls, estimate } = api;
  const cost = calls > 0 && costOf(api);
  const time = calls > 0 && estimate && timeOf(api);
  return shown([`${name}: at most ${formatCount(calls)}`, cost, time]).join(', ');
}

/** Describes what a list has: its rows, domains, and rows without one. */
export function describeRows(planned: PlannedRows): readonly string[] {
  const { rows, invalidRows, invalidExamples: examples, freshDomains: fresh } = planned;
  const { oneSite, passedRows, invalidByReason, below, sampleOf, firstTakingLine } = planned;
  const shifted = invalidByReason['too_many_cells'] ?? 0;
  const ragged = planned.raggedRows - shifted;
  const such = invalidRows > examples.length ? ', such as' : '';
  return table({
    rows: shown([
      formatCount(rows),
      oneSite !== undefined &&
        `All rows lead to one site, ${oneSite}: if they are of several companies, name another column with option 'domainColumn'`,
      shifted > 0 &&
        `${countOf(shifted, 'row')} with more cells than the header, not looked up because the domain may be in another column, the first in line ${planned.firstShiftedLine}; quote texts that hold a delimiter`,
      firstTakingLine !== undefined &&
        `a text in quotes from line ${firstTakingLine} on has lines like those of the list: if they are rows of their own, close its quote, or double it ("")`,
      ragged > 0 && `${countOf(ragged, 'row')} with more or fewer cells than the header, kept`,
      below !== undefined &&
        `${countOf(below.rows, 'row')} below the list, from ${placeOf(below)}, left as they are`,
      passedRows !== undefined &&
        `${countOf(passedRows, 'row')} that option 'where' leaves out, kept as they are`,
    ]).join('; '),
    unique: `${countOf(planned.uniqueDomains, 'domain')}${fresh > 0 ? `, ${formatCount(fresh)} of them fresh in the store` : ''}`,
    sample: sampleOf && `of ${countOf(sampleOf.rows, 'row')} with a domain, spread over the list`,
    invalid: !sampleOf && [
      invalidRows === 0
        ? 'none'
        : `${countOf(invalidRows, 'row')}: ${byCount(invalidByReason, shortOf)}${such}`,
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
function inLine({ reason, cell, ...place }: InvalidRow): string {
  return `${placeOf(place)} ${cell === '' ? '' : `'${cell}' `}(${shortOf(reason)})`;
}

function placeOf({ sheetRow, line }: RowPlace): string {
  return sheetRow === undefined ? `line ${line}` : `sheet row ${sheetRow}`;
}

function timeOf({ estimate }: Pick<Plan, 'estimate'>): string {
  if (!estimate) return 'not known before the limit of the API is';
  const whose = estimate.limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(estimate.durationMs / 1_000);
  return `about ${formatDuration(Math.max(1, seconds) * 1_000)} at ${formatRate(estimate.limitPerSecond)}, ${whose}`;
}

function costOf({ bill, cost, price = 0, currency, isBound }: Partial<Plan>): Text {
  const money = cost === undefined ? undefined : formatPrice(cost, currency);
  const each = formatPrice(price, currency);
  const text = bill
    ? `${isBound ? 'at most' : 'about'} ${formatUnits(bill)}${money === undefined ? '' : ` (${money} at ${each} each)`}`
    : money && `${money} at ${each} a call`;
  return isBound || text === undefined ? text : `${text}, if none has to be made twice`;
}

/**
 * `limit about 50/s, as the API says`, or `no limit met`.
 *
 * @param unknown what is said while none is known
 */
export function describeLimit(
  { limitIs, limitPerSecond = 0, mostAtOnce }: Limit,
  unknown = 'no limit met',
): string {
  const rate = formatRate(limitPerSecond);
  const words = {
    fixed: `held to ${rate}`,
    published: `limit about ${rate}, as the API says`,
    learned: `limit about ${rate}`,
    unknown: mostAtOnce === undefined && unknown,
  }[limitIs];
  return shown([words, mostAtOnce !== undefined && `at most ${mostAtOnce} at once`]).join(', ');
}

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop(stop: Stop, goesOn = false): string {
  const { reason, comeBackAtMs } = stop;
  const at = comeBackAtMs !== undefined && timeAt(comeBackAtMs);
  const isOurs = reason === 'max_calls_per';
  return shown([
    describeWhy(stop),
    reason !== 'interrupted' && (goesOn ? 'The others go on.' : 'No further call is made.'),
    at && (isOurs ? `The next may be made from ${at} on.` : `It said to come back at ${at}.`),
  ]).join(' ');
}

const LONGEST_SAID = 200;

/** The likeliest reason for a 401 or 403, where no credential went with the calls. */
const UNSENT: Readonly<Record<'kept' | 'none', string>> = {
  kept: "Calls were made without your credential: check option 'auth', which is none.",
  none: "Calls were made without a credential: check option 'auth' and BRANDFILL_API_KEY.",
};

function describeWhy(stop: Stop): string {
  const { source } = stop;
  return source === undefined ? whyOf(stop) : `${source}: ${whyOf(stop)}`;
}

function whyOf(stop: Stop): string {
  const { reason, comeBackAtMs, seen, trouble, refusal, throttledMs, storeError, unsent } = stop;
  const { httpStatus = 0, said = '', reason: why = '' } = refusal ?? {};
  const isSilent = said === '';
  const isUnsent = unsent !== undefined && (httpStatus === 401 || httpStatus === 403) && !seen;
  if (trouble !== undefined && comeBackAtMs !== undefined) {
    return `The API is out (${seenOf(trouble)}) and says to wait longer than option 'maxWait'.`;
  }
  if (throttledMs !== undefined) {
    return `The API has throttled every call for ${formatDuration(throttledMs)}: the quota seems to be used up.`;
  }
  return shown([
    storeError,
    seen && `The first calls were all alike. ${sentenceOn(seen)}`,
    !seen && isMisdirection(why) ? sentenceOn(why) : isUnsent ? UNSENT[unsent] : wayOf(reason).says,
    trouble !== undefined && `Seen last: ${seenOf(trouble)}.`,
    refusal && reason === 'refused' && isSilent && `It answered ${httpStatus}, without a word why.`,
    !isSilent && `It answered ${httpStatus}: '${shortenTo(said, LONGEST_SAID)}'.`,
  ]).join(' ');
}

function timeAt(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * What is known of a run, or of a trial of one domain, without `calls`: not known is then the
 * answer.
 */
type Ending = Pick<RunView, 'statuses'> &
  Partial<Pick<RunView, 'calls' | 'stopped' | 'pendingUntilMs' | 'elapsedMs' | 'sampleOf'>>;

/** Says in a word, a number and a sentence how a run ended, and what to do. */
export function endingOf(ending: Ending) {
  const { statuses, stopped, pendingUntilMs, sampleOf, calls = 0, elapsedMs = 0 } = ending;
  const { not_found, rejected, invalid, failed, stale, pending, skipped } = statuses;
  const rows = sumOf(statuses);
  const unknown = not_found + rejected;
  // Lists have such rows; a list of nothing else speaks of a wrong column or a wrong API.
  const isForNothing = invalid === rows || (calls > 0 && unknown + invalid === rows);
  const isInterrupted = stopped?.reason === 'interrupted';
  // Some are skipped without a stop when their outcomes were removed.
  const isAgain = failed + stale + pending + skipped > 0;
  const whole = rows > 0 && isForNothing ? 'nothing_found' : 'done';
  const early = isInterrupted ? 'interrupted' : 'stopped';
  const end = stopped ? early : isAgain ? 'some_failed' : whole;
  const afterMs = stopped ? stopped.comeBackAtMs : pendingUntilMs;
  const after = afterMs === undefined ? '' : ` after ${timeAt(afterMs)}`;
  const onward = `What was found is kept: run the same command again${after} to go on.`;
  const next = {
    done: sampleOf && OTHERS,
    some_failed: `Run the same command again${after}: it asks about those that failed, are pending or were not asked, and about nothing else that is fresh.`,
    nothing_found: unknown === 0 ? NO_DOMAIN : NO_ANSWER,
    stopped: (stopped && wayOf(stopped.reason).next) ?? onward,
    interrupted: onward,
  }[end];
  const counts = countsOf(statuses).map(([, count]) => `, ${count}`);
  return {
    end,
    exitCode: EXIT_CODES[end],
    headline: `${ENDINGS[end]}: ${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${counts.join('')}.`,
    why: stopped && end === 'stopped' ? describeWhy(stopped) : undefined,
    next,
  } satisfies Partial<RunView>;
}

const EXIT_CODES = {
  done: EXIT.ok,
  some_failed: EXIT.someFailed,
  nothing_found: EXIT.someFailed,
  stopped: EXIT.stopped,
  interrupted: EXIT.interrupted,
};
const OTHERS =
  "The same command without option 'sample' asks about the others; nothing is paid twice.";
const NO_DOMAIN = "No row has a domain: check option 'domainColumn'.";
const NO_ANSWER =
  "No row has an answer: check option 'baseUrl' and option 'domainColumn', and whether one that must be known is found: brandfill try DOMAIN.";

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

/** How a run ended, for people, in lines. */
export function describeEnd(view: RunView): readonly string[] {
  const { statuses, rows, filled, logos, changes, out, failures, calls, throttled } = view;
  const { limit, callsPer: per, store, reports, headline, next, bill, cost, reasons } = view;
  const domains = askedDomains(view);
  const isUnmeasured = throttled > 0 && limit?.limitIs === 'unknown';
  const rate = calls > 0 ? `, ${view.callsPerSecond.toFixed(1)} calls/s` : '';
  // The failures file has it row by row.
  const worst = reasons.find(({ status }) => status === 'failed' || status === 'stale');
  return shown([
    headline,
    shown([
      `${countOf(calls, 'call')} for ${countOf(domains, 'domain')}${rate}`,
      throttled > 0 && `${countOf(throttled, 'call')} throttled`,
      view.retries > 0 && countOf(view.retries, 'retry', 'retries'),
      view.freshDomains > 0 && `${countOf(view.freshDomains, 'domain')} fresh in the store`,
      bill && `billed ${formatUnits(bill)}`,
      cost !== undefined && `cost ${formatPrice(cost, view.currency)}`,
    ]).join('; '),
    ...(view.sources ?? []).map((source) => `  ${describeSource(source)}`),
    limit && !isUnmeasured && `Pace: ${describeLimit(limit)}`,
    ...(view.findings ?? []),
    per &&
      `Calls: ${formatCount(per.used)} of ${formatCount(per.count)}/${per.unit} used, ${formatCount(per.left)} left until ${timeAt(per.endsAtMs)}`,
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
    worst &&
      view.stopped === undefined &&
      `${countOf(worst.rows, 'row')} ${STATUSES[worst.status].name}: ${worst.advice}`,
    view.whole,
    next,
  ]);
}

/** `second: 200 of 400 found; 412 calls; billed 200 credits; limit about 50/s; stopped: …`. */
function describeSource(source: SourceView): string {
  const { name, found, lookups, calls, bill, cost, currency, limit, callsPer, stopped } = source;
  return shown([
    `${name}: ${formatCount(found)} of ${formatCount(lookups)} found`,
    countOf(calls, 'call'),
    bill && `billed ${formatUnits(bill)}`,
    cost !== undefined && `cost ${formatPrice(cost, currency)}`,
    calls > 0 && limit && describeLimit(limit),
    callsPer &&
      `${formatCount(callsPer.left)} of ${formatCount(callsPer.count)}/${callsPer.unit} left`,
    stopped && `stopped (${stopped.reason})`,
  ]).join('; ');
}

/** Of several APIs, each is asked about domains that the first was asked about. */
function askedDomains({ sources = [], lookups }: RunView): number {
  return sources.length === 0 ? lookups : Math.max(...sources.map((one) => one.lookups));
}

/** What all of a list would find, take and cost, by what came of a sample of it. */
export function describeWhole(of: RunView): string | undefined {
  const { sampleOf, statuses, rows, uniqueDomains, ...view } = of;
  const { calls, bill, cost, limit, callsPerSecond } = view;
  const lookups = askedDomains(of);
  if (!sampleOf || rows === 0 || view.stopped) return undefined;
  const share = (statuses.found + statuses.stale) / rows;
  const [least, most] = likelyShares(share, uniqueDomains).map((one) => Math.round(one * 100));
  const range = least === most ? `${least}` : `${least} to ${most}`;
  const left = sampleOf.lookups - lookups;
  const perSecond = limit?.limitPerSecond ?? callsPerSecond;
  const seconds = Math.ceil((left * calls) / lookups / perSecond);
  const isKnown = left > 0 && calls > 0 && lookups > 0;
  const units = bill && round((bill.units / lookups) * left, 2);
  const how = limit?.limitPerSecond === undefined ? 'as fast as this sample' : 'the limit';
  return shown([
    `The whole list: ${range} % of ${countOf(sampleOf.rows, 'row')} found`,
    left > 0 && `${countOf(left, 'more domain')} to ask`,
    isKnown &&
      perSecond > 0 &&
      `about ${formatDuration(seconds * 1_000)} at ${formatRate(perSecond)}, ${how}`,
    isKnown && units !== undefined && `about ${formatUnits({ units, unit: bill?.unit ?? '' })}`,
    isKnown &&
      cost !== undefined &&
      `cost about ${formatPrice((cost / lookups) * left, view.currency)}`,
  ]).join('; ');
}

/**
 * Between which shares that of all is, with 95 % confidence.
 *
 * @see {@link https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval Wilson's
 *   interval}
 */
function likelyShares(share: number, count: number): readonly [number, number] {
  const off = 1.96 ** 2 / count;
  const middle = (share + off / 2) / (1 + off);
  const half = Math.sqrt(share * (1 - share) * off + off ** 2 / 4) / (1 + off);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, reasons, ...counts }: NonNullable<RunView['logos']>): string {
  const [saved, kept, missing] = [counts.saved, counts.kept, counts.missing].map(formatCount);
  const why = byCount(reasons, (reason) => reason);
  return `${folder} (${saved} saved, ${kept} kept, ${missing} missing${why === '' ? '' : `: ${why}`})`;
}
