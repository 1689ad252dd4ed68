import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Chunk, LookupQueue } from '../../src/calls/lookup-queue.ts';
import type { Outcome } from '../../src/calls/outcome.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { createGate } from '../support/gate.ts';

function createQueue(window: number, collected: Outcome[] = []): LookupQueue {
  return createInProcessQueue({
    window,
    collect: async (outcomes) => {
      collected.push(...outcomes);
    },
  });
}

function chunkOf(index: number): Chunk {
  return { domains: [`d${index}.com`] };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

describe('the queue of a process', () => {
  it('works on as many chunks as its window, and lets whoever adds more wait', async () => {
    const queue = createQueue(3);
    const gate = createGate();
    let added = 0;
    let working = 0;
    const produced = (async () => {
      for (let index = 0; index < 20; index += 1) {
        await queue.add(chunkOf(index));
        added += 1;
      }
      queue.end();
    })();
    const worked = queue.work(async () => {
      working += 1;
      await gate.opened;
    });
    await turns(5);
    expect([working, added]).toEqual([3, 3]);
    gate.open();
    await Promise.all([produced, worked]);
    expect([working, added]).toEqual([20, 20]);
  });

  it('hands every chunk out exactly once and never exceeds its window, however long each takes', async () => {
    const steps = fc.array(fc.record({ addAfter: fc.nat(2), takes: fc.nat(5) }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), steps, async (window, list) => {
        const queue = createQueue(window);
        const handled: string[] = [];
        let underWay = 0;
        const working = queue.work(async ({ domains }) => {
          underWay += 1;
          expect(underWay).toBeLessThanOrEqual(window);
          handled.push(...domains);
          for (let turn = 0; turn < (list[handled.length]?.takes ?? 0); turn += 1) {
            await Promise.resolve();
          }
          underWay -= 1;
        });
        for (const [index, { addAfter }] of list.entries()) {
          for (let turn = 0; turn < addAfter; turn += 1) await Promise.resolve();
          await queue.add(chunkOf(index));
        }
        queue.end();
        await working;
        expect(handled).toEqual(list.map((_, index) => `d${index}.com`));
      }),
    );
  });
});

describe('outcomes that are not stored yet', () => {
  const outcome = { domain: 'd.com' } as Outcome;

  it('do not hold up their chunk, but the end of the work', async () => {
    const stored = createGate();
    const queue = createInProcessQueue({ window: 1, collect: () => stored.opened });
    let handled = 0;
    let hasEnded = false;
    for (let index = 0; index < 3; index += 1) {
      void queue.add(chunkOf(index));
      await turns(1);
    }
    const worked = queue
      .work(async (_, reply) => {
        await reply([outcome]);
        handled += 1;
      })
      .finally(() => {
        hasEnded = true;
      });
    await turns(3);
    queue.end();
    await turns(3);
    expect([handled, hasEnded]).toEqual([3, false]);
    stored.open();
    await Promise.all([worked, queue.settled()]);
  });

  it('are no more than the bound: then nobody makes a call', async () => {
    let stored = createGate();
    const collect = (): Promise<void> => stored.opened;
    const queue = createInProcessQueue({ window: 3, collect, mostUnstored: 4 });
    let handled = 0;
    const worked = queue.work(async (_, reply) => {
      handled += 1;
      await reply([outcome, outcome]);
    });
    const produced = (async () => {
      for (let index = 0; index < 20; index += 1) await queue.add(chunkOf(index));
      queue.end();
    })();
    await turns(9);
    // With four, each of the three that work takes one more at the most.
    expect(handled).toBeGreaterThanOrEqual(3);
    expect(handled).toBeLessThanOrEqual(5);
    const before = stored;
    stored = createGate();
    stored.open();
    before.open();
    await Promise.all([worked, produced, queue.settled()]);
    expect(handled).toBe(20);
  });
});

describe('a worker that fails', () => {
  it('fails the work with its error, and no chunk is taken any more', async () => {
    const queue = createQueue(1);
    const defect = new Error('out of order');
    let handled = 0;
    await queue.add(chunkOf(0));
    const working = queue.work(async () => {
      handled += 1;
      throw defect;
    });
    await expect(working).rejects.toBe(defect);
    await queue.add(chunkOf(1));
    await turns(3);
    expect(handled).toBe(1);
  });

  it('lets go whoever waits for room', async () => {
    const queue = createQueue(1);
    const gate = createGate();
    const defect = new Error('out of order');
    const working = queue.work(async () => {
      await gate.opened;
      throw defect;
    });
    await turns(1);
    await queue.add(chunkOf(0));
    const waiting = queue.add(chunkOf(1));
    gate.open();
    await expect(working).rejects.toBe(defect);
    await waiting;
    await queue.add(chunkOf(2));
  });

  it('does so as well when that shows only after the chunk', async () => {
    const full = new Error('the disk is full');
    const stored = createGate();
    const queue = createInProcessQueue({
      window: 2,
      collect: async () => {
        await stored.opened;
        throw full;
      },
    });
    await queue.add(chunkOf(0));
    const working = queue.work((_, reply) => reply([{ domain: 'd0.com' } as Outcome]));
    await turns(3);
    stored.open();
    await expect(working).rejects.toBe(full);
    await queue.settled();
  });
});
