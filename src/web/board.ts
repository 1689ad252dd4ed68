import type { HoldUp } from '../watch/waits.ts';

/** Everything that the page shows. It travels as JSON. */
export interface Board {
  readonly runs: readonly RunState[];
  readonly workers: readonly WorkerState[];
  readonly schedules: readonly ScheduleState[];
  /** Chunks that wait on the queue, if there is a queue. */
  readonly backlog?: BacklogState | undefined;
  /** Why the board is not up to date; a sentence. */
  readonly trouble?: string | undefined;
}

/**
 * The phase of a run: it reads the list, makes lookups, saves logos, was told to stop, writes its
 * files, is over, or its process is gone.
 */
export type RunPhase =
  | 'reading'
  | 'looking_up'
  | 'saving_logos'
  | 'stopping'
  | 'writing'
  | 'ended'
  | 'lost';

/** Actions that can be asked of a run. */
export type RunAction = 'pause' | 'resume' | 'stop' | 'retry';

/** A run as far as it has reported. */
export interface RunState {
  readonly id: string;
  /** The list, as it was named by the user. */
  readonly list: string;
  readonly phase: RunPhase;
  readonly isPaused: boolean;
  /** Whether failed lookups are made once more when all others are done. */
  readonly isRetryWanted: boolean;
  readonly actions: readonly RunAction[];
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  readonly plan?: RunPlan | undefined;
  readonly progress?: RunProgress | undefined;
  /** Set once logos are being saved. */
  readonly logos?: RunLogos | undefined;
  /** The latest first. */
  readonly failures: readonly FailureLine[];
  /** Some of the last answers, the latest first. */
  readonly answers: readonly AnswerLine[];
  /** The latest first. */
  readonly notices: readonly string[];
  /** How the run ended; lines for people. */
  readonly end?: readonly string[] | undefined;
  /** Set once the run is over. */
  readonly ending?: RunEnding | undefined;
  /** What to do about failed lookups, once the run is over or gone; a sentence. */
  readonly next?: string | undefined;
  /** The schedule that started the run, if one did. */
  readonly schedule?: ScheduleName | undefined;
  readonly history: readonly RatePoint[];
}

/** How a run ended, in a word. */
export type RunEnding = 'done' | 'some_failed' | 'nothing_found' | 'stopped' | 'error';

/** Identifies a scheduled job. */
export interface ScheduleName {
  readonly group: string;
  readonly job: string;
}

/** How far the logos are, counted in domains. */
export interface RunLogos {
  readonly total: number;
  readonly saved: number;
  /** Those that were there already. */
  readonly kept: number;
  readonly missing: number;
}

export interface RunPlan {
  readonly rows: number;
  readonly uniqueDomains: number;
  readonly invalidRows: number;
  readonly freshDomains: number;
}

export interface RunProgress {
  /** Lookups to be made. */
  readonly lookups: number;
  readonly done: number;
  readonly found: number;
  readonly notFound: number;
  readonly rejected: number;
  readonly failed: number;
  /** Lookups that are pending by now: accepted, not ready. */
  readonly pending?: number | undefined;
  readonly calls: number;
  readonly retries: number;
  readonly throttled: number;
  /** What the API billed, if its profile says what it bills. */
  readonly billed?: { readonly units: number; readonly unit: string } | undefined;
  /** The same by API, where a run asks two. */
  readonly billedBy?:
    | readonly { readonly name: string; readonly units: number; readonly unit: string }[]
    | undefined;
  /** Since the first lookup. */
  readonly elapsedMs: number;
  /** The time left at the pace of the last half minute; missing while it is unknown. */
  readonly leftMs?: number | undefined;
  /** Calls per second now. */
  readonly ratePerSecond: number;
  /** The limit that calls are held to, in calls per second, if it is known. */
  readonly limitPerSecond?: number | undefined;
  /** Lookups that were handed out and have no outcome yet. */
  readonly underWay: number;
  /** Why calls wait; a sentence. */
  readonly waits?: string | undefined;
}

/** A lookup that failed or was rejected. */
export interface FailureLine {
  readonly domain: string;
  readonly status: string;
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly atMs: number;
}

/** The result of a lookup, in a line. */
export interface AnswerLine {
  readonly domain: string;
  readonly text: string;
}

/**
 * The end of a span of time, in seconds since the start; the calls per second in it; the limit in
 * calls per second if it is known; and the cause that held calls up for long, if any.
 */
export type RatePoint = readonly [
  seconds: number,
  calls: number,
  limit: number | null,
  heldBy?: HoldUp,
];

/** Chunks of lookups that no worker has taken. */
export interface BacklogState {
  /** Chunks of runs, and chunks that belong to no run: backfills. */
  readonly waiting: number;
  /** Chunks of backfills that wait until they are resumed. */
  readonly aside: number;
  /** Whether backfills are paused. */
  readonly isPaused: boolean;
}

/** A process that makes lookups. */
export interface WorkerState {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Its largest number of calls at the same time. */
  readonly concurrency: number;
  /** HTTP requests made since it was started; missing if it does not count them. */
  readonly calls?: number | undefined;
  /** Why it makes no calls although others do, in a sentence. */
  readonly trouble?: string | undefined;
  /** The lookups that it holds, by run or by producer. */
  readonly holds: readonly WorkerLoad[];
}

export interface WorkerLoad {
  /** The run, or the other purpose of the lookups. */
  readonly of: string;
  /** Missing if lookups do not travel in chunks. */
  readonly chunks?: number | undefined;
  readonly lookups: number;
  /** When it took the first of them, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface ScheduleState {
  readonly group: string;
  readonly job: string;
  readonly cron: string;
  readonly timezone: string;
  /** ISO 8601. */
  readonly nextAt: string;
  readonly runningSince?: string | undefined;
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  readonly last?: LastRun | undefined;
}

export interface LastRun {
  /** ISO 8601. */
  readonly finishedAt: string;
  readonly exitCode: number;
  /** How the run ended; a line for people. */
  readonly text: string;
}

/** Supplies what the page shows, and carries out the actions that are asked for on it. */
export interface BoardSource {
  /** Called a few times a second while somebody looks, otherwise not at all. */
  read(): Promise<Board>;
  /** @returns why it cannot be done; nothing when it is under way */
  ask(run: string, action: RunAction): Promise<string | undefined>;
  /** Asks for a run of a scheduled job now; returns the same. */
  runNow(group: string, job: string): Promise<string | undefined>;
  /** Pauses or resumes all lookups that belong to no run; returns the same. */
  steerBackfills(action: 'pause' | 'resume'): Promise<string | undefined>;
}

/** The difference between two boards; missing sections are unchanged. */
export interface BoardChange {
  readonly runs?: readonly RunChange[];
  /** The ids of runs that are gone. */
  readonly gone?: readonly string[];
  readonly workers?: Board['workers'];
  readonly schedules?: Board['schedules'];
  readonly backlog?: Board['backlog'];
  /** Null when the trouble is over. */
  readonly trouble?: string | null;
}

/** A run that is new or has changed; fields that are null are gone. */
export interface RunChange extends Partial<Nullable<Omit<RunState, 'id'>>> {
  readonly id: string;
  /** Points to append to the known ones. */
  readonly newHistory?: readonly RatePoint[];
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** Compares two boards; undefined when nothing has changed. */
export function findChange(before: Board, after: Board): BoardChange | undefined {
  const known = new Map(before.runs.map((run) => [run.id, run]));
  const there = new Set(after.runs.map(({ id }) => id));
  const runs = after.runs.flatMap((run) => {
    const earlier = known.get(run.id);
    const change = earlier ? findRunChange(earlier, run) : run;
    return change ? [change] : [];
  });
  const gone = before.runs.map(({ id }) => id).filter((id) => !there.has(id));
  const change: BoardChange = {
    ...(runs.length > 0 && { runs }),
    ...(gone.length > 0 && { gone }),
    ...(isOther(before.workers, after.workers) && { workers: after.workers }),
    ...(isOther(before.schedules, after.schedules) && { schedules: after.schedules }),
    ...(isOther(before.backlog, after.backlog) && { backlog: after.backlog }),
    ...(before.trouble !== after.trouble && { trouble: after.trouble ?? null }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

function findRunChange(before: RunState, after: RunState): RunChange | undefined {
  if (before === after) return undefined;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof RunState)[];
  const changed = names.filter((name) => name !== 'history' && isOther(before[name], after[name]));
  const history = findNewPoints(before.history, after.history);
  if (changed.length === 0 && !history) return undefined;
  const fields = changed.map((name) => [name, after[name] ?? null] as const);
  return { id: after.id, ...Object.fromEntries(fields), ...history };
}

/** Points that were appended since; all points when they were thinned meanwhile. */
function findNewPoints(
  before: readonly RatePoint[],
  after: readonly RatePoint[],
): Pick<RunChange, 'history' | 'newHistory'> | undefined {
  if (before === after) return undefined;
  const last = before.at(-1);
  const isLonger = after.length >= before.length;
  if (isLonger && (!last || after[before.length - 1]?.join() === last.join())) {
    const added = after.slice(before.length);
    return added.length > 0 ? { newHistory: added } : undefined;
  }
  return { history: after };
}

function isOther(before: unknown, after: unknown): boolean {
  return before !== after && JSON.stringify(before) !== JSON.stringify(after);
}
