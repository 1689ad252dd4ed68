import { readdirSync, readFileSync } from 'node:fs';
import { createOutcomeCounts, OUTCOME_STATUSES } from '../calls/outcome.ts';
import { isDueAt } from '../collector/asked-apis.ts';
import type { Plan } from '../collector/first-reading.ts';
import { type Order, readOrder } from '../collector/produce.ts';
import { viewOf } from '../collector/row-index.ts';
import { refusal } from '../common/errors.ts';
import { billOf, costOf, MICROS } from '../common/format.ts';
import { unlessAborted } from '../common/lifetime.ts';
import type { Job } from '../profile/job.ts';
import { PROGRESS_MS, type Progress } from '../watch/events.ts';
import {
  createStatusCounts,
  type SourceView,
  type StatusCounts,
  sumOf,
} from '../watch/run-view.ts';
import {
  callsTaken,
  forgetSpent,
  isInterrupted,
  isNamed,
  openLedgers,
  readLeft,
} from './bounds.ts';
import type { LogosOfRun } from './logos/logos.ts';
import type { Asking } from './lookups/ask-api.ts';
import { LookupSession } from './lookups/session.ts';
import type { ApiOfRun, OpenedList } from './open.ts';
import { type PlannedList, readLeftOfAll } from './plan.ts';
import { notify, type RunContext } from './run-context.ts';

/** What the lookups of a run came to. */
export type LookedUp = Awaited<ReturnType<typeof makeLookups>>;

/** With a wrong address there is no output either. */
const NO_LOGOS = { saved: 0, kept: 0, missing: 0, reasons: {} };

/**
 * Makes the lookups that are due, and fetches logos.
 *
 * @param outFolder the folder of the output, for paths that are relative to it
 * @throws the signal's reason when it fires before the first call
 */
export async function makeLookups(list: OpenedList, planned: PlannedList, outFolder = '.') {
  await confirmCalls(list, planned);
  assertCallsArePossible(planned.plan);
  const logos = await openLogos(list, planned, outFolder);
  const lookedUp = await askAll(list, planned);
  throwIfNothingAsked(list, lookedUp);
  if (!logos) return { ...lookedUp, logos: undefined };
  const { totals } = lookedUp;
  const saved =
    totals.stopped?.reason === 'misdirected'
      ? { folder: list.job.settings.logos ?? '', ...NO_LOGOS }
      : await logos.save();
  const interrupted = list.context.signal.aborted
    ? ({ reason: 'interrupted' } as const)
    : undefined;
  return {
    ...lookedUp,
    totals: { ...totals, stopped: totals.stopped ?? interrupted },
    logos: { columns: logos.columns, logos: saved },
  };
}

/**
 * Asks each API in turn, about what those before do not know. Each has a session of its own, with
 * its queue, pace and bounds, in which only the rows are due that are due there.
 *
 * ```text
 *   first: session ──▶ second: those of its rows that are due there ──▶ third …
 *     └─ stopped by its key, its quota, an outage, a bound ──▶ the others go on
 *     └─ the run is interrupted, or its store fails ──▶ no other is asked
 * ```
 */
async function askAll(list: OpenedList, planned: PlannedList) {
  const { job, context } = list;
  const { apis, plan, domains } = planned;
  // Another one without a name is another run.
  if (!isNamed(list)) await forgetSpent(apis);
  const concurrency = callsAtOnce(job, context);
  const sessions: LookupSession[] = [];
  const progress = startReportingProgress(list, planned, sessions);
  try {
    for (const [at, api] of apis.entries()) {
      const index = plan.lookups === 0 ? NO_ROWS : indexAt(planned, at);
      const { store } = api;
      const order = await readOrder(index, (domain) => store.findHead(domain)?.fetchedAtMs ?? 0);
      const settings = { ...api.job.settings, concurrency, maxCalls: await boundOf(api, planned) };
      const bounded = { ...api, job: { ...api.job, settings } };
      const session = new LookupSession(bounded, order.lookups, { ...list, rowsOf: domains.of });
      sessions.push(session);
      await ask(session, { index, order, isRest: at > 0 });
      if (isInterrupted(session.stopped) || context.signal.aborted) break;
    }
    const ended = progress.reportEnd();
    const stops = apis.map((_, at) => (sessions[at] ?? sessions.at(-1))?.stopped);
    const pending = sessions.flatMap(({ parking }) => parking.comeBackAtMs ?? []);
    const [only] = apis.length === 1 ? sessions : [];
    /** What no event has said of them. */
    const totals = {
      stopped: stops.find(isInterrupted) ?? stops.find((stop) => stop !== undefined),
      limit: only?.limit,
      callsPer: only?.callsPer,
      pendingUntilMs: pending.length === 0 ? undefined : Math.max(...pending),
      foundOut: sessions.map(({ foundOut }) => foundOut),
    };
    return {
      totals,
      /** Why each API was not asked further, in their order. */
      stops,
      /** How far they were when no more was asked. */
      ended,
    };
  } finally {
    progress.close();
  }
}

const NO_ROWS: PlannedList['index'] = { read: async function* () {} };

/** The index as one of the APIs sees it, now that those before it have answered. */
function indexAt({ apis, index }: PlannedList, at: number): PlannedList['index'] {
  if (apis.length === 1) return index;
  return viewOf(index, (row) =>
    row.kind === 'due' && !isDueAt(apis, at, row.text) ? { ...row, kind: 'known' } : row,
  );
}

/** The most calls that an API may get, with what the bound over all of them leaves it. */
async function boundOf(api: ApiOfRun, { apis }: PlannedList): Promise<number | undefined> {
  const { maxCalls = Infinity } = api.job.settings;
  const most = Math.min(maxCalls, (await readLeftOfAll(apis)) + (await callsTaken(api)));
  return most === Infinity ? undefined : most;
}

interface Asked extends Pick<Asking, 'index' | 'isRest'> {
  readonly order: Order;
}

/** Makes the lookups of a session, if there are any. Returns when every outcome is on the disk. */
async function ask(session: LookupSession, { index, order, isRest }: Asked): Promise<void> {
  const { api, due, isShared } = session;
  const endListening = session.listen();
  try {
    const ledgers = openLedgers(api);
    if (due === 0 && !isShared) await session.countCalls(ledgers.callsPer);
    else {
      const left = await readLeft(api);
      const { size = 1 } = api.job.endpoint.profile?.batch ?? {};
      const passes = order.passes(Math.min(due, left.calls, left.callsPer) * size);
      const first = api.store.hasAnswers() ? [] : order.first;
      // Loaded here, so that a run without lookups need not wait for it.
      const { askApi } = await import('./lookups/ask-api.ts');
      await askApi(session, { index, first, passes, ledgers, isRest });
    }
    await session.unlessUnwritable(() => api.store.flush());
  } finally {
    endListening();
  }
}

// Parts that few runs need are loaded on demand.
async function openLogos(
  list: OpenedList,
  planned: PlannedList,
  outFolder: string,
): Promise<LogosOfRun | undefined> {
  const { logos: folder, logoField: field } = list.job.settings;
  if (folder === undefined || field === undefined) return undefined;
  const { openLogosOf } = await import('./logos/logos.ts');
  return await openLogosOf(list, planned, { folder, field, outFolder });
}

/**
 * @throws an `AbortError` when `confirm` returns false; the signal's reason when it fires before
 */
async function confirmCalls(
  { job, context }: OpenedList,
  { plan, apis: [{ store }] }: PlannedList,
): Promise<void> {
  const { yes = false } = job.settings;
  const { confirm, signal } = context;
  if (!yes && confirm && plan.calls > 0) {
    // A program without types may give what somebody typed, such as 'no'.
    await store.leaveTurn(); // whoever is asked may use the store
    const answer: unknown = await unlessAborted(confirm(plan), signal);
    await store.takeTurn();
    if (answer !== true) {
      throw new DOMException('Whoever was asked said no.', 'AbortError');
    }
  }
  signal.throwIfAborted();
}

/**
 * When a run is ended before its first call, while it is paused or has to wait, the outputs of the
 * last run are kept. A trial is excluded, because it reports itself why there is no answer. So is a
 * queue, where workers may have made calls that they could not report.
 *
 * @throws the signal's reason
 */
function throwIfNothingAsked(
  { job, context }: OpenedList,
  { totals, ended }: Pick<LookedUp, 'totals' | 'ended'>,
): void {
  if (context.isTrial || job.settings.queue !== undefined) return;
  if (totals.stopped?.reason === 'interrupted' && ended.calls === 0)
    context.signal.throwIfAborted();
}

/** Of what every JavaScript has, this much is used here. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => object;
};

/** Descriptors that are needed beside connections to the API: files, Redis, viewers, names. */
const RESERVED = 40;

/** No more calls at once than this process may have connections, which is said. */
function callsAtOnce({ settings }: Job, context: RunContext): number {
  const { concurrency } = settings;
  const most = mostConnections();
  if (most >= concurrency) return concurrency;
  const message = `This process may open few files and connections (ulimit -n): at most ${most} calls go out at once, not ${concurrency}.`;
  notify(context, message);
  return most;
}

/** Infinity where it is not known, outside of Linux. */
function mostConnections(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, most] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    if (most === undefined) return Infinity;
    return Math.max(1, Number(most) - readdirSync('/proc/self/fd').length - RESERVED);
  } catch {
    return Infinity;
  }
}

/**
 * The HTTP client is in part WebAssembly, whose memory is reserved in large pieces.
 *
 * @throws BrandfillError `INVALID_SETTING` where this process may not reserve so much
 */
function assertCallsArePossible({ lookups }: Pick<Plan, 'lookups'>): void {
  if (lookups === 0) return;
  try {
    Reflect.construct(WebAssembly.Memory, [{ initial: 1 }]);
  } catch (error) {
    throw refusal(
      'Cannot make calls: this process may reserve too little address space; raise that limit (ulimit -v unlimited), or bound its memory in another way.',
      error,
    );
  }
}

/**
 * Reports how far the lookups of a run are, a few times a second until it is closed.
 *
 * @param sessions of the APIs that were asked so far; the last one is being asked
 */
function startReportingProgress(
  { context, now }: Pick<OpenedList, 'context' | 'now'>,
  { plan, apis }: Pick<PlannedList, 'plan' | 'apis'>,
  sessions: readonly LookupSession[],
) {
  const startMs = performance.now();
  const sum = (of: (one: LookupSession) => number): number => sumBy(sessions, of);

  /** Rows by what counts for them, as far as nobody is asked further. */
  function statuses(): StatusCounts {
    const { invalidRows: invalid, freshRows: fresh } = plan;
    const rows = { ...createStatusCounts(), invalid, fresh };
    for (const [at, session] of sessions.entries()) {
      for (const status of OUTCOME_STATUSES) {
        const isLast = at === apis.length - 1 || !session.api.next.has(status);
        if (isLast) rows[status] += session.rows[status];
      }
    }
    return rows;
  }

  function read(): Progress {
    const current = sessions.at(-1);
    const before = sessions.slice(0, -1);
    const outcomes = createOutcomeCounts();
    for (const status of OUTCOME_STATUSES) outcomes[status] = sum((one) => one.outcomes[status]);
    const { parking, outstanding, parts } = current ?? {};
    const { count: pendingNow = 0, untilMs = 0 } = parking ?? {};
    const isAllPending = pendingNow > 0 && pendingNow === outstanding?.size;
    const prices = sessions.map(priceOf);
    return {
      due: current ? sumBy(before, ({ done }) => done) + current.due : plan.lookups,
      lookups: sum(({ done }) => done),
      outcomes,
      statuses: statuses(),
      calls: sum(({ counters }) => counters.calls),
      retries: sum(({ counters }) => counters.retries),
      throttled: sum(({ counters }) => counters.throttled),
      lookupMs: performance.now() - startMs,
      ...(apis.length === 1
        ? prices[0]
        : {
            ...sumPrices(prices),
            sources: apis.map((api, at) => sourceViewOf(api, sessions[at])),
          }),
      pace: current?.pace,
      stall: outstanding && outstanding.size > 0 ? parts?.stall?.() : undefined,
      pendingNow,
      pendingWaitMs: isAllPending ? untilMs - now() : undefined,
    };
  }

  function report(progress: Progress = read()): Progress {
    context.onEvent({ type: 'progress', ...progress });
    return progress;
  }

  const ticker = setInterval(() => report(), PROGRESS_MS);
  return {
    /** Reports how far they are once no more is asked, and returns that. */
    reportEnd: (): Progress => {
      const ended = read();
      // Outcomes that an earlier run had stored, and left on a queue, come twice.
      const left = Math.max(0, plan.rows - sumOf(ended.statuses));
      const isStopped = sessions.some(({ stopped }) => stopped !== undefined);
      const { fresh = 0 } = ended.statuses;
      const rest = isStopped ? { skipped: left } : { fresh: fresh + left };
      return report({ ...ended, statuses: { ...ended.statuses, ...rest } });
    },
    close: (): void => clearInterval(ticker),
  };
}

function sumBy<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}

type Price = Pick<Progress, 'cost' | 'currency' | 'bill'>;

/** What calls cost, and what was billed for them. */
function priceOf({ api, counters }: LookupSession): Price {
  const { settings, endpoint } = api.job;
  const { calls, throttled, unsent, billedMicros } = counters;
  const { billing } = endpoint.profile ?? {};
  const { amount: price, currency } = settings.price ?? {};
  const billed = billing ? billedMicros / MICROS : calls - throttled - unsent;
  const bill = billing && billOf(billedMicros, billing.unit);
  return { cost: price === undefined ? undefined : costOf(billed, price), currency, bill };
}

/** Undefined where nothing has a price, or not all are in one currency. */
function sumPrices(prices: readonly Price[]): Price {
  const [{ currency } = { currency: undefined }] = prices;
  const isSummed =
    prices.some(({ cost }) => cost !== undefined) &&
    prices.every((price) => price.currency === currency);
  return { cost: isSummed ? sumBy(prices, ({ cost = 0 }) => cost) : undefined, currency };
}

/** What one of several was asked so far. */
function sourceViewOf({ name, job }: ApiOfRun, session: LookupSession | undefined): SourceView {
  const view = { name, api: job.settings.baseUrl ?? '', due: 0, lookups: 0, found: 0, calls: 0 };
  if (!session) return view;
  const { due, done, outcomes, counters, limit, callsPer, stopped } = session;
  const { found } = outcomes;
  const { calls } = counters;
  const seen = { due, lookups: done, found, calls, limit, callsPer, stopped };
  return { ...view, ...seen, ...priceOf(session) };
}
