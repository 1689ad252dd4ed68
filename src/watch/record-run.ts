import { hostname } from 'node:os';
import type { Meaning } from '../brand/meaning.ts';
import { formatDuration, round } from '../common/format.ts';
import type { RunControl } from '../common/run-control.ts';
import { shortenTo } from '../common/text.ts';
import { readVersion } from '../version.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { describeStop, judge } from './describe.ts';
import type { LogoProgress, Progress, RunEvent } from './events.ts';
import { createRowRecorder, type RowLayout, type RowRecorder } from './row-reasons.ts';
import { type RunAction, type RunView, type Summary, VIEW_VERSION } from './run-view.ts';
import { createRecentRate, createTimeLeft } from './time-left.ts';
import { createLatencies, createTimeline, limitOf } from './timeline.ts';
import { type Naming, ON_TERMINAL, WAITS } from './words.ts';

/** Makes the picture of a run from what happens in it. */
export interface RunRecorder {
  readonly onEvent: (event: RunEvent) => void;
  answered(call: AnsweredCall): void;
  /** Must be called when the rows are about to be joined. */
  beginRows(layout: RowLayout): RowRecorder;
  /** Must be called when the run is over. */
  end(how: RunEnd): void;
  /** Whether the run reached the first call, or did not need any. */
  readonly hasBegun: boolean;
  /** The run as it is now. */
  read(): RunView;
}

/** How a run ended: with a summary, or with the reason why there is none. */
export type RunEnd =
  | { readonly summary: Summary }
  | { readonly error: string; readonly exitCode: number };

export interface RecordRunOptions extends Pick<RunView, 'runId'> {
  readonly list?: string | undefined;
  readonly settings?: RunView['settings'] | undefined;
  readonly schedule?: RunView['schedule'] | undefined;
  /** Says whether the run is paused. @default it cannot be steered */
  readonly control?: Pick<RunControl, 'isPaused' | 'stopped'> | undefined;
  /** How settings are called. @default as on a terminal */
  readonly naming?: Naming | undefined;
}

const MOST_NOTICES = 20;
const MOST_ANSWERS = 100;
const NOTICE_LENGTH = 500;

export function recordRun(options: RecordRunOptions): RunRecorder {
  const { runId, schedule, settings = [], control, naming = ON_TERMINAL } = options;
  const startedAt = new Date();
  const timeline = createTimeline();
  const latencies = createLatencies();
  const answers = new Map<string, number>();
  const timeLeft = createTimeLeft();
  const rate = createRecentRate();
  const notices: string[] = [];
  let known: Partial<RunView> = {};
  let phase: RunView['phase'] = 'reading';
  let progress: Progress | undefined;
  let rows: RowRecorder | undefined;
  let ended: Partial<RunView> = {};
  let hasBegun = false;
  let listed: string | undefined;
  let logoLeftMs: number | undefined;

  function onEvent(event: RunEvent): void {
    switch (event.type) {
      case 'opened':
        listed = event.input;
        known = { ...known, format: event.format, column: event.column.name };
        break;
      case 'planned': {
        const { plan } = event;
        const { rows, uniqueDomains, freshDomains, lookups: due } = plan;
        known = { ...known, rows, uniqueDomains, freshDomains, due };
        phase = 'looking_up';
        break;
      }
      case 'sampled':
        phase = 'asking';
        break;
      case 'notice':
        note(event.message);
        break;
      case 'progress':
        progress = event;
        hasBegun ||= event.calls > 0 || event.done > 0;
        if (phase === 'asking' || phase === 'reading') phase = 'looking_up';
        timeline.progress(event);
        timeLeft.look(event);
        rate.add({ atMs: event.elapsedMs, count: event.calls });
        break;
      case 'logos': {
        const { total: logoTotal, saved, kept, missing } = event;
        logoLeftMs = leftOf(event);
        known = { ...known, logoTotal, logos: { folder: '', saved, kept, missing, reasons: {} } };
        phase = control?.stopped.aborted ? 'stopping' : 'saving_logos';
        break;
      }
      case 'stopping':
        phase = 'stopping';
        note(describeStop(event.stop, naming));
        break;
      case 'writing':
        hasBegun = true;
        phase = 'writing';
        break;
      case 'rows':
        known = { ...known, written: event.written };
        break;
    }
  }

  function note(message: string): void {
    if (notices.length < MOST_NOTICES) notices.push(shortenTo(message, NOTICE_LENGTH));
  }

  return {
    onEvent,
    answered: ({ meaning, latencyMs }) => {
      hasBegun = true;
      const name = nameOf(meaning);
      const count = answers.get(name);
      if (count !== undefined || answers.size < MOST_ANSWERS) answers.set(name, (count ?? 0) + 1);
      latencies.add(latencyMs);
    },
    beginRows: (layout) => {
      rows = createRowRecorder(layout, naming);
      return rows;
    },
    end: (how) => {
      phase = 'ended';
      const about = { rows: known.rows ?? 0, calls: progress?.calls ?? 0, naming };
      const end = judge('summary' in how ? { ...how.summary, naming } : { ...about, ...how });
      const { reports: _, ...summary } = 'summary' in how ? how.summary : { reports: [] };
      ended = { ...summary, ...end, endedAt: new Date().toISOString() };
      if ('error' in how) ended = { ...ended, error: how.error };
    },
    get hasBegun() {
      return hasBegun;
    },
    read: () => {
      const isLive = phase === 'looking_up' || phase === 'saving_logos';
      const isPaused = isLive && (control?.isPaused ?? progress?.isPaused ?? false);
      const leftMs = phase === 'saving_logos' ? logoLeftMs : timeLeft.leftMs;
      const wait = isLive && progress ? describeWait(progress) : undefined;
      const view: RunView = {
        version: VIEW_VERSION,
        brandfill: readVersion(),
        runId,
        list: options.list ?? listed ?? 'a list',
        host: hostname(),
        pid: process.pid,
        ...(schedule && { schedule }),
        phase,
        isPaused,
        actions: control ? actionsOf(phase, isPaused) : [],
        startedAt: startedAt.toISOString(),
        rows: 0,
        uniqueDomains: 0,
        freshDomains: 0,
        due: 0,
        ...figuresOf(progress),
        elapsedMs: Date.now() - startedAt.getTime(),
        ratePerSecond: isLive ? round(rate.perSecond, 1) : 0,
        ...(isLive && !isPaused && leftMs !== undefined && { leftMs: Math.round(leftMs) }),
        ...(wait !== undefined && { wait }),
        notices,
        recentFailures: [...(progress?.recentFailures ?? [])],
        ...timeline.read(),
        latency: latencies.describe(),
        answers: [...answers]
          .sort(([, one], [, other]) => other - one)
          .map(([answer, calls]) => ({ answer, calls })),
        ...(rows?.read() ?? { reasons: [], otherReasonRows: 0, columns: [] }),
        settings,
        ...known,
        ...ended,
      };
      return phase === 'ended' ? { ...view, underWay: 0, pendingNow: 0 } : view;
    },
  };
}

/** What a call came to, in a word. A 200 whose body cannot be used is no answer. */
function nameOf(meaning: Meaning): string {
  const { kind, httpStatus } = meaning;
  const hasAnswer = httpStatus !== undefined && (httpStatus !== 200 || kind === 'found');
  return !hasAnswer && 'reason' in meaning ? meaning.reason : String(httpStatus);
}

function actionsOf(phase: RunView['phase'], isPaused: boolean): RunAction[] {
  if (phase === 'reading') return ['stop'];
  if (phase !== 'looking_up' && phase !== 'saving_logos') return [];
  return [isPaused ? 'resume' : 'pause', 'stop'];
}

const NO_OUTCOMES = { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };

type Figures = Pick<
  RunView,
  'lookups' | 'outcomes' | 'calls' | 'retries' | 'throttled' | 'underWay' | 'pendingNow'
> &
  Pick<RunView, 'lookupMs' | 'callsPerSecond' | 'limit' | 'bill' | 'rowsSoFar' | 'pendingUntilMs'>;

function figuresOf(progress: Progress | undefined): Figures {
  const {
    done = 0,
    outcomes = NO_OUTCOMES,
    calls = 0,
    retries = 0,
    throttled = 0,
  } = progress ?? {};
  const { elapsedMs = 0, underWay = 0, pending, bill, rows } = progress ?? {};
  const { pace } = progress ?? {};
  const limitPerSecond = limitOf(pace);
  const { count: pendingNow = 0, untilMs = 0 } = pending ?? {};
  const { total: _, ...rowsSoFar } = rows ?? { total: 0 };
  return {
    lookups: done,
    outcomes: { ...outcomes },
    calls,
    retries,
    throttled,
    underWay,
    pendingNow,
    ...(untilMs > 0 && { pendingUntilMs: untilMs }),
    lookupMs: Math.round(elapsedMs),
    callsPerSecond: elapsedMs > 0 ? round(calls / (elapsedMs / 1_000), 2) : 0,
    ...(pace && {
      limit: {
        limitIs: pace.limitIs,
        ...(limitPerSecond !== undefined && { limitPerSecond }),
        ...(pace.concurrencyLimit !== undefined && { mostAtOnce: pace.concurrencyLimit }),
      },
    }),
    ...(bill && { bill: { ...bill } }),
    ...(rows && { rowsSoFar }),
  };
}

/** The time left by the speed so far; undefined before the first logo. */
function leftOf({ total, saved, kept, missing, elapsedMs }: LogoProgress): number | undefined {
  const done = saved + kept + missing;
  return done === 0 || done === total ? undefined : ((total - done) / done) * elapsedMs;
}

/** A shorter wait is a normal part of the work. */
const SHORTEST_WAIT_MS = 1_000;

/** Says what keeps calls from starting; undefined if nothing does. */
function describeWait(progress: Progress): string | undefined {
  const { isPaused, hasNoWorker, outage, pace, waitMs } = progress;
  if (isPaused) return WAITS.paused;
  if (hasNoWorker) return WAITS.no_worker;
  if (outage !== undefined) return outage;
  if (pace?.why === 'backing_off') return WAITS.backing_off;
  if (waitMs < SHORTEST_WAIT_MS) return undefined;
  const wait = pace?.why === 'retry_after' ? WAITS.told : WAITS.rate;
  return wait.replace('{time}', formatDuration(waitMs));
}
