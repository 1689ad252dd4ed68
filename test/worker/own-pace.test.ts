import { describe, expect, it } from 'vitest';
import { createOwnPace } from '../../src/worker/own-pace.ts';

const EPOCH_MS = 10_000;

describe('a fixed rate of 50/s that an earlier process began', () => {
  const rate = { count: 50, perMs: 1_000 };
  const slotsMs = Array.from({ length: 50 }, (_, at) => at * 20);
  /** It made these starts by slots, the first of them late. When is the next one? */
  const nextMs = (slots: number, nowMs: number, isUnsaved = false): number => {
    const startsMs = slotsMs.slice(0, slots).map((at) => EPOCH_MS + Math.max(at, 19));
    const lastSlotMs = EPOCH_MS + (slotsMs[slots - 1] ?? 0);
    const fixed = { rate, startsMs, lastSlotMs, isUnsaved };
    const learned = { limitPerMs: 0, cap: 0, statedUntilMs: 0, fixed };
    return createOwnPace(nowMs, { rate, learned, epochMs: EPOCH_MS }).nextMs(nowMs, 0);
  };

  it('counts its starts: the window that began late ends late', () => {
    expect(nextMs(49, 981)).toBe(981);
    expect(nextMs(50, 999)).toBe(1_019);
  });

  it('counts the slots since it was saved last, if that process was killed', () => {
    expect(nextMs(10, 980, true)).toBe(1_019);
  });

  it('goes on at the next slot where it was killed within the one that was saved', () => {
    expect(nextMs(10, 199, true)).toBe(200);
    expect(nextMs(10, 201, true)).toBe(221);
  });
});

describe('a pace in this process', () => {
  const open = () => createOwnPace(0, { rate: undefined, learned: undefined, epochMs: EPOCH_MS });
  const CALL = { sentAtMs: 0, latencyMs: 5, inFlight: 1 };

  it('is not changed by a call that says nothing of it', () => {
    const home = open();
    home.start(0);
    const before = structuredClone(home.pace);
    home.ended('none', CALL, 10);
    expect(home.pace).toEqual(before);
    home.ended('refused', CALL, 10);
    expect(home.pace).not.toEqual(before);
  });

  it('is taken down, climbs, and is what it was', () => {
    const home = open();
    home.start(0);
    const { ratePerMs } = home.pace;
    home.slow(ratePerMs / 8, 10);
    expect(home.pace.ratePerMs).toBe(ratePerMs / 8);
    home.climb(0, 20);
    expect(home.pace.climbLeft).toBeGreaterThan(0);
    home.resume(30);
    expect(home.pace).toMatchObject({ ratePerMs, climbToPerMs: 0 });
  });
});
