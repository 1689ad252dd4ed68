import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import {
  accepted,
  createPace,
  ended,
  forget,
  nextStartMs,
  refused,
  start,
} from '../../src/worker/pace.ts';
import { PACE_SCRIPT } from '../../src/worker/pace-script.ts';
import { seededRandom } from '../support/random.ts';
import { useDatabase } from '../support/redis.ts';

const random = seededRandom('shared-pace.test.ts');

/** Numbers lose their last digits in JSON. */
function expectAlike(one: object, other: object): void {
  for (const [name, value] of Object.entries(other)) {
    const its: unknown = Reflect.get(one, name);
    if (typeof value === 'object') {
      expectAlike(its as object, value as object);
      continue;
    }
    const isNumber = typeof value === 'number' && typeof its === 'number';
    const isAlike = isNumber
      ? Math.abs(its - value) <= 1e-6 * Math.max(1, Math.abs(value))
      : its === value;
    expect(isAlike, `${name}: ${String(its)} and ${String(value)}`).toBe(true);
  }
}

it('the pace in Redis learns from the same calls the same numbers as the one of a process', async () => {
  const client = new Redis((await useDatabase()).url);
  onTestFinished(() => client.disconnect());
  for (let round = 0; round < 8; round += 1) {
    const key = `pace:${randomUUID()}`;
    const pace = createPace(0, { limitPerMs: 0, cap: 0, isFixed: false });
    let nowMs = 0;
    const call = async (said: object) =>
      JSON.parse(String(await client.eval(PACE_SCRIPT, 1, key, 'w', JSON.stringify(said)))) as {
        starts: number[];
        pace: typeof pace;
      };
    await call({ now: 0, events: [], want: 0, busy: 0, lead: 0, span: 0 });
    for (let step = 0; step < 150; step += 1) {
      nowMs += random.between(1, 80);
      const sentAtMs = nowMs - random.between(1, 200);
      const isGood = random.next() < 0.8;
      const how = isGood
        ? 'good'
        : (random.pick(['refused', 'failing', 'away', 'forget', 'none'] as const) ?? 'none');
      const told = random.next() < 0.2 ? { retryAfterMs: random.between(100, 9_000) } : {};
      // Headers state one quota, and later another one.
      const count = step < 100 ? 20 : 30;
      const quota = round % 4 === 3 ? { limits: { quota: { count, perMs: 1_000 } } } : {};
      const event = {
        sentAtMs,
        latencyMs: nowMs - sentAtMs,
        inFlight: random.between(1, 30),
        isAgain: random.next() < 0.2,
        ...told,
        ...quota,
      };
      if (how === 'good') accepted(pace, event, nowMs);
      else if (how === 'none') ended(pace, sentAtMs);
      else if (how === 'forget') forget(pace, nowMs);
      else refused(pace, event, nowMs, how);
      const { inFlight } = event;
      const atMs = nextStartMs(pace, nowMs, inFlight);
      const isDue = atMs <= nowMs + 100;
      if (isDue) start(pace, atMs);
      const events = [{ ...event, how, atMs: nowMs }];
      const reply = await call({ now: nowMs, events, want: 1, busy: inFlight, lead: 0, span: 100 });
      expect(reply.starts.length ?? 0).toBe(isDue ? 1 : 0);
      expectAlike(reply.pace, pace);
    }
  }
}, 60_000);

it('a rate that nobody states for a moment, between two jobs, is kept to when it is stated again', async () => {
  const client = new Redis((await useDatabase()).url);
  onTestFinished(() => client.disconnect());
  const ask = async (now: number, want: number, rate?: object): Promise<unknown> => {
    const said = { now, events: [], want, busy: 0, lead: 0, span: 100, rate };
    const reply = await client.eval(PACE_SCRIPT, 1, 'pace:rate', 'w', JSON.stringify(said));
    return (JSON.parse(String(reply)) as { readonly starts: unknown }).starts;
  };
  const rate = { count: 5, perMs: 1_000 };
  expect(await ask(10_000, 9, rate)).toEqual([10_000, 10_000]);
  await ask(10_010, 0);
  expect(await ask(10_150, 1, rate)).toEqual([10_200]);
});
