import type { OutcomeStatus } from '../brand/outcome.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';
import { countOf } from '../common/format.ts';
import type { RunInstruments } from '../metrics/metrics.ts';
import type { Job } from '../options/api.ts';
import { createHashTable } from '../producer/distinct-domains.ts';
import type { Plan } from '../producer/plan.ts';
import type { RowIndex } from '../producer/row-index.ts';
import type { Dated } from '../store/freshness.ts';
import { NOTHING_READY } from '../store/ready-cells.ts';
import type { OutcomeStore } from '../store/store.ts';
import { addOutcomes, type Progress, type RowProgress, type RunEvent } from '../watch/events.ts';
import type { Stop, StopReason } from '../worker/stop-switch.ts';
import { addTotals, type LookupTotals } from './lookups/look-up-all.ts';
import type { LookUpAllOptions } from './lookups/look-up-state.ts';
import type { RunContext } from './run-context.ts';

// A run may ask a second API what the first does not know (`--then`). Each has its own entries in the
// store, its own pass of lookups (`lookUpAtBoth`), pace and budget. Which of the two a domain's
// outcome is from, and which is to be asked, `settle` alone says, to plan, passes and join alike:
//
//   first ──┬─ found, or an outcome that is not passed on ─────────────────► the row has it
//           ├─ not_found (or what --then-on names) ──► second ──► its outcome is the row's
//           └─ unknown, or no longer fresh ──┬─ the second has found it ───► the row has it
//                                            └─ the first is asked

/** One of two APIs. */
export type Side = 'first' | 'second';

/** What is known of a domain at one API. */
export interface KnownOutcome {
  readonly status: OutcomeStatus;
  /** Whether it counts in this run. */
  readonly isUsable: boolean;
}

/** Where a domain's outcome is from, and which API has to be asked about it. */
export interface Settled {
  readonly by: Side;
  /** Undefined when neither has to be. */
  readonly dueAt: Side | undefined;
}

/** @param isPassedOn whether the second API is asked after an outcome of the first */
export function settle(
  first: KnownOutcome | undefined,
  second: () => KnownOutcome | undefined,
  isPassedOn: (status: OutcomeStatus) => boolean,
): Settled {
  if (first?.isUsable) {
    if (!isPassedOn(first.status)) return { by: 'first', dueAt: undefined };
    return { by: 'second', dueAt: second()?.isUsable ? undefined : 'second' };
  }
  const other = second();
  // A row that has a fresh answer needs no call, whoever gave it.
  return other?.isUsable && other.status === 'found'
    ? { by: 'second', dueAt: undefined }
    : { by: 'first', dueAt: 'first' };
}

/** One API of a run that asks two. */
export interface ApiOfRun {
  readonly name: string;
  readonly isSecond: boolean;
  /** What it was asked. */
  readonly store: OutcomeStore;
  /** Whether an outcome of it counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
}

/** Both APIs of a run, and the store as its rows see it. */
export interface TwoApis extends Readonly<Record<Side, ApiOfRun>> {
  /** What rows get: of each domain what the API says that settles it. Not for writing outcomes. */
  readonly store: OutcomeStore;
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  readonly dueAt: (domain: string) => Side | undefined;
  /** Whose outcome a row has, or whose older answer if it is `stale`. */
  readonly apiOf: (domain: string, isStale: boolean) => Side;
  /** The column that says so. */
  readonly column: OutputColumn;
}

/** @param thenOn the outcomes of the first API after which the second is asked */
export function createTwoApis(
  first: ApiOfRun,
  second: ApiOfRun,
  thenOn: readonly OutcomeStatus[],
): TwoApis {
  const passedOn: ReadonlySet<string> = new Set(thenOn);
  const isPassedOn = (status: OutcomeStatus): boolean => passedOn.has(status);
  const apis = { first, second };

  function knownAt({ store, isUsable }: ApiOfRun, domain: string): KnownOutcome | undefined {
    const head = store.findHead(domain);
    return head && { status: head.status, isUsable: isUsable(domain, head) };
  }

  function settled(domain: string): Settled {
    return settle(knownAt(first, domain), () => knownAt(second, domain), isPassedOn);
  }

  const storeOf = (domain: string): OutcomeStore => apis[settled(domain).by].store;

  /** Whose older answer stands in while nothing newer is known. */
  function answerSideOf(domain: string): Side {
    const answer = first.store.findAnswerHead(domain);
    const isOfFirst = answer !== undefined && !isPassedOn(answer.status);
    return isOfFirst || !second.store.findAnswerHead(domain) ? 'first' : 'second';
  }

  const apiOf = (domain: string, isStale: boolean): Side =>
    isStale ? answerSideOf(domain) : settled(domain).by;

  return {
    ...apis,
    store: {
      ...first.store,
      hasAnswers: () => first.store.hasAnswers() || second.store.hasAnswers(),
      findHead: (domain) => storeOf(domain).findHead(domain),
      find: (domain) => storeOf(domain).find(domain),
      findAnswerHead: (domain) => apis[answerSideOf(domain)].store.findAnswerHead(domain),
      findAnswer: (domain) => apis[answerSideOf(domain)].store.findAnswer(domain),
      findShape: (id) => first.store.findShape(id) ?? second.store.findShape(id),
      // Which API a row is from is not in them.
      ready: NOTHING_READY,
    },
    isUsable: (domain, outcome) => apis[settled(domain).by].isUsable(domain, outcome),
    dueAt: (domain) => settled(domain).dueAt,
    apiOf,
    column: {
      name: 'api',
      expression: 'api',
      isCompared: false, // the same values from somebody else are no news of the brand
      valueOf: ({ domain, status }) =>
        status === 'invalid' || status === 'skipped'
          ? undefined
          : apis[apiOf(domain, status === 'stale')].name,
    },
  };
}

/** The names of two APIs for people: of their profiles, else of their hosts. */
export function nameApis(first: Job, second: Job): readonly [string, string] {
  const names = [first, second].map(
    ({ profile, endpoint }) => profile?.name ?? new URL(endpoint.origin).host,
  );
  const [one = '', other = ''] = names;
  if (one !== other) return [one, other];
  return [first.endpoint, second.endpoint].map(({ origin }) => `${one} at ${origin}`) as [
    string,
    string,
  ];
}

/** What one pass of lookups has of its own. */
export type Pass = Pick<
  LookUpAllOptions,
  'job' | 'store' | 'plan' | 'isFresh' | 'onEvent' | 'instruments' | 'report'
>;

/** Looks up what is due at one API. */
type LookUpPass = (pass: Pass) => Promise<LookupTotals>;

/** Ends of the first API that say nothing about the second. */
const GOES_ON: ReadonlySet<StopReason> = new Set([
  'max_calls',
  'max_calls_per',
  'max_cost',
  'quota',
  'outage',
]);

/** A planned run, as far as its passes need it. */
interface RunAtBoth {
  readonly job: Job;
  readonly context: RunContext;
  readonly plan: Plan;
  readonly index: RowIndex;
  readonly apis: TwoApis;
  readonly startedAtMs: number;
}

/**
 * Asks the first API what is due there, and then the second what the first does not know, from this
 * night or earlier ones. Each in a pass of its own, with its own pace, budget and entries in the
 * store; so a run that is killed in either finds what was stored, and pays for nothing twice.
 *
 * @param isLeftOut domains that are not looked up now
 */
export async function lookUpAtBoth(
  run: RunAtBoth,
  isLeftOut: (domain: string) => boolean,
  lookUp: LookUpPass,
): Promise<LookupTotals> {
  const { job, plan, apis, context } = run;
  const { first, second } = apis;
  const { lookups: waiting = 0, rows: waitingRows = 0 } = plan.second ?? {};
  let last: Progress | undefined;
  const one = await lookUp({
    job,
    ...observed(first, context, (progress) => {
      last = { ...withName(progress, first), lookups: progress.lookups + waiting };
      return last;
    }),
    store: first.store,
    // At this API they are fresh.
    plan: { ...plan, freshRows: plan.freshRows + waitingRows },
    isFresh: (domain) => isLeftOut(domain) || apis.dueAt(domain) !== 'first',
  });
  const totals = { ...one, stopped: one.stopped && named(one.stopped, first) };
  const passedOn = await findPassedOn(run, isLeftOut);
  const goesOn = totals.stopped === undefined || GOES_ON.has(totals.stopped.reason);
  if (!goesOn || passedOn.lookups === 0 || !job.second) return both(totals, nothingAsked(totals));
  const message = `${second.name} is asked about ${countOf(passedOn.lookups, 'domain')} that ${first.name} does not have.`;
  context.onEvent({ type: 'notice', message, level: 'info' });
  const other = await lookUp({
    job: job.second,
    ...observed(second, context, (progress) => follow(withName(progress, second), last, passedOn)),
    ...(context.report && { report: laterIn(context.report, totals.elapsedMs) }),
    store: second.store,
    plan: { rows: passedOn.rows, invalidRows: 0, freshRows: 0, lookups: passedOn.lookups },
    isFresh: (domain) => isLeftOut(domain) || apis.dueAt(domain) !== 'second',
  });
  return both(totals, { ...other, stopped: other.stopped && named(other.stopped, second) });
}

/** What the second API is to be asked. */
interface PassedOn {
  readonly lookups: number;
  readonly rows: number;
  /** These rows by where progress has counted them so far. */
  readonly counted: Readonly<Partial<Record<keyof RowProgress, number>>>;
}

async function findPassedOn(
  { index, apis, startedAtMs }: RunAtBoth,
  isLeftOut: (domain: string) => boolean,
): Promise<PassedOn> {
  const distinct = createHashTable();
  const counted: Partial<Record<keyof RowProgress, number>> = {};
  let rows = 0;
  for await (const batch of index.read()) {
    for (const { kind, text: domain } of batch) {
      if (kind !== 'due' || isLeftOut(domain) || apis.dueAt(domain) !== 'second') continue;
      distinct.add(domain);
      rows += 1;
      const head = apis.first.store.findHead(domain);
      const as = head && head.fetchedAtMs >= startedAtMs ? head.status : 'fresh';
      counted[as] = (counted[as] ?? 0) + 1;
    }
  }
  return { lookups: distinct.size, rows, counted };
}

/** What a pass reports, under the name of its API. */
function observed(
  api: ApiOfRun,
  { onEvent, instruments }: RunContext,
  seen: (progress: Progress) => Progress,
): Pick<Pass, 'onEvent' | 'instruments'> {
  return {
    onEvent: (event: RunEvent) => {
      if (event.type === 'progress') return onEvent({ type: 'progress', ...seen(event) });
      if (event.type !== 'stopping') return onEvent(event);
      onEvent({ ...event, stop: named(event.stop, api) });
    },
    instruments: instruments && measuredAs(api.name, instruments),
  };
}

function measuredAs(api: string, instruments: RunInstruments): RunInstruments {
  return { ...instruments, worker: (sight) => instruments.worker({ ...sight, api }) };
}

/** A report whose time goes on where the first pass ended. */
function laterIn(
  { recorder }: NonNullable<Pass['report']>,
  afterMs: number,
): NonNullable<Pass['report']> {
  return { recorder: { answered: (call, atMs) => recorder.answered(call, atMs + afterMs) } };
}

function withName({ bill, ...progress }: Progress, { name }: ApiOfRun): Progress {
  const { done, calls } = progress;
  return { ...progress, apis: [{ name, done, calls, bill }] };
}

/** Progress at the second API, which goes on where that at the first ended. */
function follow(
  progress: Progress,
  first: Progress | undefined,
  { lookups, counted }: PassedOn,
): Progress {
  if (!first) return progress;
  const { outcomes, rows, apis = [] } = progress;
  return {
    ...progress,
    lookups: first.done + lookups,
    done: first.done + progress.done,
    outcomes: addOutcomes(first.outcomes, outcomes),
    ...(first.rows && rows && { rows: addRows(without(counted, first.rows), rows) }),
    calls: first.calls + progress.calls,
    retries: first.retries + progress.retries,
    throttled: first.throttled + progress.throttled,
    apis: [...(first.apis ?? []), ...apis],
    elapsedMs: first.elapsedMs + progress.elapsedMs,
  };
}

function addRows(one: RowProgress, { total: _, invalid: __, ...other }: RowProgress): RowProgress {
  return {
    ...one,
    ...addOutcomes(one, other),
    fresh: one.fresh + other.fresh,
    skipped: one.skipped + other.skipped,
  };
}

/** Rows without those that are asked about once more. */
function without(counted: PassedOn['counted'], rows: RowProgress): RowProgress {
  const left = { ...rows };
  for (const [name, count = 0] of Object.entries(counted)) {
    const key = name as keyof RowProgress;
    // What another run has asked meanwhile counts as fresh, whatever it came to.
    const here = Math.min(count, left[key]);
    left[key] -= here;
    left.fresh -= Math.min(count - here, left.fresh);
  }
  return left;
}

function named(stop: Stop, { name, isSecond }: ApiOfRun): Stop {
  return { ...stop, api: name, ...(isSecond && { isSecond }) };
}

function both(first: LookupTotals, second: LookupTotals): LookupTotals {
  const { pendingUntilMs: one, pace, callsPer, stopped } = first;
  const { pendingUntilMs: other } = second;
  const pendingUntilMs = one && other ? Math.max(one, other) : (one ?? other);
  const sums = { ...addTotals(first, second), billedMicros: 0 };
  return {
    ...sums,
    pace,
    callsPer,
    pendingUntilMs,
    stopped: stopped ?? second.stopped,
    apis: [first, second],
  };
}

/** The totals of an API that was asked nothing. */
function nothingAsked(of: LookupTotals): LookupTotals {
  return {
    ...of,
    calls: 0,
    retries: 0,
    throttled: 0,
    billedMicros: 0,
    lookups: 0,
    elapsedMs: 0,
    stopped: undefined,
    pace: undefined,
    callsPer: undefined,
    pendingUntilMs: undefined,
  };
}
