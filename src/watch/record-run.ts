import { hostname } from 'node:os';
import { createHistogram, type Histogram } from 'node:perf_hooks';
import type { CallCounters } from '../common/calls.ts';
import { billOf, round } from '../common/format.ts';
import type { RunControl } from '../common/run-control.ts';
import { shortenTo } from '../common/text.ts';
import { readVersion } from '../version.ts';
import type { Gate } from '../worker/gate.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { describeStop, judge } from './describe.ts';
import type { Progress, RunEvent } from './events.ts';
import { createRowRecorder, type RowLayout, type RowRecorder } from './row-reasons.ts';
import { type RunAction, type RunView, type Summary, VIEW_VERSION, type Wait } from './run-view.ts';
import { createRecentRate, createTimeLeft } from './time-left.ts';
import { createTimeline } from './timeline.ts';
import type { Naming } from './words.ts';

/** Makes the picture of a run from what happens in it. */
export interface RunRecorder {
  readonly onEvent: (event: RunEvent) => void;
  readonly answered: (call: AnsweredCall) => void;
  /** Must be called when the rows are about to be joined. */
  beginRows(layout: RowLayout): RowRecorder;
  /** Must be called when the run is over, with its summary or the reason why there is none. */
  end(
    how: { readonly summary: Summary } | { readonly error: string; readonly exitCode: number },
  ): void;
  /** Whether the run reached the first call, or did not need any. */
  readonly hasBegun: boolean;
  /** The run as it is now. */
  readonly read: () => RunView;
}

export interface RecordRunOptions
  extends Pick<RunView, 'runId'>,
    Partial<Pick<RunView, 'list' | 'schedule'>> {
  /** Says whether the run is paused. @default it cannot be steered */
  readonly control?: Pick<RunControl, 'isPaused' | 'stopped'> | undefined;
  /** How settings are called. @default as on a terminal */
  readonly naming?: Naming | undefined;
}

const MOST_NOTICES = 20;
const MOST_ANSWERS = 100;
const NOTICE_LENGTH = 500;
/** Calls to a server on the same machine take less than a millisecond. */
const UNITS_PER_MS = 10;
const LONGEST_UNITS = 60 * 60_000 * UNITS_PER_MS;

export function recordRun(options: RecordRunOptions): RunRecorder {
  const { runId, list, schedule, control, naming } = options;
  const startedMs = Date.now();
  const timeline = createTimeline();
  // HdrHistogram, which Node.js includes.
  const latencies = createHistogram({ lowest: 1, highest: LONGEST_UNITS, figures: 3 });
  const timeLeft = createTimeLeft();
  const rate = createRecentRate();
  const answers = new Map<string, number>();
  const notices: string[] = [];
  let rows: RowRecorder | undefined;
  let wait: Wait | undefined;
  let hasBegun = false;
  /** What the last event of each kind has told. */
  let known: Partial<RunView> & Pick<RunView, 'phase'> = { phase: 'reading' };

  const tell = (news: Partial<RunView>): void => {
    known = { ...known, ...news };
  };
  const note = (message: string): void => {
    if (notices.length < MOST_NOTICES) notices.push(shortenTo(message, NOTICE_LENGTH));
  };

  function onEvent(event: RunEvent): void {
    switch (event.type) {
      case 'opened':
        return tell({ list: list ?? event.input });
      case 'planned': {
        const { rows, uniqueDomains, freshDomains, lookups: due } = event.plan;
        return tell({ phase: 'looking_up', rows, uniqueDomains, freshDomains, due });
      }
      case 'notice':
        return event.level === 'info' ? undefined : note(event.message);
      case 'progress':
        return progress(event);
      case 'logos': {
        const { type: _, total: logoTotal, ...counts } = event;
        const phase = control?.stopped.aborted ? 'stopping' : 'saving_logos';
        return tell({ phase, logoTotal, logos: { folder: '', ...counts, reasons: {} } });
      }
      case 'stopping':
        note(describeStop(event.stop, naming));
        return tell({ phase: 'stopping' });
      case 'writing':
        hasBegun = true;
        return tell({ phase: 'writing' });
      case 'rows':
        return tell({ written: event.written });
    }
  }

  function progress(now: Progress & { readonly type: string }): void {
    const { type: _, pace, outage: _outage, hasNoWorker: _alone, ...figures } = now;
    const { calls, lookupMs, lookups } = figures;
    wait = waitOf(now);
    hasBegun ||= calls > 0 || lookups > 0;
    const limit = pace?.limit;
    timeline.progress(now, limit);
    timeLeft.look(now, wait);
    rate.add({ atMs: lookupMs, count: calls });
    const { phase } = known;
    tell({
      ...figures,
      phase: phase === 'reading' ? 'looking_up' : phase,
      lookupMs: Math.round(lookupMs),
      callsPerSecond: lookupMs > 0 ? round(calls / (lookupMs / 1_000), 2) : 0,
      limit,
    });
  }

  return {
    onEvent,
    answered: ({ meaning, latencyMs }) => {
      hasBegun = true;
      const { kind, httpStatus } = meaning;
      // A 200 whose body cannot be used is no answer.
      const hasAnswer = httpStatus !== undefined && (httpStatus !== 200 || kind === 'found');
      const name = !hasAnswer && 'reason' in meaning ? meaning.reason : String(httpStatus);
      const count = answers.get(name);
      if (count !== undefined || answers.size < MOST_ANSWERS) answers.set(name, (count ?? 0) + 1);
      const units = Math.round(latencyMs * UNITS_PER_MS);
      latencies.record(Math.max(1, Math.min(LONGEST_UNITS, units)));
    },
    beginRows: (layout) => {
      rows = createRowRecorder(layout, naming);
      return rows;
    },
    end: (how) => {
      const { rows = 0, calls = 0 } = known;
      const of = 'summary' in how ? how.summary : { ...how, rows, calls };
      const { reports: _, ...ended } = 'summary' in how ? how.summary : { reports: [] };
      const error = 'error' in how ? { error: how.error } : {};
      const endedAt = new Date().toISOString();
      const none = { underWay: 0, pendingNow: 0 };
      tell({ phase: 'ended', ...ended, ...judge(of, naming), ...error, ...none, endedAt });
    },
    get hasBegun() {
      return hasBegun;
    },
    read: () => {
      const { phase } = known;
      const isLive = phase === 'looking_up' || phase === 'saving_logos';
      const isPaused = isLive && (control?.isPaused ?? known.isPaused ?? false);
      const leftMs = phase === 'looking_up' ? timeLeft.leftMs : undefined;
      return {
        version: VIEW_VERSION,
        brandfill: readVersion(),
        runId,
        list: list ?? 'a list',
        host: hostname(),
        pid: process.pid,
        ...(schedule && { schedule }),
        startedAt: new Date(startedMs).toISOString(),
        ...NOTHING_YET,
        elapsedMs: Date.now() - startedMs,
        ...timeline.read(),
        latency: describeLatencies(latencies),
        answers: [...answers]
          .sort(([, one], [, other]) => other - one)
          .map(([answer, calls]) => ({ answer, calls })),
        ...(rows?.read() ?? { reasons: [], otherReasonRows: 0, columns: [] }),
        notices,
        ...known,
        isPaused,
        actions: control ? actionsOf(phase, isPaused) : [],
        ratePerSecond: isLive ? round(rate.perSecond, 1) : 0,
        ...(!isPaused && leftMs !== undefined && { leftMs: Math.round(leftMs) }),
        ...(isLive && wait && { wait }),
      };
    },
  };
}

function describeLatencies(of: Histogram): RunView['latency'] {
  const msOf = (percent: number): number => round(of.percentile(percent) / UNITS_PER_MS, 1);
  return of.count === 0 ? undefined : { calls: of.count, p50Ms: msOf(50), p95Ms: msOf(95) };
}

/** What a worker does, as its gate and its counts have it. */
export interface WorkerSight {
  readonly gate: Pick<Gate, 'describe'>;
  readonly counters: Readonly<CallCounters>;
  readonly outcomes: RunView['outcomes'];
}

/** The picture of a worker: a run without a list, and without an end. */
export function recordWorker(unit: string | undefined) {
  const { answered, onEvent, read } = recordRun({ runId: '' });
  const startMs = performance.now();
  return {
    answered,
    read: ({ gate, counters, outcomes }: WorkerSight): RunView => {
      const pace = gate.describe();
      onEvent({
        type: 'progress',
        ...NOTHING_YET,
        ...counters,
        outcomes,
        bill: unit === undefined ? undefined : billOf(counters.billedMicros, unit),
        lookupMs: performance.now() - startMs,
        pace,
        outage: pace.outage,
      });
      return read();
    },
  };
}

const NOTHING_YET = {
  rows: 0,
  uniqueDomains: 0,
  freshDomains: 0,
  due: 0,
  lookups: 0,
  outcomes: { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 },
  calls: 0,
  retries: 0,
  throttled: 0,
  lookupMs: 0,
  callsPerSecond: 0,
  underWay: 0,
  pendingNow: 0,
};

function actionsOf(phase: RunView['phase'], isPaused: boolean): RunAction[] {
  if (phase === 'reading') return ['stop'];
  if (phase !== 'looking_up' && phase !== 'saving_logos') return [];
  return [isPaused ? 'resume' : 'pause', 'stop'];
}

/** A shorter wait is a normal part of the work. */
const SHORTEST_WAIT_MS = 1_000;

/** What keeps calls from starting. While somebody has paused them, nothing else is to blame. */
function waitOf({ isPaused, hasNoWorker, outage, pace }: Progress): Wait | undefined {
  if (isPaused) return { why: 'paused' };
  if (hasNoWorker) return { why: 'no_worker' };
  if (outage !== undefined) return { why: 'outage', text: outage };
  const { why, waitMs: leftMs = 0 } = pace ?? {};
  if (why === 'backing_off') return { why, leftMs };
  if (leftMs < SHORTEST_WAIT_MS) return undefined;
  return { why: why === 'retry_after' ? 'stated' : 'rate', leftMs };
}
