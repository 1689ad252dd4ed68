import { describe, expect, it } from 'vitest';
import { findChange, type RatePoint } from '../../src/web/board.ts';
import { board, runState } from './boards.ts';

describe('findChange', () => {
  it('finds nothing in what says the same', () => {
    expect(findChange(board(), board())).toBeUndefined();
  });

  it('tells of a run only what is new', () => {
    const after = board({ runs: [runState({ isPaused: true, actions: ['resume'] })] });
    expect(findChange(board(), after)).toEqual({
      runs: [{ id: 'a', isPaused: true, actions: ['resume'] }],
    });
  });

  it('says that a field has gone', () => {
    const before = board({ runs: [runState({ endedAtMs: 5 })] });
    expect(findChange(before, board())).toEqual({ runs: [{ id: 'a', endedAtMs: null }] });
  });

  it('tells of runs that came and went', () => {
    const other = runState({ id: 'b' });
    const change = findChange(board(), board({ runs: [other] }));
    expect(change).toEqual({ runs: [other], gone: ['a'] });
  });

  it('sends the points that were added, and all of them when they were thinned', () => {
    const points: RatePoint[] = [
      [1, 5, null],
      [2, 6, 9],
    ];
    const of = (history: readonly RatePoint[]) => board({ runs: [runState({ history })] });
    expect(findChange(of(points.slice(0, 1)), of(points))).toEqual({
      runs: [{ id: 'a', newHistory: [[2, 6, 9]] }],
    });
    expect(findChange(of(points), of([[2, 5.5, 9]]))).toEqual({
      runs: [{ id: 'a', history: [[2, 5.5, 9]] }],
    });
  });

  it('tells when backfills are paused', () => {
    const before = board({ backlog: { waiting: 4, aside: 0, isPaused: false } });
    const backlog = { waiting: 0, aside: 4, isPaused: true };
    expect(findChange(before, board({ backlog }))).toEqual({ backlog });
    expect(findChange(before, structuredClone(before))).toBeUndefined();
  });

  it('says that there is trouble, and that it is over', () => {
    expect(findChange(board(), board({ trouble: 'no Redis' }))).toEqual({ trouble: 'no Redis' });
    expect(findChange(board({ trouble: 'no Redis' }), board())).toEqual({ trouble: null });
  });
});
