import type { Queue } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RunLedger } from '../../src/queue/bullmq/runs/run-ledger.ts';
import { createWatchdog } from '../../src/queue/bullmq/runs/run-outcomes.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';

/** A watchdog over a Redis that has these chunks left of those in the ledger. */
function watch(options: {
  readonly ledger: Readonly<Record<string, readonly string[]>>;
  readonly left: readonly string[];
  readonly outstanding: readonly string[];
  readonly held?: readonly string[];
  readonly elsewhere?: readonly string[];
  /** Chunks whose job has failed. */
  readonly failed?: readonly string[];
  readonly signal?: AbortSignal;
  /** Called while a chunk is looked up. */
  readonly meanwhile?: (chunk: string, during: Meanwhile) => void;
}) {
  const ledger = new Map(Object.entries(options.ledger));
  const outstanding = new Set(options.outstanding);
  const held = new Set(options.held);
  let progressAtMs = 0;
  const moves = (): void => {
    progressAtMs = performance.now();
  };
  const given: (readonly string[])[] = [];
  const dropped: (readonly string[])[] = [];
  const notices: string[] = [];
  const promoted: string[] = [];
  const ended: string[] = [];
  const watchdog = createWatchdog({
    client: {} as RedisClient,
    api: 'http://127.0.0.1:1',
    queue: {
      getJob: async (id: string) => {
        options.meanwhile?.(id, { ledger, outstanding, held, moves });
        const promote = async () => void promoted.push(id);
        const isFailed = async () => options.failed?.includes(id) ?? false;
        const job = { isFailed, promote, failedReason: 'refused', remove: async () => {} };
        return options.left.includes(id) ? job : undefined;
      },
    } as unknown as Queue,
    ledger: {
      read: async () => new Map(ledger),
      strike: async (chunks: readonly string[]) => {
        for (const chunk of chunks) ledger.delete(chunk);
      },
    } as unknown as RunLedger,
    outstanding,
    isHeld: (domain) => held.has(domain),
    give: async (domains) => void given.push(domains),
    claimAgain: (domains) => domains.filter((domain) => !options.elsewhere?.includes(domain)),
    drop: (domains) => void dropped.push(domains),
    signal: options.signal ?? new AbortController().signal,
    collect: async (outcomes) => void ended.push(...outcomes.map(({ domain }) => domain)),
    onNotice: (message) => notices.push(message),
    progressAtMs: () => progressAtMs,
  });
  onTestFinished(() => watchdog.close());
  return { given, dropped, promoted, notices, ended };
}

interface Meanwhile {
  readonly ledger: Map<string, readonly string[]>;
  readonly outstanding: Set<string>;
  readonly held: Set<string>;
  /** An outcome comes, or the run is paused. */
  readonly moves: () => void;
}

describe('when nothing moves for half a minute', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('lookups whose chunk is gone are given out again', async () => {
    const { given, notices } = watch({
      ledger: { one: ['a.com', 'b.com'], two: ['c.com'] },
      left: ['two'],
      outstanding: ['a.com', 'b.com', 'c.com'],
    });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(given).toEqual([]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(given).toEqual([['a.com', 'b.com']]);
    expect(notices).toEqual(['Lookups were missing from Redis and are put there again: 2.']);
  });

  it('a chunk that was set aside by a clock that is ahead is not waited for until then', async () => {
    const { given, promoted } = watch({
      ledger: { one: ['a.com'], two: ['b.com'] },
      left: ['one'],
      outstanding: ['a.com', 'b.com'],
    });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(promoted).toEqual([]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(promoted).toEqual(['one']);
    expect(given).toEqual([['b.com']]);
  });

  it('of a chunk that has failed, only lookups end as failed that no worker has an outcome of', async () => {
    const { ended } = watch({
      ledger: { one: ['a.com', 'b.com'] },
      left: ['one'],
      failed: ['one'],
      outstanding: ['b.com'],
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect(ended).toEqual(['b.com']);
  });

  it('what another run has asked meanwhile, or has under way, is not given out again', async () => {
    const lost = { ledger: {}, left: [], outstanding: ['a.com', 'b.com'] };
    const some = watch({ ...lost, elsewhere: ['a.com'] });
    const all = watch({ ...lost, elsewhere: ['a.com', 'b.com'] });
    await vi.advanceTimersByTimeAsync(32_000);
    expect(some.given).toEqual([['b.com']]);
    expect(some.notices).toEqual(['Lookups were missing from Redis and are put there again: 1.']);
    expect([all.given, all.notices]).toEqual([[], []]);
  });

  it('lookups are given out again also where the clock was set back meanwhile', async () => {
    const { given } = watch({ ledger: { one: ['a.com'] }, left: [], outstanding: ['a.com'] });
    await vi.advanceTimersByTimeAsync(10_000);
    vi.setSystemTime(Date.now() - 60 * 60_000);
    await vi.advanceTimersByTimeAsync(22_000);
    expect(given).toEqual([['a.com']]);
  });

  it('what a worker gives back as another chunk, while the chunk is looked up, is no loss', async () => {
    const { given, notices } = watch({
      ledger: { one: ['a.com', 'b.com'], two: ['c.com'] },
      left: ['two'],
      outstanding: ['a.com', 'b.com', 'c.com'],
      meanwhile: (chunk, { ledger }) => {
        if (chunk === 'one' && ledger.delete('one')) ledger.set('part', ['a.com', 'b.com']);
      },
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect({ given, notices }).toEqual({ given: [], notices: [] });
  });

  it('what is given out while chunks are looked up is no loss, but what was lost before is one', async () => {
    const { given } = watch({
      ledger: { one: ['a.com'], two: ['b.com'] },
      left: ['two'],
      outstanding: ['a.com', 'b.com', 'c.com'],
      held: ['c.com'],
      meanwhile: (_, { ledger, outstanding, held }) => {
        outstanding.add('d.com');
        if (held.delete('c.com')) ledger.set('three', ['c.com']);
      },
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect(given).toEqual([['a.com']]);
  });

  it('what a run that is paused meanwhile has taken off the queue is no loss', async () => {
    const { given } = watch({
      ledger: { one: ['a.com'] },
      left: [],
      outstanding: ['a.com'],
      meanwhile: (_, { ledger, moves }) => {
        ledger.delete('one');
        moves();
      },
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect(given).toEqual([]);
    await vi.advanceTimersByTimeAsync(32_000);
    expect(given).toEqual([['a.com']]);
  });

  it('what has its outcome by the end of the look is no loss', async () => {
    const { given } = watch({
      ledger: { one: ['a.com'] },
      left: [],
      outstanding: ['a.com', 'b.com'],
      meanwhile: (_, { outstanding }) => void outstanding.delete('b.com'),
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect(given).toEqual([['a.com']]);
  });

  it('those that still wait for room in the window are no loss', async () => {
    const { given, notices } = watch({
      ledger: { one: ['a.com'] },
      left: ['one'],
      outstanding: ['a.com', 'b.com', 'c.com'],
      held: ['b.com', 'c.com'],
    });
    await vi.advanceTimersByTimeAsync(65_000);
    expect({ given, notices }).toEqual({ given: [], notices: [] });
  });

  it('nothing is given out by a run that is stopped: what is lost is waited for no longer', async () => {
    const { given, dropped, notices } = watch({
      ledger: { one: ['a.com', 'b.com'] },
      left: [],
      outstanding: ['a.com', 'b.com', 'c.com'],
      signal: AbortSignal.abort(),
    });
    await vi.advanceTimersByTimeAsync(32_000);
    expect({ given, dropped, notices }).toEqual({
      given: [],
      dropped: [['a.com', 'b.com', 'c.com']],
      notices: [],
    });
  });
});
