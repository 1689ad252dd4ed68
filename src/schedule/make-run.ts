import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../common/abort.ts';
import { BrandfillError } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { createRunId } from '../common/hashes.ts';
import type { OnNotice } from '../common/notice.ts';
import { describeError, EXIT, exitCodeOfError } from '../exit-codes.ts';
import type { LoadedJob } from '../load-job.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import type {
  ScheduledResult,
  ScheduleResults,
} from '../queue/bullmq/schedules/schedule-keepers.ts';
import type { TakenRun } from '../queue/bullmq/schedules/schedule-worker.ts';
import { reasonOf } from '../queue/bullmq/server/reasons.ts';
import { type JobEnd, runJob } from '../run-job.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';

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
