import { formatDuration } from '../job/duration.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { RunControl } from '../run-control.ts';
import { describeStop, describeSummary } from '../watch/describe.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import { describeAnswer } from './answer-line.ts';
import type { RunAction, RunPhase, RunPlan, RunProgress, RunState } from './board.ts';
import { createRateHistory } from './rate-history.ts';

/** Listens to a run and says how it stands. */
export interface LiveRun {
  show(event: RunEvent): void;
  /** The run is over. */
  end(how: RunEnd): void;
  /** How it stands; worked out when it is asked for. */
  read(): RunState;
}

/** How a run ended: with a summary, or with what kept it from having one. */
export type RunEnd = { readonly summary: Summary } | { readonly error: string };

export interface LiveRunOptions extends Pick<RunState, 'id' | 'host' | 'pid' | 'startedAtMs'> {
  readonly control: RunControl;
  readonly now?: () => number;
}

const MOST_NOTICES = 5;

export function createLiveRun(options: LiveRunOptions): LiveRun {
  const { id, host, pid, startedAtMs, control, now = Date.now } = options;
  const history = createRateHistory();
  let phase: RunPhase = 'reading';
  let list = 'a list';
  let plan: RunPlan | undefined;
  let progress: Progress | undefined;
  let notices: readonly string[] = [];
  let ended: Pick<RunState, 'end' | 'endedAtMs'> = {};

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
        history.add({
          ...event,
          limitPerSecond: limitOf(event.pace),
          comesInBursts: event.comesInBursts === true && event.isPaused !== true,
        });
        break;
      case 'stopping':
        phase = 'stopping';
        notice(describeStop(event.stop));
        break;
      case 'writing':
        phase = 'writing';
        break;
      default: // is not shown
        break;
    }
  }

  return {
    show,
    end: (how) => {
      phase = 'ended';
      const end = 'error' in how ? [how.error] : describeSummary(how.summary);
      ended = { end, endedAtMs: now() };
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
        isPaused: isPaused && phase === 'looking_up',
        isRetryWanted: isRetryWanted && phase === 'looking_up',
        actions: actionsOf({ phase, isPaused, isRetryWanted, failed: progress?.outcomes.failed }),
        plan,
        progress: progress && toRunProgress(progress, history.nowPerSecond, isPaused),
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
}

function actionsOf({ phase, isPaused, isRetryWanted, failed = 0 }: Steered): readonly RunAction[] {
  if (phase === 'reading') return ['stop'];
  if (phase !== 'looking_up') return [];
  const actions: RunAction[] = [isPaused ? 'resume' : 'pause', 'stop'];
  if (failed > 0 && !isRetryWanted) actions.push('retry');
  return actions;
}

function toRunProgress(progress: Progress, ratePerSecond: number, isPaused: boolean): RunProgress {
  const { lookups, done, outcomes, calls, retries, throttled, elapsedMs, underWay = 0 } = progress;
  const leftMs = leftMsOf(progress);
  return {
    lookups,
    done,
    found: outcomes.found,
    notFound: outcomes.not_found,
    rejected: outcomes.rejected,
    failed: outcomes.failed,
    calls,
    retries,
    throttled,
    elapsedMs: Math.round(elapsedMs),
    leftMs: isPaused ? undefined : leftMs,
    ratePerSecond,
    limitPerSecond: limitOf(progress.pace),
    underWay,
    waits: waitOf(progress),
  };
}

/** At the pace of the run so far. */
function leftMsOf({ lookups, done, elapsedMs }: Progress): number | undefined {
  return done > 0 ? Math.round(((lookups - done) / done) * elapsedMs) : undefined;
}

function limitOf(pace: PaceDescription | undefined): number | undefined {
  if (pace?.limitIs === 'fixed') return pace.ratePerSecond;
  return pace?.learnedLimitPerSecond;
}

/** Why calls wait, if they do. */
function waitOf({ outage, pace, waitMs }: Progress): string | undefined {
  if (outage !== undefined) return outage;
  if (pace?.why === 'backing_off') return 'The API says 429 and names no time: backing off.';
  if (pace?.why === 'told_to_wait' && waitMs >= 1_000) {
    return `The API says to wait; calls go on in ${formatDuration(waitMs)}.`;
  }
  return undefined;
}

function describeRecent(progress: Progress | undefined): Pick<RunState, 'failures' | 'answers'> {
  const { recentFailures = [], recentAnswers = [] } = progress ?? {};
  return {
    failures: recentFailures,
    answers: recentAnswers.map(({ domain, json }) => ({ domain, text: describeAnswer(json) })),
  };
}
