import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchApi } from '../../src/local-worker/api-watch.ts';
import type { Turnstile } from '../../src/pace/turnstile.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';

/** Watches an API; `state.outage` and `state.waitMs` say what is going on. */
function watch() {
  const state: { outage: string | undefined; waitMs: number; statedMs?: number } = {
    outage: undefined,
    waitMs: 0,
  };
  const stopSwitch = createStopSwitch();
  const notices: string[] = [];
  const describe = () => ({
    why: state.waitMs > 0 ? 'told_to_wait' : 'open',
    waitMs: state.waitMs,
    statedMs: state.statedMs,
  });
  const turnstile = { describe } as unknown as Turnstile;
  const watching = watchApi({
    worker: {
      turnstile,
      describeOutage: () => state.outage,
      lastTrouble: () => 'connection_refused',
      toldOutMs: () => 0,
    },
    origin: 'http://127.0.0.1:9',
    stopSwitch,
    maxWaitMs: 900_000,
    onNotice: (message) => notices.push(message),
  });
  onTestFinished(() => watching.close());
  return { state, notices, stopSwitch };
}

describe('a worker tells of an outage', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('again and again, ever more seldom, and of its end', async () => {
    const { state, notices } = watch();
    const toldAtS: number[] = [];
    for (let second = 1; second <= 240; second += 1) {
      state.outage = `out for ${second} s`;
      await vi.advanceTimersByTimeAsync(1_000);
      if (notices.length > toldAtS.length) toldAtS.push(second);
    }
    expect(toldAtS).toEqual([1, 16, 46, 106, 226]);
    expect(notices[0]).toBe(
      'The API at http://127.0.0.1:9 is out (connection_refused): calls wait until it is back, up to --max-outage. If it never answered, check --base-url.',
    );
    expect(notices.at(-1)).toBe('out for 226 s');
    state.outage = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(notices.slice(5)).toEqual(['The API answers again.']);
    state.outage = 'out anew';
    await vi.advanceTimersByTimeAsync(20_000);
    expect(notices.slice(6)).toEqual([notices[0], 'out anew']);
  });
});

describe('a worker tells of a wait that the API asks for', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The notices of waits that follow each other so closely that calls are never seen to start. */
  async function noticesOf(waitsS: readonly number[]): Promise<readonly string[]> {
    const { state, notices } = watch();
    for (const waitS of waitsS) {
      for (let leftS = waitS; leftS > 0; leftS -= 1) {
        state.waitMs = leftS * 1_000;
        await vi.advanceTimersByTimeAsync(1_000);
      }
    }
    state.waitMs = 0;
    await vi.advanceTimersByTimeAsync(1_000);
    return notices;
  }

  it('also when it follows a wait that was too short to be told', async () => {
    expect(await noticesOf([3, 300])).toEqual(['The API says to wait; no call is made for 5 min.']);
  });

  it('once, however often the API asks for the same, and again when it asks for far more', async () => {
    expect(await noticesOf([30, 30, 30, 300, 30])).toEqual([
      'The API says to wait; no call is made for 30 s.',
      'The API says to wait; no call is made for 5 min.',
    ]);
  });
});

describe('a worker that the API asks for too long a wait', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['says when to come back, if the API said it', 86_400_000],
    ['makes no time up, if the API named none that can be believed', undefined],
  ])('%s', async (_, statedMs) => {
    const { state, stopSwitch } = watch();
    Object.assign(state, { waitMs: 3_600_000, statedMs });
    await vi.advanceTimersByTimeAsync(1_000);
    const comeBackAtMs = statedMs === undefined ? undefined : Date.now() + statedMs;
    expect(stopSwitch.stopped).toEqual({ reason: 'quota', comeBackAtMs });
  });
});
