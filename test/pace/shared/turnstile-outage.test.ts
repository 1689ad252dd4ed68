import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reading, StoredState } from '../../../src/pace/shared/stored-state.ts';
import { createSharedTurnstile, type SharedTurnstile } from '../../../src/pace/shared/turnstile.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MINUTE_MS = 60_000;
const CLOCK = { nowMs: () => Date.now(), sleep: async () => {} };

interface Network {
  /** How long a write is on its way there. */
  readonly writeMs?: number;
  /** How long what was read is on its way back: so much the clock of the state seems to be behind. */
  readonly readMs?: () => number;
}

/** A state in the memory of this process, at the end of a network. */
function openState({ writeMs = 1, readMs = () => 1 }: Network = {}): StoredState {
  let kept: Omit<Reading, 'nowMs'> = { version: 0, state: undefined };
  const read = async (): Promise<Reading> => {
    const reading = { ...kept, nowMs: Date.now() };
    await passed(readMs());
    return reading;
  };
  return {
    read,
    write: async ({ version, state }) => {
      await passed(writeMs);
      if (version !== kept.version) return await read();
      kept = { version: version + 1, state };
      return undefined;
    },
  };
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

interface Workplace {
  readonly turnstile: SharedTurnstile;
  /** When calls were sent. */
  readonly sentMs: number[];
  readonly tooLong: { count: number };
  stop(): Promise<void>;
}

/** A worker with callers that never rest; its calls take 20 ms. */
function startWorker(
  stored: StoredState,
  { isDown, maxOutageMs = 60 * MINUTE_MS }: { isDown: () => boolean; maxOutageMs?: number },
): Workplace {
  const callers = 16;
  const tooLong = { count: 0 };
  const sentMs: number[] = [];
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const turnstile = createSharedTurnstile({
    stored,
    worker: crypto.randomUUID(),
    callers,
    maxOutageMs,
    onOutageTooLong: () => {
      tooLong.count += 1;
      stop.abort();
    },
    clock: CLOCK,
  });
  const work = async (): Promise<void> => {
    for (;;) {
      await turnstile.enter(stop.signal);
      const sentAtMs = CLOCK.nowMs();
      sentMs.push(sentAtMs);
      await passed(20);
      const isFailure = isDown();
      turnstile.reportHealth({ sentAtMs, isFailure });
      turnstile.report({ kind: isFailure ? 'failed' : 'accepted', sentAtMs });
    }
  };
  for (let caller = 0; caller < callers; caller += 1) work().catch(() => {});
  return {
    turnstile,
    sentMs,
    tooLong,
    stop: async () => {
      stop.abort();
      const closed = turnstile.close();
      await vi.advanceTimersByTimeAsync(2_000);
      await closed;
    },
  };
}

describe('an outage that workers share', () => {
  it('is over with the first good probe, though clocks seem to go to and fro', async () => {
    await expectRecovery({ readMs: jitter() });
  });

  it('is over with the first good probe, however long the state takes to be written', async () => {
    for (let writeMs = 1; writeMs < 200; writeMs += 9) await expectRecovery({ writeMs });
  });

  it('is waited for by a worker that comes late as long as by others', async () => {
    const stored = openState();
    const downFromMs = Date.now() + 1_000;
    const isDown = (): boolean => Date.now() > downFromMs;
    const first = startWorker(stored, { isDown, maxOutageMs: 8_000 });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(first.tooLong.count).toBeGreaterThan(0);
    await first.stop();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    const second = startWorker(stored, { isDown, maxOutageMs: 8_000 });
    await vi.advanceTimersByTimeAsync(7_000);
    expect(second.tooLong.count).toBe(0);
    expect(second.sentMs).toHaveLength(1); // the probe
    await vi.advanceTimersByTimeAsync(3_000);
    expect(second.tooLong.count).toBeGreaterThan(0);
  });
});

async function expectRecovery(network: Network): Promise<void> {
  let isDown = false;
  const { turnstile, sentMs, stop } = startWorker(openState(network), { isDown: () => isDown });
  await vi.advanceTimersByTimeAsync(1_000);
  isDown = true;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(turnstile.outagePhase).toBe('open');
  isDown = false;
  const before = sentMs.length;
  await vi.advanceTimersByTimeAsync(4_000);
  const context = JSON.stringify(network);
  expect(sentMs.length, context).toBeGreaterThan(before);
  expect(['recovering', 'closed'], context).toContain(turnstile.outagePhase);
  await stop();
}

/** Each answer takes a little longer than the one before, and now and then none does. */
function jitter(): () => number {
  let ms = 0;
  return () => {
    ms = (ms + 3) % 10;
    return ms;
  };
}
