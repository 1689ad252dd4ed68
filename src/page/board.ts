import type { RunControl } from '../common/run-control.ts';
import type { RunRecorder } from '../watch/record-run.ts';
import type { RunAction, RunView } from '../watch/run-view.ts';
import { PHASES } from '../watch/words.ts';

/** Everything that the dashboard shows. It travels whole, as JSON. */
export interface Board {
  readonly runs: readonly RunView[];
  readonly workers: readonly WorkerState[];
  readonly schedules: readonly ScheduleState[];
  /** Why the board is not up to date; a sentence. */
  readonly trouble?: string | undefined;
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
}

export interface ScheduleState {
  readonly job: string;
  readonly cron: string;
  readonly timezone: string;
  /** ISO 8601. */
  readonly nextAt: string;
  readonly runningSince?: string | undefined;
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  /** How its last run ended; a line for people. */
  readonly last?: { readonly finishedAt: string; readonly text: string } | undefined;
}

/** Supplies what the dashboard shows, and carries out what is asked for on it. */
export interface BoardSource {
  /** Called a few times a second while somebody looks, otherwise not at all. */
  read(): Promise<Board>;
  /** @returns why it cannot be done; nothing when it is under way */
  readonly ask: (run: string, action: RunAction) => Promise<string | undefined>;
}

export interface OwnRunOptions {
  readonly recorder: Pick<RunRecorder, 'read'>;
  readonly control: RunControl;
}

/** The board of a process that makes a single run. */
export function showOwnRun({ recorder, control }: OwnRunOptions): BoardSource {
  return {
    read: async (): Promise<Board> => ({ runs: [recorder.read()], workers: [], schedules: [] }),
    ask: async (id, action) => {
      const run = recorder.read();
      return id === run.runId ? applyAction(run, control, action) : GONE;
    },
  };
}

export const GONE = 'There is no such run any more.';

/** Applies an action to a run; returns why it cannot be done. */
export function applyAction(
  run: Pick<RunView, 'actions' | 'phase'>,
  control: RunControl,
  action: RunAction,
): string | undefined {
  if (!run.actions.includes(action)) {
    return `This cannot be done now. The run: ${PHASES[run.phase]}.`;
  }
  if (action === 'pause') control.pause();
  else if (action === 'resume') control.resume();
  else control.stop();
  return undefined;
}
