import type { Board, RunState } from '../../src/web/board.ts';

/** A run that is going on. */
export function runState(changes: Partial<RunState> = {}): RunState {
  return {
    id: 'a',
    list: 'list.csv',
    phase: 'looking_up',
    isPaused: false,
    isRetryWanted: false,
    actions: ['pause', 'stop'],
    host: 'here',
    pid: 1,
    startedAtMs: 0,
    failures: [],
    answers: [],
    notices: [],
    history: [],
    ...changes,
  };
}

export function board(changes: Partial<Board> = {}): Board {
  return { runs: [runState()], workers: [], schedules: [], ...changes };
}
