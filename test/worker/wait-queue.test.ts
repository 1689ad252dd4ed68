import { expect, it } from 'vitest';
import { NotAskedError } from '../../src/worker/stop-switch.ts';
import { type Waiting, WaitQueue } from '../../src/worker/wait-queue.ts';

/** A queue, and what became of those who wait in it. */
function open() {
  const queue = new WaitQueue();
  const ends: string[] = [];
  const { signal } = new AbortController();
  const wait = (name: string, isWanted: boolean | undefined, kind: Waiting = 'new'): void => {
    const question = isWanted === undefined ? undefined : { isWanted: () => isWanted };
    queue.wait(signal, kind, question).then(
      () => ends.push(`${name} has its turn`),
      (error: unknown) =>
        ends.push(`${name} ${error instanceof NotAskedError ? 'left' : 'failed'}`),
    );
  };
  return { queue, ends, wait };
}

it('those leave that are not wanted any more; the others keep their places', async () => {
  const { queue, ends, wait } = open();
  wait('first', true);
  wait('unwanted', false);
  wait('of nobody', undefined);
  wait('unwanted again', false, 'again');
  queue.leave();
  await Promise.resolve();
  expect(ends).toEqual(['unwanted left', 'unwanted again left']);
  expect([queue.length, queue.hasAgain]).toEqual([2, false]);
  queue.wakeNext();
  queue.wakeNext();
  await Promise.resolve();
  expect(ends.slice(2)).toEqual(['first has its turn', 'of nobody has its turn']);
});

it('a probe is never left out', () => {
  const { queue, wait } = open();
  wait('probe', false, 'probe');
  queue.leave();
  expect(queue.hasProbe).toBe(true);
});
