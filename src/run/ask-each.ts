import { type CallCounters, createCallCounters } from '../calls/call-counters.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import type { RunView, SourceView } from '../watch/run-view.ts';
import { createStatusCounts, sumOf } from '../watch/run-view.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { forgetSpent, isInterrupted, isNamed } from './bounds.ts';
import { type LookupTotals, lookUpAll } from './lookups/look-up-all.ts';
import { type ApiOfRun, type PlannedRun, planAt } from './plan.ts';
import { withinLimits } from './process-limits.ts';

/**
 * Asks several APIs, one after the other, each about what those before do not know. To each it is a run of its own,
 * with its queue, pace and bounds; to whoever watches, all are one.
 *
 * ```text
 *   first: lookups ──▶ second: those of its rows that are due there ──▶ third …
 *     └─ stopped by its key, its quota, an outage, a bound ──▶ the others go on
 *     └─ the run is interrupted, or its store fails ──▶ no other is asked
 * ```
 */
export async function askEach(run: PlannedRun): Promise<LookupTotals> {
  const { apis, context } = run;
  const made: LookupTotals[] = [];
  const sum = createSum(run);
  if (!isNamed(run)) for (const api of apis) await forgetSpent({ ...run, ...api }, undefined);
  const limited = withinLimits(run.job, context).settings.concurrency;
  for (const [at, api] of apis.entries()) {
    const own = await planAt(run, at);
    const settings = { ...own.job.settings, concurrency: limited };
    const onEvent = (event: RunEvent): void => {
      const seen = sum.toEventOfRun(event, at);
      if (seen) context.onEvent(seen);
    };
    const totals = await lookUpAll({
      ...own,
      job: { ...own.job, settings },
      context: { ...context, onEvent },
    });
    const stopped = totals.stopped && { ...totals.stopped, source: api.name };
    made.push({ ...totals, stopped });
    sum.end(at, totals);
    if (isInterrupted(stopped) || context.signal.aborted) break;
  }
  const sources = sum.read().sources ?? [];
  context.onEvent({ type: 'progress', ...sum.atEnd(made) });
  const stops = apis.map((_, at) => (made[at] ?? made.at(-1))?.stopped);
  const pending = made.flatMap(({ pendingUntilMs }) => pendingUntilMs ?? []);
  return {
    ...made.reduce(addCounters, createCallCounters()),
    lookups: sumBy(made, ({ lookups }) => lookups),
    elapsedMs: sumBy(made, ({ elapsedMs }) => elapsedMs),
    stopped: stops.find(isInterrupted) ?? stops.find((stop) => stop !== undefined),
    stops,
    limit: undefined,
    foundOut: made.flatMap(({ foundOut }, at) =>
      foundOut.map((one) => ({ ...one, source: apis[at]?.name })),
    ),
    callsPer: undefined,
    pendingUntilMs: pending.length === 0 ? undefined : Math.max(...pending),
    sources: sources.map((source, at) => withEnd(source, made[at])),
  };
}

function withEnd(source: SourceView, totals: LookupTotals | undefined): SourceView {
  const { limit, callsPer, stopped } = totals ?? {};
  return { ...source, limit, callsPer, stopped };
}

function sumBy<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}

function addCounters(sum: CallCounters, one: CallCounters): CallCounters {
  const names = Object.keys(sum) as (keyof CallCounters)[];
  return Object.fromEntries(names.map((name) => [name, sum[name] + one[name]])) as never;
}

/** What is seen of all APIs together, made of what each tells of itself. */
function createSum({ apis, plan }: PlannedRun) {
  const latest: Progress[] = [];
  const limits: RunView['limit'][] = [];

  /** Whether nobody is asked further about a domain after this outcome. */
  const isLast = ({ next }: ApiOfRun, at: number, status: string): boolean =>
    at === apis.length - 1 || !(next as ReadonlySet<string>).has(status);

  function statuses(): Progress['statuses'] {
    const { invalidRows: invalid, freshRows: fresh } = plan;
    const sums = { ...createStatusCounts(), invalid, fresh };
    for (const [at, { statuses }] of latest.entries()) {
      const api = apis[at];
      for (const status of ['found', 'not_found', 'rejected', 'failed', 'pending'] as const) {
        if (api && isLast(api, at, status)) sums[status] += statuses[status];
      }
    }
    return sums;
  }

  function read(): Progress {
    const now = latest.at(-1);
    const before = latest.slice(0, -1);
    const all = (of: (one: Progress) => number): number => sumBy(latest, of);
    const costs = latest.map(({ cost }) => cost);
    const [{ currency } = { currency: undefined }] = latest;
    const isSummed =
      costs.some((cost) => cost !== undefined) && latest.every((one) => one.currency === currency);
    const outcomes = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
    for (const one of latest) {
      for (const status of Object.keys(outcomes) as (keyof typeof outcomes)[]) {
        outcomes[status] += one.outcomes[status];
      }
    }
    return {
      due: sumBy(before, ({ lookups }) => lookups) + (now?.due ?? 0),
      lookups: all(({ lookups }) => lookups),
      outcomes,
      statuses: statuses(),
      calls: all(({ calls }) => calls),
      retries: all(({ retries }) => retries),
      throttled: all(({ throttled }) => throttled),
      lookupMs: all(({ lookupMs }) => lookupMs),
      pendingNow: all(({ pendingNow }) => pendingNow),
      cost: isSummed ? sumBy(costs, (cost) => cost ?? 0) : undefined,
      currency,
      pace: now?.pace,
      stall: now?.stall,
      pendingWaitMs: now?.pendingWaitMs,
      sources: apis.map(({ name, job }, at): SourceView => {
        const {
          due = 0,
          lookups = 0,
          calls = 0,
          outcomes,
          bill,
          cost,
          currency,
        } = latest[at] ?? {};
        const { baseUrl: api = '' } = job.settings;
        const found = outcomes?.found ?? 0;
        return { name, api, due, lookups, found, calls, bill, cost, currency, limit: limits[at] };
      }),
    };
  }

  return {
    read,
    /** What an event of one API is to those who watch the run. */
    toEventOfRun: (event: RunEvent, at: number): RunEvent | undefined => {
      const name = apis[at]?.name ?? '';
      if (event.type === 'notice') return { ...event, message: `${name}: ${event.message}` };
      if (event.type === 'stopping') {
        const stop: Stop = { ...event.stop, source: name };
        return { type: 'stopping', stop, goesOn: !isInterrupted(stop) && at < apis.length - 1 };
      }
      if (event.type !== 'progress') return event;
      latest[at] = event;
      limits[at] = event.pace?.limit;
      return { type: 'progress', ...read() };
    },
    end: (at: number, { lookups, stopped }: LookupTotals): void => {
      const last = latest[at];
      if (last) latest[at] = { ...last, lookups, pendingNow: 0, due: stopped ? last.due : lookups };
    },
    /** How far all are when no more is asked: rows that are left were not asked, or were known. */
    atEnd: (made: readonly LookupTotals[]): Progress => {
      const ended = read();
      const left = Math.max(0, plan.rows - sumOf(ended.statuses));
      const isStopped = made.some(({ stopped }) => stopped !== undefined);
      const { fresh = 0, skipped } = ended.statuses;
      const rest = isStopped ? { skipped: skipped + left } : { fresh: fresh + left };
      return { ...ended, statuses: { ...ended.statuses, ...rest } };
    },
  };
}
