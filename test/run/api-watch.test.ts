import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { PaceDescription } from '../../src/pace/pacer.ts';
import type { RateLimiter } from '../../src/pace/rate-limiter.ts';
import { watchApi, watchLimits } from '../../src/run/api-watch.ts';
import { describeStop } from '../../src/watch/describe.ts';
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
  const limiter = { describe } as unknown as RateLimiter;
  const watching = watchApi({
    worker: {
      limiter,
      describeOutage: () => state.outage,
      lastTrouble: () => 'connection_refused',
      statedOutMs: () => 0,
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

describe('an API that answers nothing but 429', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watchPace(maxWaitMs: number) {
    const pace: Partial<PaceDescription> = { why: 'open', waitMs: 0 };
    const stopSwitch = createStopSwitch();
    const notices: string[] = [];
    const limiter = { describe: () => pace } as unknown as RateLimiter;
    const onNotice = (message: string): unknown => notices.push(message);
    const watching = watchLimits({ worker: { limiter }, stopSwitch, maxWaitMs, onNotice });
    onTestFinished(() => watching.close());
    const passes = async (onlyThrottledMs: number, now: Partial<PaceDescription> = {}) => {
      Object.assign(pace, { why: 'backing_off', waitMs: 30_000, onlyThrottledMs, ...now });
      await vi.advanceTimersByTimeAsync(1_000);
    };
    return { passes, stopSwitch, notices };
  }

  it('is told of after half a minute, once', async () => {
    const { passes, notices } = watchPace(900_000);
    await passes(29_000);
    expect(notices).toEqual([]);
    await passes(31_000);
    await passes(90_000);
    expect(notices).toEqual([
      'The API has throttled every call for 31 s and does not say until when. After 15 min of that (--max-wait), the quota counts as used up.',
    ]);
    await passes(0, { why: 'open', waitMs: 0 });
    expect(notices.slice(1)).toEqual(['The API accepts calls again.']);
  });

  it('has no quota left when that lasts longer than the longest wait', async () => {
    const { passes, stopSwitch } = watchPace(900_000);
    await passes(899_000);
    expect(stopSwitch.stopped).toBeUndefined();
    await passes(900_500);
    expect(stopSwitch.stopped).toEqual({ reason: 'quota', throttledMs: 900_500 });
    expect(describeStop({ reason: 'quota', throttledMs: 900_500 })).toBe(
      'The API has throttled every call for 15 min 1 s: the quota seems to be used up. No further call is made. It does not say when to come back.',
    );
  });

  it('says when to come back, if the last answer did', async () => {
    const { passes, stopSwitch } = watchPace(60_000);
    await passes(61_000, { why: 'told_to_wait', waitMs: 50_000 });
    expect(stopSwitch.stopped).toMatchObject({ comeBackAtMs: Date.now() + 50_000 });
  });

  it('is asked once more by a worker that comes when the next call is due', async () => {
    const { passes, stopSwitch } = watchPace(900_000);
    await passes(2_000_000, { waitMs: 0 });
    expect(stopSwitch.stopped).toBeUndefined();
  });

  it('is not without quota for the moments that finding a limit takes, if no wait is allowed', async () => {
    const { passes, stopSwitch } = watchPace(0);
    await passes(1_900);
    expect(stopSwitch.stopped).toBeUndefined();
    await passes(2_100);
    expect(stopSwitch.stopped?.reason).toBe('quota');
  });

  it('is told of once when its headers are ignored', async () => {
    const { passes, notices } = watchPace(900_000);
    for (let second = 0; second < 3; second += 1) {
      await passes(0, { why: 'open', waitMs: 0, ignoresUsedUp: true });
    }
    expect(notices).toEqual([expect.stringContaining('yet calls are answered')]);
  });

  it('is told of at the end, when another worker has just found out that its headers are ignored', async () => {
    const notices: string[] = [];
    let isKnown = false;
    const shared = {
      describe: () => (isKnown ? ({ ignoresUsedUp: true } as PaceDescription) : undefined),
      look: async () => {
        isKnown = true;
      },
      close: vi.fn(),
    };
    const limiter = { describe: () => ({ why: 'open', waitMs: 0 }) } as unknown as RateLimiter;
    const watching = watchLimits({
      worker: { limiter },
      shared,
      stopSwitch: createStopSwitch(),
      maxWaitMs: 60_000,
      onNotice: (message) => notices.push(message),
    });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(notices).toEqual([]);
    await watching.close();
    expect(notices).toEqual([expect.stringContaining('yet calls are answered')]);
    expect(shared.close).toHaveBeenCalledOnce();
  });
});
