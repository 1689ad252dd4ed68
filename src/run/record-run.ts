import { hostname } from 'node:os';
import { createRunControl, type RunControl } from '../common/run-control.ts';
import type { ScheduleName } from '../dashboard/board.ts';
import type { LiveRun } from '../dashboard/live-run.ts';
import type { RunContext } from './run-context.ts';

/** A run that is recorded, so that a dashboard can show it. */
export interface RecordedRun {
  readonly recorder: LiveRun;
  /** Steers the run. It is the control of the caller, if there is one. */
  readonly control: RunControl;
  /** The context of the run, whose events also go to the recorder. */
  readonly context: RunContext;
}

/**
 * Records a run that is about to start.
 *
 * @param schedule the schedule that makes the run, if any
 */
export async function recordRun(
  context: RunContext,
  schedule?: ScheduleName,
): Promise<RecordedRun> {
  // Loaded here, so that a run without a dashboard need not wait for it.
  const { createLiveRun } = await import('../dashboard/live-run.ts');
  const { control = createRunControl(), onEvent, runId, signal } = context;
  const about = { id: runId, host: hostname(), pid: process.pid, startedAtMs: Date.now() };
  const recorder = createLiveRun({ ...about, control, schedule });
  return {
    recorder,
    control,
    context: {
      ...context,
      control,
      signal: AbortSignal.any([signal, control.stopped]),
      onEvent: (event) => {
        recorder.show(event);
        onEvent(event);
      },
    },
  };
}
