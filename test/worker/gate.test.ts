import { describe, expect, it } from 'vitest';
import { createWaitQueue } from '../../src/worker/gate.ts';

describe('a queue of callers that wait', () => {
  it('calls them in the order in which they came', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const turns = ['a', 'b'].map((name) => queue.wait(signal, false).then(() => called.push(name)));
    expect(queue.length).toBe(2);
    for (const _ of [1, 2, 3]) queue.wakeNext();
    await Promise.all(turns);
    expect([called, queue.length]).toEqual([['a', 'b'], 0]);
  });

  it('calls those who were let through before in turn with those who were not', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const came = [false, false, true, true].map((isAgain, at) =>
      queue.wait(signal, isAgain).then(() => called.push(`${isAgain ? 'again' : 'new'} ${at}`)),
    );
    for (const _ of came) queue.wakeNext();
    await Promise.all(came);
    expect(called).toEqual(['new 0', 'again 2', 'new 1', 'again 3']);
  });

  it('loses whoever is told to stop, before or meanwhile, and nobody else', async () => {
    const queue = createWaitQueue();
    const stopped = new AbortController();
    const [first, second] = [
      queue.wait(stopped.signal, false),
      queue.wait(new AbortController().signal, false),
    ];
    const reason = new Error('stopped');
    stopped.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(queue.wait(stopped.signal, false)).rejects.toBe(reason);
    expect(queue.length).toBe(1);
    queue.wakeNext();
    await second;
  });
});
