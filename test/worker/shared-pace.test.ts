import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../src/worker/clock.ts';
import { RedisPace } from '../../src/worker/redis-pace.ts';
import {
  exchange,
  type PaceEvent,
  type Said,
  type SharedState,
} from '../../src/worker/shared-pace.ts';
import { openFleet } from '../simulation/fleet.ts';
import { play } from '../simulation/play.ts';

const NOTHING = { events: [], want: 0, busy: 0, leadMs: 0, spanMs: 100 } as const;

/** Workers that share a pace, told the time. */
function openExchange() {
  let state: SharedState | undefined;
  return (nowMs: number, id: string, said: Partial<Said> = {}) => {
    const exchanged = exchange(state, { ...NOTHING, id, ...said }, nowMs);
    state = exchanged.state;
    return { ...exchanged.granted, state };
  };
}

const call = (how: 'good' | 'failing', atMs: number): PaceEvent => {
  return { how, atMs, sentAtMs: atMs - 20, latencyMs: 20, inFlight: 1 };
};

describe('a worker whose calls fail', () => {
  it('tells all why, as no other may make a call', () => {
    const say = openExchange();
    const failed = { ...call('failing', 100), reason: 'http_503' } as const;
    say(100, 'this', { events: [failed] });
    expect(say(200, 'other').state.reason).toBe('http_503');
  });

  it('is sick while others are at work, and the pace of those goes on', () => {
    const say = openExchange();
    say(100, 'other', { want: 5 });
    const { isSick, state } = say(200, 'this', { events: [call('failing', 200)] });
    expect([isSick, state.pace.state]).toEqual([true, 'flowing']);
  });

  it('is not sick once others have had nothing to do for a while: perhaps only bad domains are left', () => {
    const say = openExchange();
    say(100, 'other', { events: [call('good', 100)] });
    expect(say(9_000, 'this', { events: [call('failing', 9_000)] }).isSick).toBe(true);
    say(9_900, 'other');
    expect(say(10_200, 'this').isSick).toBe(false);
  });

  it('makes one call in five seconds while it is sick', () => {
    const say = openExchange();
    say(0, 'other', { want: 1 });
    say(100, 'this', { events: [call('failing', 100)] });
    const startsMs: number[] = [];
    for (let nowMs = 200; nowMs < 20_000; nowMs += 100) {
      say(nowMs, 'other', { busy: 1 });
      startsMs.push(...say(nowMs, 'this', { want: 1 }).startsMs);
    }
    const gapsMs = startsMs.slice(1).map((at, before) => at - (startsMs[before] ?? 0));
    expect(gapsMs).toEqual([5_000, 5_000]);
  });
});

describe('one pace for several workers', () => {
  it('has the test calls of an outage made in turn: all that one worker asks about may be bad', () => {
    const say = openExchange();
    const failed = { events: [call('failing', 100)], want: 1 };
    say(100, 'first', failed);
    say(100, 'second', failed);
    const testers: string[] = [];
    for (let nowMs = 200; testers.length < 4; nowMs += 200) {
      for (const id of ['first', 'second']) {
        const [startMs] = say(nowMs, id, { want: 1 }).startsMs;
        if (startMs === undefined) continue;
        testers.push(id);
        say(startMs + 20, id, { events: [call('failing', startMs + 20)] });
        say(startMs + 20, id, { want: 1 });
      }
    }
    expect(testers).toEqual(['second', 'first', 'second', 'first']);
  });

  it('leaves its calls to the one that goes slower to find something out', () => {
    const say = openExchange();
    say(0, 'finder', { events: [call('good', 0)], want: 1 });
    say(0, 'other', { events: [call('good', 0)], want: 1 });
    say(10, 'finder', { events: [{ how: 'slow', atMs: 10, ratePerMs: 0.01 }], want: 5 });
    expect(say(1_000, 'other', { want: 5, spanMs: 400 }).startsMs).toEqual([]);
    expect(say(1_000, 'finder', { want: 5, spanMs: 400 }).startsMs.length).toBeGreaterThan(1);
  });
});

it('a 429 that comes by chance is told from a limit by all together, of which each hears a part', async () => {
  const troubles = [{ reply: '429', share: 0.25, fromMs: 0, forMs: 1e9 }] as const;
  const world = { domains: 116, callers: 64, latencyMs: 20, troubles };
  let elapsedMs = 0;
  for (const at of [3, 4]) {
    const { score } = await play({ ...world, name: `chance ${at}` }, { open: openFleet });
    expect(score).toMatchObject({ missing: 0, wrongFailed: 0 });
    elapsedMs += score.elapsedMs / 2;
  }
  expect(elapsedMs).toBeLessThan(30_000);
});

describe('a worker that keeps its pace with others', () => {
  it('gives starts back at once that no caller may use', async () => {
    const { home, said, pass } = openHome();
    home.wanted(3);
    await pass(10);
    expect(home.nextMs()).toBeLessThan(Infinity);
    home.wanted(0);
    await pass(60);
    expect(home.nextMs()).toBe(Infinity);
    const { want, busy, events = [] } = said.at(-1) ?? {};
    expect([want, busy, events.map(({ how }) => how)]).toEqual([0, 0, ['none', 'none', 'none']]);
  });

  it('asks for more as soon as its starts are used up, though it has calls to tell of', async () => {
    const { home, said, pass } = openHome();
    home.wanted(1);
    await pass(10);
    await pass(Math.max(0, home.nextMs() - 10));
    home.start();
    home.ended('good', { sentAtMs: 10, latencyMs: 1, inFlight: 1 }, 11);
    const before = said.length;
    home.wanted(1);
    await pass(5);
    expect(said.length - before).toBe(1);
  });
});

/** A worker at an exchange whose way takes no time, told the time. */
function openHome() {
  const said: Said[] = [];
  const say = openExchange();
  let nowMs = 0;
  const sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>();
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { untilMs: nowMs + ms, wake: resolve };
        sleepers.add(sleeper);
        signal.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          reject(signal.reason as Error);
        });
      }),
  };
  const home = new RedisPace({
    exchange: async (one) => {
      said.push(one);
      const { state, ...granted } = say(nowMs, one.id, one);
      return { state, granted };
    },
    rate: undefined,
    clock,
    callers: 16,
  });
  onTestFinished(() => home.close());
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    for (const sleeper of sleepers)
      if (sleeper.untilMs <= nowMs && sleepers.delete(sleeper)) sleeper.wake();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { home, said, pass };
}
