import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/brand/outcome.ts';
import type { Reply } from '../../src/queue/lookup-queue.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { createGate } from '../support/gate.ts';
import {
  createTestContext,
  forbidden,
  found,
  notFound,
  rejected,
  type Script,
  type TestContext,
  type TestContextOptions,
  tryAgain,
  unauthorized,
} from './lookups.ts';

function domains(count: number, name = 'd'): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index}.com`);
}

/** Hands chunks to a worker at the same time and gives back what it replied. */
async function handle(
  script: Script,
  chunks: readonly (readonly string[])[],
  options: TestContextOptions & { concurrency?: number } = {},
): Promise<{ context: TestContext; outcomes: Outcome[]; statuses: Record<string, string> }> {
  const { concurrency = 4, ...others } = options;
  const context = createTestContext(script, others);
  const worker = createWorker({ ...context, concurrency });
  const outcomes: Outcome[] = [];
  await Promise.all(
    chunks.map((chunk) =>
      worker.handle({ domains: chunk }, async (some) => {
        outcomes.push(...some);
      }),
    ),
  );
  const statuses = Object.fromEntries(outcomes.map(({ domain, status }) => [domain, status]));
  return { context, outcomes, statuses };
}

describe('a worker', () => {
  it('gives one outcome for every domain', async () => {
    const list = domains(120);
    const { outcomes, context } = await handle(() => found, [list.slice(0, 50), list.slice(50)]);
    expect(outcomes.map(({ domain }) => domain).sort()).toEqual([...list].sort());
    expect(context.counters.calls).toBe(120);
  });

  it.each([1, 3, 10])(
    'has %i calls under way at the most, over all chunks',
    async (concurrency) => {
      let underWay = 0;
      let most = 0;
      const script: Script = async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await nextTurn();
        underWay -= 1;
        return found;
      };
      await handle(script, [domains(20, 'a'), domains(20, 'b')], { concurrency });
      expect(most).toBe(concurrency);
    },
  );

  it('replies as outcomes come and does not wait for the slowest', async () => {
    const slow = createGate();
    const replied = createGate();
    const context = createTestContext(async (domain) => {
      if (domain === 'slow.com') await slow.opened;
      return found;
    });
    const worker = createWorker({ ...context, concurrency: 2 });
    const done = worker.handle({ domains: ['slow.com', 'quick.com'] }, async ([outcome]) => {
      if (outcome?.domain === 'quick.com') replied.open();
    });
    await replied.opened;
    slow.open();
    await done;
  });

  it('is done with a chunk only when every outcome is kept', async () => {
    const kept = createGate();
    const context = createTestContext(() => found);
    const worker = createWorker({ ...context, concurrency: 1 });
    let isDone = false;
    const done = worker
      .handle({ domains: ['acme.com'] }, () => kept.opened)
      .then(() => {
        isDone = true;
      });
    await nextTurn();
    await nextTurn();
    expect(isDone).toBe(false);
    kept.open();
    await done;
  });

  it('fails at once when an outcome cannot be kept, whatever else is under way', async () => {
    const slow = createGate();
    const context = createTestContext(async (domain) => {
      if (domain === 'slow.com') await slow.opened;
      return found;
    });
    const worker = createWorker({ ...context, concurrency: 2 });
    const full = new Error('the disk is full');
    const failing = worker.handle({ domains: ['slow.com', ...domains(5)] }, async () => {
      throw full;
    });
    await expect(failing).rejects.toBe(full);
    slow.open();
  });

  it('does not ask about a domain that is not wanted any more when its turn comes', async () => {
    const known = new Set(['d1.com']);
    const context = createTestContext((domain) => {
      if (domain === 'd0.com') known.add('d3.com');
      return found;
    });
    const isWanted = (domain: string): boolean => !known.has(domain);
    const worker = createWorker({ ...context, concurrency: 1 });
    const replied: string[] = [];
    const reply: Reply = async (outcomes) => {
      replied.push(...outcomes.map(({ domain }) => domain));
    };
    await worker.handle({ domains: domains(5) }, reply, isWanted);
    expect(replied).toEqual(['d0.com', 'd2.com', 'd4.com']);
    expect(context.counters.calls).toBe(3);
  });

  it('goes on with other chunks when it cannot be told what is wanted', async () => {
    const context = createTestContext(() => found);
    const worker = createWorker({ ...context, concurrency: 1 });
    const broken = new Error('the store cannot be read');
    const failing = worker.handle(
      { domains: domains(3) },
      async () => {},
      () => {
        throw broken;
      },
    );
    await expect(failing).rejects.toBe(broken);
    const replied: string[] = [];
    await worker.handle({ domains: domains(1) }, async (outcomes) => {
      replied.push(...outcomes.map(({ domain }) => domain));
    });
    expect(replied).toEqual(['d0.com']);
  });
});

describe('a refused credential', () => {
  it.each([1, 4, 32])(
    'is known by five 403 in a row; none of them is kept (%i at a time)',
    async (concurrency) => {
      const { context, outcomes } = await handle(() => forbidden, [domains(50), domains(50, 'e')], {
        concurrency,
      });
      expect(context.stopSwitch.stopped).toMatchObject({ reason: 'forbidden' });
      expect(outcomes).toEqual([]);
      expect(context.counters.calls).toBeLessThan(5 + concurrency);
    },
  );

  it('is no thing of one 403 between successes: it is rejected', async () => {
    const { context, statuses } = await handle(
      (domain) => (domain === 'd3.com' ? forbidden : found),
      [domains(20)],
    );
    expect(statuses['d3.com']).toBe('rejected');
    expect(Object.keys(statuses)).toHaveLength(20);
    expect(context.stopSwitch.stopped).toBeUndefined();
  });

  it.each([
    ['found', found],
    ['not found', notFound],
  ])('is out of the question after %s', async (_, success) => {
    const { context, statuses } = await handle(
      (domain) => (/[49]\.com$/.test(domain) ? success : forbidden),
      [domains(40)],
      { concurrency: 1 },
    );
    expect(context.stopSwitch.stopped).toBeUndefined();
    expect(Object.values(statuses).filter((status) => status === 'rejected')).toHaveLength(32);
  });

  it.each([
    ['rejected', rejected, 'refused'],
    ['failed', tryAgain(), 'forbidden'],
  ])('is not cleared by an answer that anybody gets (%s)', async (_, answer, reason) => {
    const { context } = await handle(
      (domain) => (/[02468]\.com$/.test(domain) ? answer : forbidden),
      [domains(40)],
      { concurrency: 1, retries: 0 },
    );
    expect(context.stopSwitch.stopped).toMatchObject({ reason });
  });

  it('has the benefit of the doubt when the run is stopped after four 403', async () => {
    const { statuses } = await handle(
      (domain) => {
        if (domain === 'd4.com') return unauthorized;
        return forbidden;
      },
      [domains(30)],
      { concurrency: 1 },
    );
    expect(Object.values(statuses)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
  });

  it('never keeps a worker waiting for itself', async () => {
    const kinds = fc.array(fc.constantFrom(forbidden, found, notFound, rejected), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        kinds,
        async (concurrency, chunkSize, answers) => {
          const list = domains(answers.length);
          const chunks: string[][] = [];
          for (let at = 0; at < list.length; at += chunkSize)
            chunks.push(list.slice(at, at + chunkSize));
          const { statuses, context } = await handle(
            (domain) => answers[list.indexOf(domain)] ?? found,
            chunks,
            { concurrency },
          );
          if (context.stopSwitch.stopped === undefined) {
            expect(Object.keys(statuses)).toHaveLength(list.length);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
