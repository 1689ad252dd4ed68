import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { createCloser, unlessAborted } from '../../src/common/lifetime.ts';
import { createRunControl } from '../../src/common/run-control.ts';

it('closes all, last first, also when some cannot be closed, and throws the first error', async () => {
  const closer = createCloser();
  const closed: string[] = [];
  const add = (name: string, fail: () => Promise<void>): void => {
    closer.add({
      close: () => {
        closed.push(name);
        return fail();
      },
    });
  };
  add('store', async () => {});
  add('output', () => Promise.reject(new Error('disk')));
  add('queue', () => {
    throw new Error('gone'); // before it gives a promise
  });
  await expect(closer.close()).rejects.toThrow('gone');
  expect(closed).toEqual(['queue', 'output', 'store']);
  await expect(closer.close()).resolves.toBeUndefined();
});

it('waits for work until an abort, and leaves no listener behind however that ends', async () => {
  const stopping = new AbortController();
  const { signal } = stopping;
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(unlessAborted(Promise.reject(new Error('gone')), signal)).rejects.toThrow('gone');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const waiting = unlessAborted(new Promise(() => {}), signal);
  stopping.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(unlessAborted(new Promise(() => {}), signal)).rejects.toThrow('enough');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('the control of a run tells of each change once, until nobody listens; a stop ends a pause, and is the last', () => {
  const control = createRunControl();
  const seen: boolean[] = [];
  const end = control.onChange(() => seen.push(control.isPaused));
  control.pause();
  control.pause();
  control.resume();
  expect(seen).toEqual([true, false]);
  end();
  control.pause();
  control.stop();
  control.pause();
  expect([control.stopped.aborted, control.isPaused, seen.length]).toEqual([true, false, 2]);
});
