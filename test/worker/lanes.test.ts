import { describe, expect, it } from 'vitest';
import { createLanes } from '../../src/worker/lanes.ts';

/** Work that ends when it is told to. */
function useWork() {
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  return {
    started,
    work: (item: string): Promise<string> =>
      new Promise((resolve, reject) => {
        started.push(item);
        ends.set(item, (error) => (error ? reject(error) : resolve(item.toUpperCase())));
      }),
    end: async (item: string, error?: Error): Promise<void> => {
      ends.get(item)?.(error);
      await new Promise(setImmediate);
    },
  };
}

const nothing = (): undefined => undefined;

describe('lanes', () => {
  it('work on so many items at a time, batch after batch', async () => {
    const { started, work, end } = useWork();
    const lanes = createLanes(3);
    const all = Promise.all([
      lanes.each(['a', 'b'], work, nothing),
      lanes.each(['c', 'd', 'e'], work, nothing),
    ]);
    expect(started).toEqual(['a', 'b', 'c']);
    await end('b');
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    await end('c');
    for (const item of ['a', 'd', 'e']) await end(item);
    await all;
    expect(started).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('take what comes when all were idle', async () => {
    const { started, work, end } = useWork();
    const lanes = createLanes(2);
    const first = lanes.each(['a'], work, nothing);
    await end('a');
    await first;
    const second = lanes.each(['b', 'c', 'd'], work, nothing);
    expect(started).toEqual(['a', 'b', 'c']);
    for (const item of ['b', 'c', 'd']) await end(item);
    await second;
  });

  it('are not held up by what comes after the work, but a batch waits for it', async () => {
    const { started, work, end } = useWork();
    const settled: string[] = [];
    let settle = (): void => {};
    const settling = new Promise<void>((resolve) => {
      settle = resolve;
    });
    let isDone = false;
    const batch = createLanes(1)
      .each(['a', 'b'], work, (result) => {
        settled.push(result);
        return settling;
      })
      .then(() => {
        isDone = true;
      });
    await end('a');
    await end('b');
    expect({ started, settled, isDone }).toEqual({
      started: ['a', 'b'],
      settled: ['A', 'B'],
      isDone: false,
    });
    settle();
    await batch;
    expect(isDone).toBe(true);
  });

  it('go on with others when one fails', async () => {
    const { started, work, end } = useWork();
    const lanes = createLanes(1);
    const failing = lanes.each(['a', 'b'], work, nothing);
    const other = lanes.each(['c'], work, nothing);
    const failed = expect(failing).rejects.toThrow('no good');
    await end('a', new Error('no good'));
    await failed;
    await end('b');
    await end('c');
    await other;
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('have nothing to do for a batch of nothing', async () => {
    await createLanes(1).each([], () => Promise.reject(new Error('asked')), nothing);
  });
});
