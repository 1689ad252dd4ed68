import { hostname } from 'node:os';
import type { RunControl } from '../common/run-control.ts';
import { applyAction } from './apply-action.ts';
import { type Board, type BoardSource, type WorkerState } from './board.ts';
import type { LiveRun } from './live-run.ts';

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
