import { createOutcomeCounts, OUTCOME_STATUSES } from '../../calls/outcome.ts';
import { billOf, costOf, MICROS } from '../../common/format.ts';
import { PROGRESS_MS, type Progress } from '../../watch/events.ts';
import {
  createStatusCounts,
  type SourceView,
  type StatusCounts,
  sumOf,
} from '../../watch/run-view.ts';
import type { ApiOfRun } from '../apis.ts';
import type { OpenedList } from '../open.ts';
import type { PlannedList } from '../plan.ts';
import type { LookupSession } from './session.ts';

/**
 * Reports how far the lookups of a run are, a few times a second until it is closed.
 *
 * @param sessions of the APIs that were asked so far; the last one is being asked
 */
export function startReportingProgress(
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
        : { ...sumPrices(prices), sources: apis.map((api, at) => viewOf(api, sessions[at])) }),
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
function viewOf({ name, job }: ApiOfRun, session: LookupSession | undefined): SourceView {
  const view = { name, api: job.settings.baseUrl ?? '', due: 0, lookups: 0, found: 0, calls: 0 };
  if (!session) return view;
  const { due, done, outcomes, counters, limit, callsPer, stopped } = session;
  const { found } = outcomes;
  const { calls } = counters;
  const seen = { due, lookups: done, found, calls, limit, callsPer, stopped };
  return { ...view, ...seen, ...priceOf(session) };
}
