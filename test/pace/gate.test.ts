import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/pace/clock.ts';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  type PaceState,
  report,
} from '../../src/pace/pacer.ts';
import { readSharedPace } from '../../src/pace/shared/state.ts';

const MINUTE_MS = 60_000;
const RATE = { count: 20, perMs: 1_000 };

const STATES = {
  auto: () => createPaceState({}, 0),
  '20/s': () => createPaceState({ rate: RATE }, 0),
};

/** Makes each call when it may start; all are refused, without a time. */
function refuse(
  state: PaceState,
  { fromMs, untilMs, sentMs = [] }: { fromMs: number; untilMs: number; sentMs?: number[] },
): number {
  let nowMs = fromMs;
  for (;;) {
    const next = nextStart(state, { nowMs, inFlight: 0 });
    if (next === 'wait_for_answer') throw new Error('Nothing is in flight.');
    if (next.atMs > untilMs) return nowMs;
    book(state, next.atMs);
    sentMs.push(next.atMs);
    nowMs = next.atMs + 10;
    const call = { sentAtMs: next.atMs, latencyMs: 10, inFlight: 1, random: 0.5 };
    report(state, { kind: 'throttled', ...call }, nowMs);
  }
}

function accept(state: PaceState, nowMs: number): void {
  const call = { sentAtMs: nowMs - 10, latencyMs: 10, inFlight: 1, random: 0.5 };
  report(state, { kind: 'accepted', ...call }, nowMs);
}

function lastedMs(state: PaceState, nowMs: number): number {
  return describePace(state, nowMs).onlyThrottledMs ?? 0;
}

describe.each(Object.entries(STATES))('nothing but 429, at %s', (_, create) => {
  it('lasts from the first of them, also between two', () => {
    const state = create();
    refuse(state, { fromMs: MINUTE_MS, untilMs: 16 * MINUTE_MS });
    expect(lastedMs(state, 16 * MINUTE_MS)).toBeCloseTo(15 * MINUTE_MS, -3);
  });

  it('is tried ever more seldom, in the end once a minute', () => {
    const state = create();
    for (let call = 1; call <= 1_000; call += 1) accept(state, call * 20);
    const sentMs: number[] = [];
    refuse(state, { fromMs: 20_000, untilMs: 20 * MINUTE_MS, sentMs });
    expect(sentMs.filter((atMs) => atMs > 5 * MINUTE_MS).length).toBeLessThan(22);
  });

  it('is over with the first accepted call', () => {
    const state = create();
    const endMs = refuse(state, { fromMs: 0, untilMs: 5 * MINUTE_MS });
    accept(state, endMs + MINUTE_MS);
    expect(lastedMs(state, endMs + MINUTE_MS)).toBe(0);
    refuse(state, { fromMs: endMs + 2 * MINUTE_MS, untilMs: endMs + 3 * MINUTE_MS });
    expect(lastedMs(state, endMs + 3 * MINUTE_MS)).toBeLessThan(2 * MINUTE_MS);
  });

  it('does not last while there are no calls to make', () => {
    const state = create();
    const endMs = refuse(state, { fromMs: 0, untilMs: 1_000 });
    const idleUntilMs = endMs + 60 * MINUTE_MS;
    expect(lastedMs(state, idleUntilMs)).toBeLessThan(5_000);
    refuse(state, { fromMs: idleUntilMs, untilMs: idleUntilMs + 1_000 });
    expect(lastedMs(state, idleUntilMs + 1_000)).toBeLessThan(12_000);
  });

  it('is known to a worker that reads the shared state, and not of one that an older version wrote', () => {
    const state = create();
    refuse(state, { fromMs: 0, untilMs: 10 * MINUTE_MS });
    const shared = readSharedPace(undefined, { nowMs: 0, rate: undefined });
    shared.pace = state;
    const seen = { nowMs: 10 * MINUTE_MS, rate: undefined };
    expect(lastedMs(readSharedPace(JSON.stringify(shared), seen).pace, seen.nowMs)).toBeCloseTo(
      10 * MINUTE_MS,
      -3,
    );
    const { throttledRow: _row, usedUp: _usedUp, ...older } = state;
    const ofOlder = readSharedPace(JSON.stringify({ ...shared, pace: older }), seen);
    expect(lastedMs(ofOlder.pace, seen.nowMs)).toBe(0);
    accept(ofOlder.pace, seen.nowMs);
  });
});

const never = new AbortController().signal;

it('sleeps at least as long as told, but for the rounding of timers', async () => {
  const startMs = systemClock.nowMs();
  await systemClock.sleep(20, never);
  expect(systemClock.nowMs() - startMs).toBeGreaterThan(18);
});

it('wakes up with the reason of the signal, also if that fired before', async () => {
  const reason = new Error('enough');
  const giveUp = new AbortController();
  const asleep = systemClock.sleep(60_000, giveUp.signal);
  giveUp.abort(reason);
  await expect(asleep).rejects.toBe(reason);
  await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});

it('does not take a sleep longer than a timer can be for no sleep', async () => {
  const onWarning = vi.fn<(warning: Error) => void>();
  process.on('warning', onWarning);
  const giveUp = new AbortController();
  const asleep = systemClock.sleep(1e15, giveUp.signal).then(
    () => 'woke up',
    () => 'given up',
  );
  await systemClock.sleep(10, never);
  giveUp.abort();
  expect(await asleep).toBe('given up');
  expect(onWarning).not.toHaveBeenCalled();
  process.off('warning', onWarning);
});
