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
    const { signal } = createDeadlines(1_000).start(new AbortController().signal);
    vi.advanceTimersByTime(999);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
  });

  it('fires with its parent, also when that fired before', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController();
    const [one, two] = [deadlines.start(parent.signal), deadlines.start(parent.signal)];
    const other = deadlines.start(new AbortController().signal);
    parent.abort();
    expect([one, two, other].map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
    expect(deadlines.start(parent.signal).signal.aborted).toBe(true);
  });

  it('neither fires with time nor with the parent of an earlier one', () => {
    const deadlines = createDeadlines(1_000);
    const earlier = new AbortController();
    deadlines.start(earlier.signal).clear();
    vi.advanceTimersByTime(600);
    const { signal } = deadlines.start(new AbortController().signal);
    earlier.abort();
    vi.advanceTimersByTime(999);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
  });

  it('has its whole time after one that fired', () => {
    const deadlines = createDeadlines(1_000);
    const fired = deadlines.start(new AbortController().signal);
    vi.advanceTimersByTime(1_000);
    fired.clear();
    const next = deadlines.start(new AbortController().signal);
    vi.advanceTimersByTime(999);
    expect([fired.signal.aborted, next.signal.aborted]).toEqual([true, false]);
  });

  it('has its whole time after a pause longer than that', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const before = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    for (const deadline of before) deadline.clear();
    vi.advanceTimersByTime(5_000);
    const after = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    expect(after.map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
  });

  it('does not share its signal with another that is under way', () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const started = [1, 2, 3].map(() => deadlines.start(parent).signal);
    expect(new Set(started).size).toBe(3);
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
