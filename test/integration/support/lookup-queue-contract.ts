import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/brand/outcome.ts';
import type { HandleChunk, LookupQueue, Reply } from '../../../src/queue/lookup-queue.ts';

/** A queue of one kind, made for one test and closed by it. */
export interface QueueUnderTest {
  readonly queue: LookupQueue;
  /** Domains on their way, which the producer puts in. */
  readonly outstanding: Set<string>;
  /** Fires when the run is stopped. */
  readonly stop: AbortController;
}

export interface OpenOptions {
  readonly collect: Reply;
  readonly outstanding: Set<string>;
  readonly stop: AbortController;
  /** How many chunks of five may be on their way. */
  readonly window: number;
}

const CHUNK_SIZE = 5;

/** What every queue has to do, whatever carries the chunks. */
export function describeLookupQueue(
  name: string,
  open: (options: OpenOptions) => Promise<LookupQueue>,
): void {
  describe(name, () => {
    it('brings each outcome to the collector once, and is settled then', async () => {
      const run = await begin();
      const domains = domainsOf(200);
      await Promise.all([run.produce(domains), run.queue.work(answer), run.queue.settled()]);
      await run.queue.close();
      expect(run.collected.map(({ domain }) => domain).sort()).toEqual([...domains].sort());
      expect(run.outstanding.size).toBe(0);
    });

    it('carries an outcome as it is', async () => {
      const run = await begin();
      const outcome: Outcome = {
        domain: 'a.com',
        status: 'rejected',
        reason: 'no "such" brand\n\u{1F600}',
        httpStatus: 422,
        attempts: 3,
        fetchedAtMs: 1_700_000_000_123,
        json: '',
      };
      const found: Outcome = {
        domain: 'b.com',
        status: 'found',
        reason: '',
        httpStatus: 200,
        attempts: 1,
        fetchedAtMs: 1_700_000_000_456,
        json: '{ "id": 12345678901234567890, "name": "M\u00FCller" }\n',
      };
      await Promise.all([
        run.produce(['a.com', 'b.com']),
        run.queue.work((_, reply) => reply([outcome, found])),
        run.queue.settled(),
      ]);
      await run.queue.close();
      expect(run.collected).toEqual([outcome, found]);
    });

    it('lets no more be on their way than its window', async () => {
      const run = await begin(2);
      let most = 0;
      const slowly: HandleChunk = async (chunk, reply) => {
        most = Math.max(most, run.outstanding.size);
        await delay(5);
        await answer(chunk, reply);
      };
      await Promise.all([run.produce(domainsOf(300)), run.queue.work(slowly), run.queue.settled()]);
      await run.queue.close();
      expect(run.collected).toHaveLength(300);
      // As many again may wait in a process, and one more chunk is being added.
      expect(most).toBeLessThanOrEqual((2 * 2 + 1) * CHUNK_SIZE);
    });

    it('is settled at once when nothing was added', async () => {
      const run = await begin();
      await Promise.all([run.produce([]), run.queue.work(answer), run.queue.settled()]);
      await run.queue.close();
      expect(run.collected).toEqual([]);
    });

    it('ends after a stop, with every outcome that a worker had by then', async () => {
      // Again and again: what a worker is about to finish at the stop differs from run to run.
      for (let round = 0; round < 10; round += 1) {
        const run = await begin();
        const answered: string[] = [];
        let handled = 0;
        const stopAtThird: HandleChunk = async (chunk, reply) => {
          handled += 1;
          if (handled === 3) run.stop.abort();
          if (handled > 3) return;
          answered.push(...chunk.domains);
          await answer(chunk, reply);
        };
        await Promise.all([
          run.produce(domainsOf(1_000)),
          run.queue.work(stopAtThird),
          run.queue.settled(),
        ]);
        await run.queue.close();
        // Some may come twice: taken back, and by their worker's reply.
        const collected = new Set(run.collected.map(({ domain }) => domain));
        expect([...collected].sort()).toEqual(answered.sort());
      }
    });

    it('ends when the collector fails, and says why', async () => {
      const broken = new Error('disk full');
      const run = await begin(64, () => Promise.reject(broken));
      const ends = [run.produce(domainsOf(20)), run.queue.work(answer), run.queue.settled()];
      const results = await Promise.allSettled(ends);
      await run.queue.close();
      expect(results).toContainEqual({ status: 'rejected', reason: broken });
    });

    async function begin(
      window = 64,
      keep: Reply = async () => {},
    ): Promise<QueueUnderTest & Producer> {
      const collected: Outcome[] = [];
      const outstanding = new Set<string>();
      const stop = new AbortController();
      const queue = await open({
        window,
        outstanding,
        stop,
        collect: async (outcomes) => {
          await keep(outcomes);
          collected.push(...outcomes);
          for (const { domain } of outcomes) outstanding.delete(domain);
        },
      });
      const produce = async (domains: readonly string[]): Promise<void> => {
        for (let at = 0; at < domains.length && !stop.signal.aborted; at += CHUNK_SIZE) {
          const chunk = domains.slice(at, at + CHUNK_SIZE);
          for (const domain of chunk) outstanding.add(domain);
          await queue.add({ domains: chunk }).catch(() => {}); // told by `settled`
        }
        queue.end();
      };
      return { queue, outstanding, stop, collected, produce };
    }
  });
}

interface Producer {
  readonly collected: readonly Outcome[];
  produce(domains: readonly string[]): Promise<void>;
}

const answer: HandleChunk = async ({ domains }, reply, isWanted = () => true) => {
  for (const domain of domains) {
    if (!isWanted(domain)) continue;
    await reply([
      {
        domain,
        status: 'not_found',
        reason: 'http_404',
        httpStatus: 404,
        attempts: 1,
        fetchedAtMs: 1,
        json: '',
      },
    ]);
  }
};

function domainsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `d${at}.com`);
}
