import type { HoldUp } from '../watch/hold-up.ts';

/** All that the page shows. It travels as JSON. */
export interface Board {
  readonly runs: readonly RunState[];
  readonly workers: readonly WorkerState[];
  readonly schedules: readonly ScheduleState[];
  /** What waits on the queue, where there is one. */
  readonly backlog?: BacklogState | undefined;
  /** What keeps it from being up to date; a sentence. */
  readonly trouble?: string | undefined;
}

/**
 * Where a run is: it reads the list, makes lookups, saves logos, was told to stop, writes its files, is
 * over, or its process is gone.
 */
export type RunPhase =
  | 'reading'
  | 'looking_up'
  | 'saving_logos'
  | 'stopping'
  | 'writing'
  | 'ended'
  | 'lost';

/** What can be asked of a run. */
export type RunAction = 'pause' | 'resume' | 'stop' | 'retry';

/** A run as far as it has told. */
export interface RunState {
  readonly id: string;
  /** The list, as it was named. */
  readonly list: string;
  readonly phase: RunPhase;
  readonly isPaused: boolean;
  /** Whether what failed is asked once more when all others have been asked. */
  readonly isRetryWanted: boolean;
  readonly actions: readonly RunAction[];
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  readonly plan?: RunPlan | undefined;
  readonly progress?: RunProgress | undefined;
  /** Once logos are being saved. */
  readonly logos?: RunLogos | undefined;
  /** The latest first. */
  readonly failures: readonly FailureLine[];
  /** Some of the last answers, the latest first. */
  readonly answers: readonly AnswerLine[];
  /** The latest first. */
  readonly notices: readonly string[];
  /** How it ended; lines for people. */
  readonly end?: readonly string[] | undefined;
  /** Where it is over. */
  readonly ending?: RunEnding | undefined;
  /** What to do about what failed, where it is over or gone; a sentence. */
  readonly next?: string | undefined;
  /** The schedule that made it, if one did. */
  readonly schedule?: ScheduleName | undefined;
  readonly history: readonly RatePoint[];
}

/** How a run ended, in a word. */
export type RunEnding = 'done' | 'some_failed' | 'stopped' | 'error';

/** A scheduled job among all. */
export interface ScheduleName {
  readonly group: string;
  readonly job: string;
}

/** How far logos are, by domain. */
export interface RunLogos {
  readonly total: number;
  readonly saved: number;
  /** Those that were there. */
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
  readonly calls: number;
  readonly retries: number;
  readonly throttled: number;
  /** Since the first lookup. */
  readonly elapsedMs: number;
  /** How long it will take at the pace of the last half minute; missing where nobody knows. */
  readonly leftMs?: number | undefined;
  /** Calls per second now. */
  readonly ratePerSecond: number;
  /** The limit that is kept to, in calls per second, where one is known. */
  readonly limitPerSecond?: number | undefined;
  /** Lookups that were given out and have no outcome yet. */
  readonly underWay: number;
  /** What holds the calls up; a sentence. */
  readonly waits?: string | undefined;
}

/** A lookup that came to nothing. */
export interface FailureLine {
  readonly domain: string;
  readonly status: string;
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly atMs: number;
}

/** What came of a lookup, in a line. */
export interface AnswerLine {
  readonly domain: string;
  readonly text: string;
}

/**
 * The end of a span of time, in seconds since the start; calls per second in it; the limit in calls per
 * second where one is known; and what held calls up for long, if anything did.
 */
export type RatePoint = readonly [
  seconds: number,
  calls: number,
  limit: number | null,
  heldBy?: HoldUp,
];

/** Chunks of lookups that no worker has taken. */
export interface BacklogState {
  /** Those of runs, and those that belong to none: backfills. */
  readonly waiting: number;
  /** Those of backfills that wait until they are resumed. */
  readonly aside: number;
  /** Whether backfills are paused. */
  readonly isPaused: boolean;
}

/** A process that makes lookups. */
export interface WorkerState {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Calls that it makes at most at the same time. */
  readonly concurrency: number;
  /** HTTP requests made since it was started; missing where it does not count them. */
  readonly calls?: number | undefined;
  /** What it holds, by run or by who put it on the queue. */
  readonly holds: readonly WorkerLoad[];
}

export interface WorkerLoad {
  /** The run, or what else the lookups are for. */
  readonly of: string;
  /** Missing where lookups do not travel in chunks. */
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
  /** How it went; a line for people. */
  readonly text: string;
}

/** Where the page gets from what it shows, and who does what is asked on it. */
export interface BoardSource {
  /** Asked a few times a second while somebody looks, else not at all. */
  read(): Promise<Board>;
  /** @returns why it cannot be done; nothing when it is on its way */
  ask(run: string, action: RunAction): Promise<string | undefined>;
  /** Asks for a run of a scheduled job now; likewise. */
  runNow(group: string, job: string): Promise<string | undefined>;
  /** Pauses or resumes all lookups that belong to no run; likewise. */
  steerBackfills(action: 'pause' | 'resume'): Promise<string | undefined>;
}
