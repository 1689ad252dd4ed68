import type { RunControl } from '../common/run-control.ts';
import type { FoundWorker, QueueState } from '../queue/board.ts';
import type { ScheduledJob } from '../queue/schedules.ts';
import type { RunRecorder } from '../watch/record-run.ts';
import type { RunAction, RunView } from '../watch/run-view.ts';
import { GO_ON, PHASES } from '../watch/words.ts';

/** Everything that the dashboard shows. It travels whole, as JSON. */
export interface Board {
  readonly runs: readonly RunView[];
  readonly workers: readonly FoundWorker[];
  /** Of the APIs, those with something on them. */
  readonly queues: readonly QueueState[];
  readonly schedules: readonly ScheduledJob[];
  /** Why the board is not up to date; a sentence. */
  readonly trouble?: string | undefined;
}

/** Supplies what the dashboard shows, and carries out what is asked for on it. */
export interface BoardSource {
  /** Called a few times a second while somebody looks, otherwise not at all. */
  read(): Promise<Board>;
  /** @returns why it cannot be done; nothing when it is under way */
  readonly ask: (run: string, action: RunAction) => Promise<string | undefined>;
  /**
   * Puts the failed jobs of a queue on it again.
   *
   * @returns why it cannot be done
   * @default there are no queues
   */
  readonly takeFailedAgain?: (queue: string) => Promise<string | undefined>;
}

/** Where nothing is going on. */
export const EMPTY_BOARD: Board = { runs: [], workers: [], queues: [], schedules: [] };

/** The board of a process that makes a single run. */
export function showOwnRun(recorder: Pick<RunRecorder, 'read'>, control: RunControl): BoardSource {
  return {
    read: async () => ({ ...EMPTY_BOARD, runs: [recorder.read()] }),
    ask: async (id, action) => {
      const run = recorder.read();
      return id === run.runId ? applyAction(run, control, action) : GONE;
    },
  };
}

/** Whether nothing more happens in a run. */
export function isOver({ phase }: RunView): boolean {
  return phase === 'ended' || phase === 'lost';
}

/** A run whose process is gone. A schedule starts the run again by itself. */
export function lost(view: RunView): RunView {
  const next = view.schedule ? view.next : GO_ON;
  const none = { actions: [], isPaused: false, wait: undefined, pendingNow: 0 };
  return { ...view, phase: 'lost', ...none, next };
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
