import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeadlines } from '../../src/brand/deadline.ts';

/** What is due is over only when connections were read. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await immediate();
}

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('fires when time is up and not before', async () => {
    const deadline = createDeadlines(1_000).start(new AbortController().signal);
    await pass(999);
    expect(deadline.isOver).toBe(false);
    await pass(1);
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

  it('neither fires with time nor with the parent of an earlier one', async () => {
    const deadlines = createDeadlines(1_000);
    const earlier = new AbortController();
    deadlines.start(earlier.signal).clear();
    await pass(600);
    const deadline = deadlines.start(new AbortController().signal);
    earlier.abort();
    await pass(999);
    expect(deadline.isOver).toBe(false);
    await pass(1);
    expect(deadline.isOver).toBe(true);
  });

  it('has its whole time after one that fired', async () => {
    const deadlines = createDeadlines(1_000);
    const fired = deadlines.start(new AbortController().signal);
    await pass(1_000);
    fired.clear();
    const next = deadlines.start(new AbortController().signal);
    await pass(999);
    expect([fired.isOver, next.isOver]).toEqual([true, false]);
  });

  it('has its whole time after a pause longer than that', async () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const before = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    for (const deadline of before) deadline.clear();
    await pass(5_000);
    const after = [deadlines.start(parent), deadlines.start(parent), deadlines.start(parent)];
    expect(after.map(({ isOver }) => isOver)).toEqual([false, false, false]);
  });

  it('is not over when the work was done after all before connections were read', async () => {
    const deadlines = createDeadlines(1_000);
    const parent = new AbortController().signal;
    const done = deadlines.start(parent);
    vi.advanceTimersByTime(1_000);
    done.clear();
    const next = deadlines.start(parent);
    await pass(999);
    expect([done.isOver, next.isOver]).toEqual([false, false]);
  });

  it('tells whoever works under it, once, and nobody else', async () => {
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
    await pass(1_000);
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
