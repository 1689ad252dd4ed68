import type { Outcome } from '../../src/calls/outcome.ts';
import { type Exchanged, RedisPace } from '../../src/worker/redis-pace.ts';
import { exchange, type Said, type SharedState } from '../../src/worker/shared-pace.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { openStack, type Stack, type StackOptions } from './stack.ts';
import type { VirtualClock } from './virtual-time.ts';
import type { World } from './world.ts';

/** Keeps a pace for several workers, told the time. */
export type Keeper = (said: Said, nowMs: number) => Promise<Exchanged>;

/** As Redis does it, but here. */
function createKeeper(): Keeper {
  let state: SharedState | undefined;
  return async (said, nowMs) => {
    const exchanged = exchange(state, said, nowMs);
    state = exchanged.state;
    return exchanged;
  };
}

const WORKERS = 4;
const CHUNK = 10;
const ONE_WAY_MS = 0.5;

/** Four workers that share a list, and a pace, as over a queue. */
export function openFleet(world: World, options: StackOptions, keep = createKeeper()): Stack {
  const { clock } = options;
  const callers = Math.max(1, Math.round(world.callers / WORKERS));
  const workers = Array.from({ length: WORKERS }, () => {
    const home = new RedisPace({
      exchange: (said) => exchangeFarAway(keep, said, clock),
      rate: world.rate,
      clock,
      callers,
    });
    return openStack({ ...world, callers }, { ...options, home });
  });
  const [first] = workers as [Stack, ...Stack[]];
  const stopSwitch = createStopSwitch();
  const stopIfAllHave = (): void => {
    const stopped = workers.map((one) => one.stopSwitch.stopped);
    if (stopped.every((one) => one !== undefined) && stopped[0]) stopSwitch.stop(stopped[0]);
  };
  for (const one of workers) {
    one.stopSwitch.noNewCall.addEventListener('abort', stopIfAllHave);
    stopSwitch.noCall.addEventListener('abort', () => one.stopSwitch.giveUp({ reason: 'error' }));
  }
  return {
    stopSwitch,
    lookUp: async (domains, onOutcomes) => {
      const left = [...domains];
      const jobs = Math.max(2, Math.ceil((4 * callers) / CHUNK));
      const takers = workers.flatMap((worker) =>
        Array.from({ length: jobs }, () => takeFrom(left, worker, onOutcomes)),
      );
      await Promise.all(takers);
    },
    describe: () => first.describe(),
    remember: () => undefined,
    close: async () => {
      await Promise.all(workers.map((one) => one.close()));
    },
  };
}

async function exchangeFarAway(keep: Keeper, said: Said, clock: VirtualClock): Promise<Exchanged> {
  const { signal } = new AbortController();
  await clock.sleep(ONE_WAY_MS, signal);
  const exchanged = await clock.standStill(keep(said, clock.nowMs()));
  await clock.sleep(ONE_WAY_MS, signal);
  return exchanged;
}

/** What a worker that stops has no outcome of is another's. */
async function takeFrom(
  left: string[],
  worker: Stack,
  onOutcomes: (all: readonly Outcome[]) => void,
): Promise<void> {
  while (left.length > 0 && !worker.stopSwitch.stopped) {
    const chunk = new Set(left.splice(0, CHUNK));
    await worker.lookUp([...chunk], (all) => {
      for (const { domain } of all) chunk.delete(domain);
      onOutcomes(all);
    });
    left.push(...chunk);
  }
}
