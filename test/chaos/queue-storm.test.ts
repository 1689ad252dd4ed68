import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Ended, Running } from '../integration/support/command.ts';
import { isByDay, SEEDS, seededRandom } from '../support/random.ts';
import { CONCURRENCY, type Fleet, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-storm.test.ts');
const WORKERS = 2;
const EVENTS = 4 * SEEDS;
/** So that the run is not over before most of it has happened. */
const SLOW = { latencyMs: { fromMs: 20, toMs: 250 } };
/** Those that were under way, and those whose outcomes gathered in the last few milliseconds. */
const LOST = CONCURRENCY + 4;
/** Calls that may be made again because of an event. */
const COSTS = {
  'worker killed': LOST,
  'worker stopped': 0,
  'worker frozen': LOST,
  'run killed': 0,
  'run interrupted': 0,
  // Who comes back first may take what another has not been able to note.
  'Redis restarted': WORKERS * LOST,
};
type Event = keyof typeof COSTS;

it.skipIf(isByDay('a storm of kills'))(
  'one thing after another, as the seed has it: nothing is lost, little is asked again',
  async () => {
    const redis = { isPersistent: true };
    const fleet = await openFleet({ random, rows: 1_200 * SEEDS, redis, api: SLOW });
    const workers = await fleet.workers(WORKERS);
    const run = createRepeatedRun(fleet);
    const events: Event[] = [];
    while (events.length < EVENTS && !run.isOver) {
      const calls = fleet.api.stats().calls + random.between(1, 200);
      await Promise.race([fleet.calls(calls), run.over]);
      if (run.isOver) break;
      const event = random.pick(Object.keys(COSTS) as Event[]) ?? 'worker killed';
      events.push(event);
      await cause(event, { fleet, workers, run });
    }
    const ended = await run.over;
    const allowed = events.reduce((sum, event) => sum + COSTS[event], 0);
    console.log(`queue-storm.test.ts: ${fleet.excessCalls()} calls again; ${events.join(', ')}`);
    await fleet.expectWhole(ended);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(allowed);
  },
);

interface Scene {
  readonly fleet: Fleet;
  readonly workers: Running[];
  readonly run: RepeatedRun;
}

async function cause(event: Event, { fleet, workers, run }: Scene): Promise<void> {
  const [worker] = workers;
  if (!worker) throw new Error('there is no worker');
  switch (event) {
    case 'worker killed':
      await worker.stop('SIGKILL');
      break;
    case 'worker stopped':
      await worker.stop();
      break;
    case 'worker frozen':
      worker.process.kill('SIGSTOP');
      await delay(random.between(500, 5_000));
      worker.process.kill('SIGCONT');
      return void workers.push(...workers.splice(0, 1));
    case 'run killed':
      return run.signal('SIGKILL');
    case 'run interrupted':
      return run.signal('SIGTERM');
    case 'Redis restarted':
      await fleet.redis.stop();
      await delay(random.between(0, 1_500));
      return await fleet.redis.start();
  }
  workers.splice(0, 1, await fleet.worker());
}

interface RepeatedRun {
  readonly isOver: boolean;
  /** Resolves with how the last one ended, which was not disturbed. */
  readonly over: Promise<Ended>;
  signal(signal: NodeJS.Signals): void;
}

/** A run whose command is given again when it was ended, or found no Redis at its start. */
function createRepeatedRun(fleet: Fleet): RepeatedRun {
  let isOver = false;
  let running: Running | undefined;
  async function repeat(): Promise<Ended> {
    for (;;) {
      running = await fleet.enrich('--workers', '0');
      const ended = await running.ended;
      const wasDisturbed = ended.signal !== null || ended.code === 130;
      const hadNoRedis = ended.code === 2 && ended.stderr.includes('Cannot use the queue');
      isOver = !wasDisturbed && !hadNoRedis;
      if (isOver) return ended;
    }
  }
  const over = repeat();
  return {
    over,
    get isOver() {
      return isOver;
    },
    signal: (signal) => void running?.process.kill(signal),
  };
}
