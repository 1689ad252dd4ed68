import { sentenceOn } from '../brand/network-error.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import { exitCodeOfError } from '../common/errors.ts';
import { costOf, round, roundOrNull } from '../common/format.ts';
import { redactDeep } from '../common/secrets.ts';
import { shortenTo } from '../common/text.ts';
import type { Declaration } from '../options/declaration.ts';
import { flagOf, OPTIONS, type Settings } from '../options/options.ts';
import {
  describeGoingOn,
  describeNothing,
  describePruned,
  describeStop,
} from '../watch/describe.ts';
import { AGAIN, findReason, RETRIED } from '../watch/reasons.ts';
import {
  createStatusCounts,
  exitCodeOf,
  type StatusCounts,
  type Summary,
} from '../watch/summary.ts';
import type { Latencies, Span, Timeline } from '../watch/timeline.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { Recording } from './run-recorder.ts';
import type { RunReport } from './run-report.ts';

/** A run that is over. */
export interface ReportedRun {
  readonly recording: Recording;
  readonly settings: Settings;
  /** What the run is called in logs. */
  readonly runId: string;
  /** The name of the list where no event has named it. */
  readonly input: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Missing when there is an error. */
  readonly summary?: Summary | undefined;
  /** The error that ended the run after the first call. */
  readonly error?: { readonly thrown: unknown; readonly message: string } | undefined;
  /** The version of Brandfill. */
  readonly version: string;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
}

const TEXT_LENGTH = 500;
const MOST_COLUMNS = 500;

/** Assembles a report. Its size is bounded, however long the run. */
export function createRunReport(run: ReportedRun): RunReport {
  const report: RunReport = {
    version: 1,
    brandfill: run.version,
    ...describeRun(run),
    ...describeCalls(run),
    cost: describeCost(run),
    bill: describeBill(run),
    apis: describeApis(run),
    ...describeRows(run),
    files: describeFiles(run),
    settings: [...showSettings(run.settings)],
  };
  return redactDeep(report, run.redact);
}

function describeRun(run: ReportedRun): Pick<RunReport, 'run' | 'rows' | 'domains' | 'lookups'> {
  const { recording, summary, error, startedAt, finishedAt } = run;
  const { opened, plan, progress, notices } = recording;
  const statuses = summary?.statuses ?? recording.rows?.statuses ?? createStatusCounts();
  const total = summary?.rows ?? plan?.rows ?? 0;
  const stopped = summary?.stopped;
  const comeBackAtMs = stopped?.comeBackAtMs;
  const message = error && shortenTo(error.message, TEXT_LENGTH);
  return {
    run: {
      id: run.runId,
      input: shortenTo(opened?.input ?? run.input, TEXT_LENGTH),
      format: opened?.format ?? '',
      domainColumn: opened ? shortenTo(opened.column.name, TEXT_LENGTH) : null,
      startedAt: startedAt.toISOString(),
      finishedAt: finishedAt.toISOString(),
      elapsedMs: round(summary?.elapsedMs ?? finishedAt.getTime() - startedAt.getTime(), 1),
      lookupMs: round(summary?.lookupMs ?? progress?.elapsedMs ?? 0, 1),
      exitCode: summary ? exitCodeOf(summary) : exitCodeOfError(error?.thrown),
      ...judge({ rows: total, statuses, calls: summary?.calls ?? 0, stopped, error: message }),
      stopReason: stopped?.reason ?? null,
      comeBackAt: comeBackAtMs === undefined ? null : new Date(comeBackAtMs).toISOString(),
      error: message ?? null,
      notices: [...notices],
    },
    rows: {
      total,
      statuses: { ...statuses },
      areWritten: summary?.out !== undefined,
      ragged: plan?.raggedRows ?? 0,
      blankLines: plan?.blankLines ?? 0,
    },
    domains: {
      unique: summary?.uniqueDomains ?? plan?.uniqueDomains ?? 0,
      fresh: summary?.freshDomains ?? plan?.freshDomains ?? 0,
      due: plan?.lookups ?? 0,
      lookedUp: summary?.lookups ?? progress?.done ?? 0,
    },
    lookups: {
      ...(progress?.outcomes ?? { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 }),
    },
  };
}

function describeBill({ recording, summary, settings }: ReportedRun): RunReport['bill'] {
  const bill = summary?.bill ?? recording.progress?.bill;
  if (!bill) return null;
  const { price = null } = settings;
  const total = price === null ? null : (summary?.cost ?? null);
  return { ...bill, most: recording.plan?.bill?.units ?? null, price, total };
}

function describeApis({ recording, summary, settings }: ReportedRun): RunReport['apis'] {
  const { plan } = recording;
  const planned = [plan, plan?.second];
  const prices = [settings.price, settings.thenPrice];
  return (summary?.apis ?? []).map(
    ({ name, found, lookups, calls, throttled, bill, cost = null, stopped }, at) => {
      const most = planned[at]?.bill?.units ?? null;
      const price = prices[at] ?? null;
      const total = price === null ? null : cost;
      return {
        name,
        found,
        lookups,
        calls,
        throttled,
        bill: bill ? { units: bill.units, unit: bill.unit, most, price, total } : null,
        cost,
        stopReason: stopped?.reason ?? null,
      };
    },
  );
}

function describeCost({ recording, summary, settings }: ReportedRun): RunReport['cost'] {
  const { price } = settings;
  if (price === undefined || summary?.bill || recording.plan?.second) return null;
  const { calls = 0, throttled = 0 } = summary ?? recording.progress ?? {};
  const paid = calls - throttled;
  const planned = recording.plan?.cost ?? null;
  return { perCall: price, calls: paid, total: costOf(paid, price), planned };
}

function describeRows({
  recording: { rows },
  summary,
}: ReportedRun): Pick<
  RunReport,
  'reasons' | 'otherReasonRows' | 'columns' | 'filled' | 'mostRetried'
> {
  const { reasons, fills, mostRetried } = rows ?? {};
  return {
    reasons: (reasons?.reasons ?? []).map(({ status, reason, httpStatus, rows, examples }) => ({
      status,
      reason,
      httpStatus: httpStatus ?? null,
      rows,
      advice: adviseOn({ status, reason, httpStatus }),
      examples,
    })),
    otherReasonRows: reasons?.otherRows ?? 0,
    columns: (fills?.columns ?? []).slice(0, MOST_COLUMNS).map((column) => ({
      name: shortenTo(column.name, NAME_LENGTH),
      rows: column.rows,
    })),
    filled: Object.entries(summary?.filled ?? {}).map(([name, cells]) => ({
      name: shortenTo(name, NAME_LENGTH),
      rows: cells,
    })),
    mostRetried: (mostRetried?.entries ?? []).map(
      ({ domain, attempts, status, reason, number }) => ({
        domain: shortenTo(domain, TEXT_LENGTH),
        attempts,
        status,
        reason: shortenTo(reason, NAME_LENGTH),
        row: number,
      }),
    ),
  };
}

const NAME_LENGTH = 200;

function describeFiles({ summary, settings }: ReportedRun): RunReport['files'] {
  const { changes, logos } = summary ?? {};
  return {
    out: summary?.out ?? null,
    failures: summary?.failures ?? null,
    failuresSheet: summary?.failuresSheet ?? null,
    changes: changes ? { file: changes.file, new: changes.new, changed: changes.changed } : null,
    logos: logos
      ? { folder: logos.folder, saved: logos.saved, kept: logos.kept, missing: logos.missing }
      : null,
    store: summary?.store.folder ?? settings.store,
    storeBytes: summary?.store.sizeBytes ?? null,
  };
}

/** The facts of a reason that advice depends on. */
interface AskedReason {
  readonly status: RowStatus;
  readonly reason: string;
  readonly httpStatus: number | undefined;
}

/** Explains a reason, and what to do about it, in a sentence or two. */
function adviseOn({ status, reason, httpStatus }: AskedReason): string {
  if (status === 'stale') {
    return `${adviseOn({ status: 'failed', reason, httpStatus })} These rows keep an older answer.`;
  }
  const own = findReason(reason);
  if (own) return own.advice;
  const ofNetwork = status === 'failed' ? sentenceOn(reason) : undefined;
  if (ofNetwork !== undefined) return `${ofNetwork} ${RETRIED}`;
  if (status === 'skipped') return AGAIN;
  if (status === 'failed') return adviseOnFailure(reason, httpStatus);
  return OF_STATUS[status];
}

function adviseOnFailure(reason: string, httpStatus: number | undefined): string {
  if (reason.startsWith('proxy_'))
    return `No call got through the proxy. Check it, and HTTP_PROXY or HTTPS_PROXY. ${RETRIED}`;
  return httpStatus !== undefined && httpStatus >= 500
    ? `The API had a fault of its own each time. ${RETRIED}`
    : `No usable answer came. ${RETRIED}`;
}

const OF_STATUS: Readonly<Record<Exclude<RowStatus, 'failed' | 'skipped' | 'stale'>, string>> = {
  found: '',
  not_found: 'The API does not know these domains. They are asked again after --fresh-not-found.',
  rejected:
    'The API refused these domains, with these words. They are asked again after --fresh-rejected.',
  pending:
    'The API has accepted these lookups and had no answer ready in time. The next run asks again at once; --max-pending waits longer.',
  invalid: 'There is no domain in the cell. Correct it in the list, or leave it.',
};

export interface CallsOfRun {
  readonly recording: Recording;
  /** Missing when the run ended with an error. */
  readonly summary?: Summary | undefined;
}

const DOMAIN_LENGTH = 500;

/** Describes the calls of a run for its report: their number, their answers, their latency. */
function describeCalls({
  recording,
  summary,
}: CallsOfRun): Pick<RunReport, 'calls' | 'latency' | 'timeline' | 'pace' | 'slowest'> {
  const { progress, answers, latencies, slowest, timeline } = recording;
  const { calls = 0, retries = 0, throttled = 0 } = summary ?? progress ?? {};
  const seconds = (progress?.elapsedMs ?? 0) / 1_000;
  const figures = latencies.describe();
  const pace = summary?.pace;
  return {
    calls: {
      total: calls,
      retries,
      throttled,
      perSecond: round(summary?.callsPerSecond ?? (seconds > 0 ? calls / seconds : 0), 2),
      measured: figures?.calls ?? 0,
      answers: [...answers]
        .sort(([, one], [, other]) => other - one)
        .map(([answer, count]) => ({ answer, calls: count })),
    },
    latency: describeLatency(latencies),
    timeline: describeTimeline(timeline),
    pace: pace
      ? {
          limitIs: pace.limitIs,
          limitPerSecond: roundOrNull(pace.limitPerSecond, 2),
          mostAtOnce: pace.mostAtOnce ?? null,
          throttledShare: round(pace.throttledShare, 6),
          waitedMs: {
            told: round(pace.waitedMs.told, 1),
            backingOff: round(pace.waitedMs.backingOff, 1),
            outage: round(pace.waitedMs.outage, 1),
            retryBudget: round(pace.waitedMs.retryBudget, 1),
          },
        }
      : null,
    slowest: slowest.entries.map(({ domain, latencyMs, answer }) => ({
      domain: shortenTo(domain, DOMAIN_LENGTH),
      latencyMs: round(latencyMs, 1),
      answer,
    })),
  };
}

function describeLatency(latencies: Latencies): RunReport['latency'] {
  const figures = latencies.describe();
  if (!figures) return null;
  const { meanMs, p50Ms, p90Ms, p95Ms, p99Ms, maxMs } = figures;
  return {
    meanMs: round(meanMs, 1),
    p50Ms: round(p50Ms, 1),
    p90Ms: round(p90Ms, 1),
    p95Ms: round(p95Ms, 1),
    p99Ms: round(p99Ms, 1),
    maxMs: round(maxMs, 1),
  };
}

function describeTimeline({ spanMs, spans, endMs }: Timeline): RunReport['timeline'] {
  return {
    spanMs,
    spans: spans.map((span, at) => {
      const atMs = at * spanMs;
      return describeSpan(span, atMs, Math.max(1, Math.min(spanMs, endMs - atMs)));
    }),
  };
}

function describeSpan(
  span: Span,
  atMs: number,
  lastsMs: number,
): RunReport['timeline']['spans'][number] {
  const perSecond = (amount: number): number => round((amount / lastsMs) * 1_000, 2);
  const figures = span.latencies?.describe();
  return {
    atMs,
    callsPerSecond: perSecond(span.calls),
    lookupsPerSecond: perSecond(span.lookups),
    throttledPerSecond: perSecond(span.throttled),
    retriesPerSecond: perSecond(span.retries),
    limitPerSecond: roundOrNull(span.limitPerSecond, 2),
    p50Ms: roundOrNull(figures?.p50Ms, 1),
    p95Ms: roundOrNull(figures?.p95Ms, 1),
    p99Ms: roundOrNull(figures?.p99Ms, 1),
    toldMs: round(span.toldMs, 0),
    backingOffMs: round(span.backingOffMs, 0),
    outageMs: round(span.outageMs, 0),
    pausedMs: round(span.pausedMs, 0),
  };
}

/** A setting of a run, for people. */
export interface ShownSetting {
  /** As on the command line. */
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

const VALUE_LENGTH = 500;

/**
 * The settings of a run without secrets: parameters and headers by name only, URLs without a login.
 */
export function showSettings(settings: Settings): readonly ShownSetting[] {
  return Object.entries<Declaration>(OPTIONS).flatMap(([key, { kind, default: standard }]) => {
    const given: unknown = settings[key as keyof Settings];
    if (given === undefined) return [];
    const value = kind.show(given);
    const isDefault = standard !== undefined && kind.show(kind.parse(standard)) === value;
    return [{ name: flagOf(key), value: shortenTo(value, VALUE_LENGTH), isDefault }];
  });
}

/** The facts of a run's end that decide what the report says about it. */
export interface RunEnd {
  readonly rows: number;
  readonly statuses: Readonly<StatusCounts>;
  readonly calls: number;
  readonly stopped: Stop | undefined;
  /** What went wrong, for people; undefined when the rows were written. */
  readonly error: string | undefined;
}

/** The first sentences of a report. */
export interface Verdict {
  readonly end: 'done' | 'some_failed' | 'nothing_found' | 'stopped' | 'interrupted' | 'error';
  /** How it went, in a sentence. */
  readonly headline: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly next: string;
}

/** Says in a sentence whether the run worked, and what to do. */
function judge(run: RunEnd): Verdict {
  const { stopped, error, statuses } = run;
  if (error !== undefined) {
    return {
      end: 'error',
      headline: 'It ended with an error before the rows were written.',
      next: `${error} What was found is kept: run the same command again to go on.`,
    };
  }
  if (stopped) return judgeStopped(run, stopped);
  if (statuses.failed + statuses.stale > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}${failed(statuses)}.`,
      next: 'Run the same command again: it tries those that failed, and asks nothing else that is fresh.',
    };
  }
  if (statuses.pending > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}, ${rows(statuses.pending)} pending.`,
      next: 'Run the same command again: it asks at once about those that are pending, and about nothing else that is fresh.',
    };
  }
  if (statuses.skipped > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}, ${rows(statuses.skipped)} skipped.`,
      next: `${describePruned(statuses.skipped)} Run the same command again.`,
    };
  }
  const nothing = describeNothing(run);
  if (nothing !== undefined) {
    return {
      end: 'nothing_found',
      headline: `Done, but nothing was found: ${enriched(run)}.`,
      next: nothing,
    };
  }
  return { end: 'done', headline: `Done: ${enriched(run)}.`, next: '' };
}

function judgeStopped(run: RunEnd, stopped: Stop): Verdict {
  const { skipped: left, stale } = run.statuses;
  const skipped =
    (left === 0 ? '' : `; ${rows(left)} not asked`) + (stale === 0 ? '' : `; ${kept(stale)}`);
  const again = describeGoingOn(stopped);
  if (stopped.reason === 'interrupted') {
    return {
      end: 'interrupted',
      headline: `Interrupted: ${enriched(run)}${skipped}.`,
      next: again,
    };
  }
  const why = describeStop(stopped).replace(' No further call is made.', '');
  return {
    end: 'stopped',
    headline: `Stopped early: ${enriched(run)}${skipped}.`,
    next: `${why} ${again}`,
  };
}

/** `all 22 rows enriched`, `15 of 22 rows enriched`. */
function enriched({ rows: total, statuses }: RunEnd): string {
  if (total === 0) return 'the list has no rows';
  if (statuses.found === total)
    return total === 1 ? 'the row was enriched' : `all ${rows(total)} enriched`;
  return `${statuses.found.toLocaleString('en-US')} of ${rows(total)} enriched`;
}

/** `, 2 rows failed, 3 rows keep an older answer`. */
function failed({ failed, stale }: RunEnd['statuses']): string {
  return (failed === 0 ? '' : `, ${rows(failed)} failed`) + (stale === 0 ? '' : `, ${kept(stale)}`);
}

function kept(stale: number): string {
  return `${rows(stale)} ${stale === 1 ? 'keeps' : 'keep'} an older answer`;
}

function rows(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'row' : 'rows'}`;
}
