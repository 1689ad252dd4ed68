import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type JobEnd, type LoadedJob, runJob } from '../commands/run.ts';
import {
  BrandfillError,
  describeError,
  EXIT,
  exitCodeOfError,
  type OnNotice,
} from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { createRunId } from '../common/hashes.ts';
import { aborted, within } from '../common/lifetime.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import type { ScheduleQueue } from '../queue/bullmq/schedule-queue.ts';
import type {
  ScheduledResult,
  ScheduleResults,
  TakenRun,
  takeRuns,
} from '../queue/bullmq/schedule-worker.ts';
import type { RedisServer } from '../queue/bullmq/server/redis.ts';
import { createNoticeFilter, reasonOf, toQueueError } from '../queue/bullmq/server/refusals.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import type { ScheduledFiles, Scheduler } from './schedules.ts';

export interface ServeSchedulesOptions {
  readonly redis: RedisServer;
  readonly group: string;
  readonly queue: ScheduleQueue;
  readonly results: ScheduleResults;
  readonly takeRuns: typeof takeRuns;
  readonly scheduled: ScheduledFiles;
  readonly scheduler: Scheduler;
  /** How long a process may be silent before its runs are given to another. */
  readonly leaseMs: number;
  readonly signal?: AbortSignal;
  readonly onNotice: OnNotice;
  readonly onRunEvent?: (job: string, event: RunEvent, run: string) => void;
  readonly onRunEnd?: (job: string) => void;
  /** Measures the runs. @default nothing */
  readonly instruments?: InstrumentMaker | undefined;
  /** The URL of the Redis, whose dashboard also shows the runs. */
  readonly url: string;
}

/** How often files are checked for edits. */
const POLL_MS = 2_000;
/** How often to check whether Redis still has its schedules. */
const MEND_MS = 30_000;
/** A run that begins this much later than it was due was missed. */
const LATE_MS = 60_000;

/** Makes the runs of a group until the signal fires, and applies edits meanwhile. */
export async function serveSchedules(options: ServeSchedulesOptions): Promise<void> {
  const { queue, results, scheduled, onNotice } = options;
  const { signal = new AbortController().signal } = options;
  const { files } = scheduled;

  const taker = options.takeRuns({
    ...options,
    atOnce: files.size,
    onTick: async (job, { atMs, agoMs }) => {
      if (!files.has(job)) return;
      const why = agoMs > LATE_MS ? 'missed' : 'due';
      if (await queue.ask({ job, why, dueAtMs: atMs })) return;
      await results.skip(job);
      const due = new Date(atMs).toISOString();
      onNotice(`${job}: was due at ${due} but is still running; this run is skipped.`, { job });
    },
    run: async (taken, runSignal) => {
      const { job } = taken;
      const file = files.get(job);
      if (file === undefined) return true;
      return await makeRun(taken, {
        file,
        results,
        signal: runSignal,
        instruments: options.instruments,
        board: options.url,
        group: options.group,
        onNotice,
        onEvent: (event, run) => options.onRunEvent?.(job, event, run),
        onEnd: () => options.onRunEnd?.(job),
      });
    },
  });
  const looking = keepLooking({ ...options, signal });
  await aborted(signal);
  await taker.stop();
  await Promise.race([looking, delay(0)]); // Redis may be gone, which would hold this up
}

async function keepLooking(
  options: ServeSchedulesOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { scheduled, scheduler, signal, onNotice } = options;
  const isNew = createNoticeFilter();
  let mendedAtMs = performance.now(); // independent of changes to the clock
  for (;;) {
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      await scheduler.takeUp(await scheduled.readEdited());
      if (performance.now() - mendedAtMs < MEND_MS) continue;
      await scheduler.mend();
      mendedAtMs = performance.now();
    } catch (error) {
      const found = toQueueError(error);
      const message = found instanceof Error ? found.message : String(found);
      if (isNew(message)) onNotice(message);
    }
  }
}

export interface MakeRunOptions {
  readonly file: string;
  readonly results: Pick<ScheduleResults, 'add'>;
  /** Ends the run in order. */
  readonly signal: AbortSignal;
  /** Called when the run begins, and with how it ended. */
  readonly onNotice: OnNotice;
  /** Called with each event of the run, and the id of the run in logs. */
  readonly onEvent: (event: RunEvent, run: string) => void;
  /** Called after its last event. */
  readonly onEnd: () => void;
  /** Measures the run. @default nothing */
  readonly instruments?: InstrumentMaker | undefined;
  /** The Redis whose dashboard shows the run. */
  readonly board?: string | undefined;
  /** The group of schedules that the job is in. */
  readonly group: string;
}

/** Includes the id of the run in logs. */
type NamedRun = MakeRunOptions & { readonly runId: string };

type Ended = Omit<ScheduledResult, 'why' | 'startedAt' | 'finishedAt' | 'skipped' | 'host'>;

interface EndedRun {
  readonly ended: Ended;
  /** Set if the run came to its end. */
  readonly summary?: Summary;
}

/** A run in which this many processes were lost would probably end the next one too. */
const MOST_LOSSES = 3;
/**
 * The process that had a run before may still be ending it, and hold its output, when another takes
 * it over.
 */
const OUTPUT_WAITS_MS = [5_000, 10_000, 20_000, 40_000];
/** Redis may be gone when a run is to end. */
const SHUTDOWN_TIMEOUT_MS = 5_000;

/**
 * Runs a job file, and records how it went. Never throws.
 *
 * @returns whether the run came to its end: then nothing is left to be made again, even when the
 * signal fired while `onFinish` was running
 */
export async function makeRun(taken: TakenRun, options: MakeRunOptions): Promise<boolean> {
  const { results, signal, onEnd } = options;
  const { job, why } = taken;
  const runId = createRunId();
  const onNotice: OnNotice = (message, facts) =>
    options.onNotice(message, { ...facts, job, run: runId });
  const startedAt = new Date();
  onNotice(`${job}: ${describeStart(taken)}`, { level: taken.losses > 0 ? 'warn' : 'info' });
  const { ended, summary } = await run(taken, { ...options, onNotice, runId });
  const finishedAt = new Date();
  onEnd();
  onNotice(`${job}: ${describeEnd(ended, finishedAt.getTime() - startedAt.getTime())}`, {
    level: ended.exitCode === EXIT.ok ? 'info' : 'warn',
    event: ended.error === undefined ? 'finished' : 'error',
    exitCode: ended.exitCode,
    ...(summary && { summary }),
  });
  const result = {
    why,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
    host: hostname(),
    ...ended,
  };
  const noting = results.add(job, result).catch((error: unknown) => {
    if (signal.aborted) return; // Redis may be gone as well
    onNotice(
      `${job}: the result could not be saved (${reasonOf(error)}): schedule --list does not show this run.`,
    );
  });
  if (signal.aborted) await within(SHUTDOWN_TIMEOUT_MS, noting);
  else await noting;
  return ended.error === undefined && ended.stopped !== 'interrupted';
}

async function run({ job, losses, isAgain }: TakenRun, options: NamedRun): Promise<EndedRun> {
  const { signal, onNotice } = options;
  if (losses >= MOST_LOSSES) return await tryToRun({ ...options, job, onLoaded: giveUp(losses) });
  const waits = isAgain ? OUTPUT_WAITS_MS : [];
  for (const waitMs of waits) {
    const isTriedAgain = (error: unknown): boolean => isInUse(error) && !signal.aborted;
    const end = await tryToRun({ ...options, job, isTriedAgain });
    if (!end.isTriedAgain) return end;
    onNotice(`${job}: waits because another run still uses the output.`);
    await delay(waitMs, undefined, { signal }).catch(() => {});
  }
  return await tryToRun({ ...options, job });
}

interface TryOptions extends NamedRun {
  readonly job: string;
  readonly isTriedAgain?: (error: unknown) => boolean;
  readonly onLoaded?: (job: LoadedJob) => void;
}

async function tryToRun({
  job,
  group,
  file,
  signal,
  onEvent,
  instruments,
  board,
  runId,
  isTriedAgain = () => false,
  onLoaded = refuseStandardInput,
}: TryOptions): Promise<EndedRun & { readonly isTriedAgain: boolean }> {
  try {
    const options = {
      signal,
      runId,
      onEvent: (event: RunEvent) => onEvent(event, runId),
      onLoaded,
    };
    const around = { instruments, board, schedule: { group, job }, isTriedAgain };
    const end = await runJob(file, options, around);
    return { ended: resultOf(end), summary: end.summary, isTriedAgain: false };
  } catch (error) {
    const ended = { exitCode: exitCodeOfError(error), error: describeError(error) };
    return { ended, isTriedAgain: isTriedAgain(error) };
  }
}

function isInUse(error: unknown): boolean {
  return error instanceof BrandfillError && error.code === 'OUTPUT_IN_USE';
}

/** Throws, so that `onFinish` reports this like any other error. */
function giveUp(losses: number): () => never {
  return () => {
    throw new Error(
      `${losses} processes were lost during the run; it is not tried again before it is next due.`,
    );
  };
}

function refuseStandardInput({ file, options }: LoadedJob): void {
  if (options.input !== '-') return;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot run ${file} by schedule: its list is standard input, which has an end; name a file in 'input'.`,
  );
}

function resultOf({ summary, exitCode }: JobEnd): Ended {
  const { rows, statuses, calls, stopped } = summary;
  return {
    exitCode,
    rows,
    found: statuses.found,
    failed: statuses.failed,
    calls,
    ...(stopped === undefined ? {} : { stopped: stopped.reason }),
  };
}

function describeStart({ why, dueAtMs, losses, isAgain }: TakenRun): string {
  if (losses > 0) return 'starts again; its process was lost during the run.';
  if (isAgain) return 'starts again; it was interrupted.';
  if (why === 'asked') return 'starts on request.';
  const due = `it was due at ${new Date(dueAtMs).toISOString()}`;
  return why === 'missed' ? `starts late: ${due}, but no process was running.` : `starts; ${due}.`;
}

function describeEnd(
  { exitCode, rows, found, failed, calls, stopped, error }: Ended,
  elapsedMs: number,
): string {
  const end = `ended with exit code ${exitCode} after ${formatDuration(elapsedMs)}`;
  if (error !== undefined) return `${end}: ${error}`;
  const counts = `${rows} rows, ${found} found, ${failed} failed, ${calls} calls`;
  return `${end}: ${counts}${stopped === undefined ? '' : `; stopped early (${stopped})`}.`;
}
