import { hostname } from 'node:os';
import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import { countOf } from '../common/format.ts';
import type { RunControl } from '../common/run-control.ts';
import { describeStop, describeSummary } from '../watch/describe.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import { findNothing, type Summary } from '../watch/summary.ts';
import { createTimeLeft } from '../watch/time-left.ts';
import { createTimeline, limitOf, type Span } from '../watch/timeline.ts';
import { describeWait, findLongestHoldUp } from '../watch/waits.ts';
import type {
  Board,
  BoardSource,
  RatePoint,
  RunAction,
  RunEnding,
  RunLogos,
  RunPhase,
  RunPlan,
  RunProgress,
  RunState,
  WorkerState,
} from './board.ts';

/** Listens to a run and reports its state. */
export interface LiveRun {
  show(event: RunEvent): void;
  /** Must be called when the run is over. */
  end(how: RunEnd): void;
  /** The state of the run; computed on demand. */
  read(): RunState;
}

/** How a run ended: with a summary, or with the reason why there is none. */
export type RunEnd = { readonly summary: Summary } | { readonly error: string };

export interface LiveRunOptions
  extends Pick<RunState, 'id' | 'host' | 'pid' | 'startedAtMs' | 'schedule'> {
  readonly control: RunControl;
  readonly now?: () => number;
}

const MOST_NOTICES = 5;

export function createLiveRun(options: LiveRunOptions): LiveRun {
  const { id, host, pid, startedAtMs, schedule, control, now = Date.now } = options;
  const history = createRateHistory();
  const timeLeft = createTimeLeft();
  let phase: RunPhase = 'reading';
  let list = 'a list';
  let plan: RunPlan | undefined;
  let progress: Progress | undefined;
  let logos: RunLogos | undefined;
  let notices: readonly string[] = [];
  let ended: Pick<RunState, 'end' | 'endedAtMs' | 'ending' | 'next'> = {};

  function notice(message: string): void {
    notices = [message, ...notices].slice(0, MOST_NOTICES);
  }

  function show(event: RunEvent): void {
    switch (event.type) {
      case 'opened':
        list = event.input;
        break;
      case 'planned': {
        const { rows, uniqueDomains, invalidRows, freshDomains } = event.plan;
        plan = { rows, uniqueDomains, invalidRows, freshDomains };
        phase = 'looking_up';
        break;
      }
      case 'notice':
        notice(event.message);
        break;
      case 'progress':
        progress = event;
        timeLeft.look(event);
        history.add(event);
        break;
      case 'logos': {
        const { total, saved, kept, missing } = event;
        logos = { total, saved, kept, missing };
        phase = control.stopped.aborted ? 'stopping' : 'saving_logos';
        break;
      }
      case 'stopping':
        phase = 'stopping';
        notice(describeStop(event.stop));
        break;
      case 'writing':
        phase = 'writing';
        break;
      default: // not shown
        break;
    }
  }

  return {
    show,
    end: (how) => {
      phase = 'ended';
      const endedAtMs = now();
      if ('error' in how) ended = { end: [how.error], ending: 'error', endedAtMs };
      else {
        const { summary } = how;
        const next = adviseOn(summary, schedule !== undefined);
        ended = { end: describeSummary(summary), ending: endingOf(summary), next, endedAtMs };
      }
    },
    read: () => {
      const { failures, answers } = describeRecent(progress);
      const { isPaused, isRetryWanted } = control;
      return {
        id,
        list,
        host,
        pid,
        startedAtMs,
        phase,
        isPaused: isPaused && (phase === 'looking_up' || phase === 'saving_logos'),
        isRetryWanted: isRetryWanted && phase === 'looking_up',
        actions: actionsOf({
          phase,
          isPaused,
          isRetryWanted,
          failed: progress?.outcomes.failed,
          canRunAgain: schedule !== undefined && ended.next !== undefined,
        }),
        plan,
        logos,
        schedule,
        progress: progress && {
          ...toRunProgress(progress),
          leftMs:
            isPaused || timeLeft.leftMs === undefined ? undefined : Math.round(timeLeft.leftMs),
          ratePerSecond: history.nowPerSecond,
        },
        failures,
        answers,
        notices,
        history: history.points,
        ...ended,
      };
    },
  };
}

interface Steered {
  readonly phase: RunPhase;
  readonly isPaused: boolean;
  readonly isRetryWanted: boolean;
  readonly failed: number | undefined;
  /** Whether somebody can run the same again. */
  readonly canRunAgain: boolean;
}

function actionsOf(run: Steered): readonly RunAction[] {
  const { phase, isPaused, isRetryWanted, failed = 0, canRunAgain } = run;
  if (phase === 'reading') return ['stop'];
  if (phase === 'ended') return canRunAgain ? ['retry'] : [];
  if (phase !== 'looking_up' && phase !== 'saving_logos') return [];
  const actions: RunAction[] = [isPaused ? 'resume' : 'pause', 'stop'];
  if (phase === 'looking_up' && failed > 0 && !isRetryWanted) actions.push('retry');
  return actions;
}

function endingOf(summary: Summary): RunEnding {
  const { statuses, stopped } = summary;
  if (stopped !== undefined) return 'stopped';
  const { failed, stale, pending, skipped } = statuses;
  if (failed + stale + pending + skipped > 0) return 'some_failed';
  return findNothing(summary) ? 'nothing_found' : 'done';
}

/**
 * Gives advice. Only the process of the run has the list: no other can look up what failed and
 * rewrite the rows.
 */
function adviseOn({ statuses, stopped }: Summary, isScheduled: boolean): string | undefined {
  const { failed, stale } = statuses;
  if (failed + stale === 0 || stopped !== undefined) return undefined;
  const kept = `${countOf(stale, 'row')} could not be looked up and kept an older answer.`;
  const rows = [
    ...(failed > 0 ? [`${countOf(failed, 'row')} failed.`] : []),
    ...(stale > 0 ? [kept] : []),
  ].join(' ');
  return isScheduled
    ? `${rows} Retry failures runs the job again: it asks about those, and about nothing else that is fresh.`
    : `${rows} To retry them, run the same command again: it asks about those, and about nothing else that is fresh.`;
}

function toRunProgress(progress: Progress): Omit<RunProgress, 'leftMs' | 'ratePerSecond'> {
  const { lookups, done, outcomes, calls, retries, throttled, elapsedMs, underWay = 0 } = progress;
  return {
    lookups,
    done,
    found: outcomes.found,
    notFound: outcomes.not_found,
    rejected: outcomes.rejected,
    failed: outcomes.failed,
    pending: outcomes.pending + (progress.pending?.count ?? 0),
    calls,
    retries,
    throttled,
    billed: progress.bill,
    billedBy: progress.apis?.flatMap(({ name, bill }) => (bill ? { name, ...bill } : [])),
    elapsedMs: Math.round(elapsedMs),
    limitPerSecond: limitOf(progress.pace),
    underWay,
    waits: waitOf(progress),
  };
}

/** The run does not know whether a worker has begun and only waits long for its answers. */
const NOTHING_TOLD =
  'No chunk of it is done yet: its calls are slow, or workers take what was put on the queue before';

/** This much silence is normal when all is well. */
const SILENT_MS = 5_000;

/** Why calls wait, if they do; a pause is shown elsewhere. */
function waitOf(progress: Progress): string | undefined {
  const { comesInBursts, isPaused, calls, underWay = 0, elapsedMs } = progress;
  if (isPaused) return undefined;
  const [words] = describeWait(progress) ?? [];
  if (words !== undefined) return words;
  const isSilent = comesInBursts && calls === 0 && underWay > 0 && elapsedMs > SILENT_MS;
  return isSilent ? NOTHING_TOLD : undefined;
}

function describeRecent(progress: Progress | undefined): Pick<RunState, 'failures' | 'answers'> {
  const { recentFailures = [], recentAnswers = [] } = progress ?? {};
  return {
    failures: recentFailures,
    answers: recentAnswers.map(({ domain, json }) => ({ domain, text: describeAnswer(json) })),
  };
}

const LONGEST = 120;

/**
 * An answer in a line, for people: its `name` if it has one, else its first text, else its
 * beginning. The text comes from somebody else and may hold anything.
 */
export function describeAnswer(json: string): string {
  const answer = findJsonObject(json) ?? {};
  return cut(findName(answer) ?? json);
}

function findName(answer: JsonObject): string | undefined {
  const texts = [answer['name'], ...Object.values(answer)];
  return texts.find((value): value is string => typeof value === 'string' && value !== '');
}

function cut(text: string): string {
  const characters = Array.from(text.slice(0, 2 * LONGEST));
  if (characters.length <= LONGEST && text.length <= 2 * LONGEST) return text;
  return `${characters.slice(0, LONGEST).join('')}…`;
}

export interface OwnRunOptions {
  readonly recorder: LiveRun;
  readonly control: RunControl;
  /** Its largest number of calls at the same time. */
  readonly concurrency: number;
}

/** The board of a process that makes a single run. */
export function showOwnRun({ recorder, control, concurrency }: OwnRunOptions): BoardSource {
  return {
    read: async (): Promise<Board> => {
      const run = recorder.read();
      const { progress, list, startedAtMs, phase } = run;
      const lookups = progress?.underWay ?? 0;
      const worker: WorkerState = {
        id: run.id,
        host: hostname(),
        pid: process.pid,
        concurrency,
        calls: progress?.calls ?? 0,
        holds: lookups === 0 ? [] : [{ of: list, lookups, sinceMs: startedAtMs }],
      };
      return { runs: [run], workers: phase === 'ended' ? [] : [worker], schedules: [] };
    },
    ask: async (id, action) => {
      const run = recorder.read();
      if (id !== run.id) return 'There is no such run any more.';
      return applyAction(run, control, action);
    },
    runNow: async () => 'No schedules are kept here.',
    steerBackfills: async () => 'There is no queue here.',
  };
}

/** Applies an action to a run; returns why it cannot be done. */
export function applyAction(
  run: Pick<RunState, 'actions' | 'phase'>,
  control: RunControl,
  action: RunAction,
): string | undefined {
  if (!run.actions.includes(action) || run.phase === 'ended')
    return `This cannot be done now: the run is ${PHASES[run.phase]}.`;
  switch (action) {
    case 'pause':
      control.pause();
      break;
    case 'resume':
      control.resume();
      break;
    case 'stop':
      control.stop();
      break;
    case 'retry':
      control.retryFailures();
      break;
  }
  return undefined;
}

const PHASES: Readonly<Record<RunState['phase'], string>> = {
  reading: 'still reading its list',
  looking_up: 'as it was asked to be already, or has no failures',
  saving_logos: 'saving logos',
  stopping: 'stopping',
  writing: 'writing its files',
  ended: 'over',
  lost: 'gone',
};

/** Calls per second over the whole of a run, in a bounded number of points. */
export interface RateHistory {
  add(progress: Progress): void;
  readonly points: readonly RatePoint[];
  /** Calls per second in the last seconds. */
  readonly nowPerSecond: number;
}

const MOST_POINTS = 300;
const FIRST_INTERVAL_MS = 1_000;
/** The current rate covers this much time, or the time since the start. */
const NOW_MS = 2_500;
/** The same for calls that are reported by the chunk, which rarely takes longer. */
const BURST_MS = 10_000;

/** Draws the record of a run as far as it is known. A long run has coarser points, never more. */
export function createRateHistory(mostPoints: number = MOST_POINTS): RateHistory {
  const timeline = createTimeline({ mostSpans: mostPoints, firstSpanMs: FIRST_INTERVAL_MS });
  let recent: Pick<Progress, 'elapsedMs' | 'calls'>[] = [{ elapsedMs: 0, calls: 0 }];
  return {
    add: (progress) => {
      timeline.progress(progress);
      const { elapsedMs, calls, comesInBursts = false, isPaused = false } = progress;
      const nowMs = comesInBursts && !isPaused ? BURST_MS : NOW_MS;
      recent = [...recent, { elapsedMs, calls }].filter(
        (one, at) => elapsedMs - one.elapsedMs <= nowMs || at === recent.length,
      );
    },
    get points() {
      const { spans, spanMs, knownMs } = timeline;
      return spans
        .slice(0, Math.floor(knownMs / spanMs))
        .map((span, at) => toPoint(span, at, spanMs));
    },
    get nowPerSecond() {
      const [first] = recent;
      const newest = recent.at(-1);
      if (!first || !newest) return 0;
      return rateOf(newest.calls - first.calls, newest.elapsedMs - first.elapsedMs);
    },
  };
}

function toPoint(span: Span, at: number, spanMs: number): RatePoint {
  const { calls, limitPerSecond, pausedMs, outageMs, toldMs, backingOffMs } = span;
  const limit = limitPerSecond === undefined ? null : round(limitPerSecond);
  const point = [round(((at + 1) * spanMs) / 1_000), rateOf(calls, spanMs), limit] as const;
  const heldMs = { paused: pausedMs, outage: outageMs, told: toldMs + backingOffMs };
  const heldBy = findLongestHoldUp(heldMs, spanMs);
  return heldBy ? [...point, heldBy] : point;
}

function rateOf(calls: number, ms: number): number {
  return ms > 0 ? round(Math.max(0, calls) / (ms / 1_000)) : 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
