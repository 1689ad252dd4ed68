import { describe, expect, it } from 'vitest';
import { createWaitQueue } from '../../src/common/run-control.ts';

describe('a queue of callers that wait', () => {
  it('calls them in the order in which they came', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const turns = ['a', 'b'].map((name) => queue.wait(signal).then(() => called.push(name)));
    expect(queue.length).toBe(2);
    queue.wakeNext();
    queue.wakeNext();
    queue.wakeNext();
    await Promise.all(turns);
    expect(called).toEqual(['a', 'b']);
    expect(queue.length).toBe(0);
  });

  it('loses whoever is told to stop, with the reason, and nobody else', async () => {
    const queue = createWaitQueue();
    const stopped = new AbortController();
    const [first, second] = [queue.wait(stopped.signal), queue.wait(new AbortController().signal)];
    const reason = new Error('stopped');
    stopped.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(queue.length).toBe(1);
    queue.wakeNext();
    await second;
  });

  it('turns away whoever was told to stop before, with the reason', async () => {
    const queue = createWaitQueue();
    const reason = new Error('stopped before');
    await expect(queue.wait(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(queue.length).toBe(0);
  });
});
