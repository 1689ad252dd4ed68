import { afterEach, describe, expect, it, vi } from 'vitest';
import { createJob } from '../../../src/options/api.ts';
import { createPaceState, describePace, type PaceState } from '../../../src/pace/pacer.ts';
import {
  openPaceMemory,
  type PaceMemory,
  savePaceOften,
} from '../../../src/run/lookups/open-lookups.ts';
import type { SavedPace } from '../../../src/store/store.ts';
import { openFolder } from '../../integration/support/folder.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const HOUR_MS = 3_600_000;

/** A place for paces, and the wall clock, both of which outlive a run. */
function createWorld() {
  const paces = new Map<string, SavedPace>();
  const world = {
    paces,
    nowMs: 1.8e12,
    open: ({
      apiKey = 'key',
      rate = 'auto',
      maxWait = '15min',
      isTrial = false,
      profile = undefined as string | undefined,
    } = {}): PaceMemory =>
      openPaceMemory({
        job: createJob({
          given: { api: profile, baseUrl: 'https://api.test', auth: 'bearer', rate, maxWait },
          apiKey,
          env: {},
          describe: String,
        }),
        store: {
          findPace: (id) => paces.get(id),
          savePace: async (id, pace) => void paces.set(id, structuredClone(pace)),
        },
        clock: createFakeClock(),
        isTrial,
        now: () => world.nowMs,
      }),
  };
  return world;
}

function learned(limitPerMs: number): PaceState {
  const state = createPaceState({}, 7e9);
  state.phase = 'cruising';
  state.estimate.limitPerMs = limitPerMs;
  state.ratePerMs = limitPerMs;
  return state;
}

function limitOf({ start }: PaceMemory): number | undefined {
  return describePace(start, 0).learnedLimitPerSecond;
}

describe('the memory of the pace', () => {
  it('knows nothing at first, and then what was saved', async () => {
    const world = createWorld();
    const first = world.open();
    expect(first.start).toEqual(createPaceState({}, 0));
    await first.save(learned(0.05));
    world.nowMs += HOUR_MS;
    expect(limitOf(world.open())).toBeCloseTo(50);
  });

  it('is one of its own for each credential and each rate, and holds no credential', async () => {
    const world = createWorld();
    await world.open().save(learned(0.05));
    expect(limitOf(world.open({ apiKey: 'other-key' }))).toBeUndefined();
    expect(world.open({ rate: '5/s' }).start).toEqual(
      createPaceState({ rate: { count: 5, perMs: 1_000 } }, 0),
    );
    await world.open({ apiKey: 'other-key' }).save(learned(0.02));
    expect(JSON.stringify([...world.paces])).not.toContain('key');
    expect(limitOf(world.open())).toBeCloseTo(50);
  });

  it('does not take a limit for fresh because runs that never met it started with it', async () => {
    const world = createWorld();
    await world.open().save(learned(0.05));
    for (const hours of [15, 15]) {
      world.nowMs += hours * HOUR_MS;
      const memory = world.open();
      await memory.save(memory.start);
    }
    expect(limitOf(world.open())).toBeUndefined();
  });

  it('takes a limit for fresh that was measured again', async () => {
    const world = createWorld();
    await world.open().save(learned(0.05));
    for (const limitPerMs of [0.051, 0.049]) {
      world.nowMs += 15 * HOUR_MS;
      await world.open().save(learned(limitPerMs));
    }
    expect(limitOf(world.open())).toBeCloseTo(49);
  });

  it('goes on with a fixed rate where the last run left off', async () => {
    const world = createWorld();
    const first = world.open({ rate: '10/h' });
    const state = createPaceState({ rate: { count: 10, perMs: HOUR_MS } }, 0);
    if (state.fixed) state.fixed.recentStartsMs = [0];
    await first.save(state);
    world.nowMs += 60_000;
    expect(describePace(world.open({ rate: '10/h' }).start, 0).waitMs).toBe(5 * 60_000);
  });

  it('keeps a wait that was told, but none that is longer than a run may wait', async () => {
    const world = createWorld();
    const state = learned(0.05);
    state.gateUntilMs = state.latestMs + 14 * 60_000;
    state.gateIsTold = true;
    await world.open().save(state);
    expect(describePace(world.open().start, 0)).toMatchObject({
      why: 'told_to_wait',
      waitMs: 14 * 60_000,
    });
    const tooLong = world.open({ maxWait: '13min' });
    expect(describePace(tooLong.start, 0)).toMatchObject({ waitMs: 0, learnedLimitPerSecond: 50 });
    const trial = world.open({ maxWait: '10s', isTrial: true });
    expect(describePace(trial.start, 0).waitMs).toBe(14 * 60_000);
  });
});

describe('the saver of the pace', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('saves every few seconds until it is stopped, and nothing while there is nothing', async () => {
    vi.useFakeTimers();
    let state: PaceState | undefined;
    const saved: PaceState[] = [];
    const memory = { start: learned(1), save: async (kept: PaceState) => void saved.push(kept) };
    const saver = savePaceOften(memory, () => state);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(saved).toEqual([]);
    state = learned(0.05);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(saved.length).toBeGreaterThanOrEqual(2);
    const { length } = saved;
    saver.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(saved).toHaveLength(length);
    await saver.save();
    expect(saved).toHaveLength(length + 1);
  });

  it('goes on when it cannot save: the store tells of that itself', async () => {
    vi.useFakeTimers();
    let tries = 0;
    const save = async (): Promise<void> => {
      tries += 1;
      throw new Error('the disk is full');
    };
    const saver = savePaceOften({ start: learned(1), save }, () => learned(0.05));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(tries).toBe(2);
    await saver.save();
    saver.stop();
  });
});

describe('a rate that the profile of an API documents', () => {
  it('is what calls start at, until something was learned', async () => {
    const folder = openFolder();
    const profile = folder.write(
      'acme.yaml',
      'title: Acme\nrequest: { baseUrl: "https://api.test" }\nlimits: { rate: 600/min }\n',
    );
    const world = createWorld();
    const first = world.open({ profile });
    expect(describePace(first.start, 0).ratePerSecond).toBeCloseTo(9.8, 5);
    expect(first.start.phase).toBe('cruising');
    await first.save(learned(0.05));
    expect(world.open({ profile }).start.estimate.limitPerMs).toBe(0.05);
    expect(world.open({ profile, rate: '3/s' }).start.fixed?.rate.count).toBe(3);
  });
});
