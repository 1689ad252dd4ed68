import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { createCloser, unlessAborted } from '../../src/common/lifetime.ts';

it('closes all, last first, also when some cannot be closed, and throws the first error', async () => {
  const closer = createCloser();
  const closed: string[] = [];
  const add = (name: string, error?: Error): void => {
    closer.add({
      close: async () => {
        closed.push(name);
        if (error) throw error;
      },
    });
  };
  add('store');
  add('output', new Error('disk'));
  add('queue', new Error('gone'));
  await expect(closer.close()).rejects.toThrow('gone');
  expect(closed).toEqual(['queue', 'output', 'store']);
  await expect(closer.close()).resolves.toBeUndefined();
});

it('closes all also when one throws before it gives a promise', async () => {
  const closer = createCloser();
  const closed: string[] = [];
  closer.add({ close: async () => void closed.push('store') });
  closer.add({
    close: () => {
      throw new Error('gone');
    },
  });
  await expect(closer.close()).rejects.toThrow('gone');
  expect(closed).toEqual(['store']);
});

it('waits for work until an abort, and leaves no listener behind however that ends', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(unlessAborted(Promise.reject(new Error('gone')), signal)).rejects.toThrow('gone');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const stopping = new AbortController();
  const waiting = unlessAborted(new Promise(() => {}), stopping.signal);
  stopping.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(unlessAborted(new Promise(() => {}), stopping.signal)).rejects.toThrow('enough');
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
});
