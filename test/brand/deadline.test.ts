import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeadlines } from '../../src/brand/deadline.ts';

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('fires when time is up and not before', () => {
    const deadline = createDeadlines(1_000).start(new AbortController().signal);
    vi.advanceTimersByTime(999);
    expect(deadline.isOver).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.isOver).toBe(true);
  });

  it('fires with its parent, also when that fired before', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController();
    const [one, two] = [deadlines.start(parent.signal), deadlines.start(parent.signal)];
    const other = deadlines.start(new AbortController().signal);
    parent.abort();
    expect([one, two, other].map(({ isOver }) => isOver)).toEqual([true, true, false]);
    expect(deadlines.start(parent.signal).isOver).toBe(true);
  });

  it('neither fires with time nor with the parent of an earlier one', () => {
    const deadlines = createDeadlines(1_000);
    const earlier = new AbortController();
    deadlines.start(earlier.signal).clear();
    vi.advanceTimersByTime(600);
    const deadline = deadlines.start(new AbortController().signal);
    earlier.abort();
    vi.advanceTimersByTime(999);
    expect(deadline.isOver).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.isOver).toBe(true);
  });

  it('has its whole time after one that fired', () => {
    const deadlines = createDeadlines(1_000);
    const fired = deadlines.start(new AbortController().signal);
    vi.advanceTimersByTime(1_000);
    fired.clear();
    const next = deadlines.start(new AbortController().signal);
    vi.advanceTimersByTime(999);
    expect([fired.isOver, next.isOver]).toEqual([true, false]);
  });

  it('has its whole time after a pause longer than that', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const before = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    for (const deadline of before) deadline.clear();
    vi.advanceTimersByTime(5_000);
    const after = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    expect(after.map(({ isOver }) => isOver)).toEqual([false, false, false]);
  });

  it('tells whoever works under it, once, and nobody else', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController();
    const told: string[] = [];
    const ended = deadlines.start(parent.signal);
    ended.onOver = () => told.push('ended');
    ended.clear();
    for (const name of ['one', 'two']) {
      deadlines.start(parent.signal).onOver = () => told.push(name);
    }
    parent.abort();
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual(['one', 'two']);
  });

  it('leaves no timer behind when it fired', () => {
    const parent = new AbortController();
    const deadline = createDeadlines(1_000).start(parent.signal);
    parent.abort();
    deadline.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('listens to a parent once, however many calls it has', () => {
    const parent = new AbortController().signal;
    const listen = vi.spyOn(parent, 'addEventListener');
    const deadlines = createDeadlines(1_000);
    for (let call = 0; call < 20; call += 1) deadlines.start(parent).clear();
    expect(listen).toHaveBeenCalledTimes(1);
  });
});
