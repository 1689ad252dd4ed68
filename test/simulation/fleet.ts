import { randomUUID } from 'node:crypto';
import type { Outcome } from '../../src/calls/outcome.ts';
import type { RedisClient } from '../../src/queue/redis.ts';
import { type Exchanged, exchangeInRedis, RedisPace } from '../../src/worker/redis-pace.ts';
import { exchange, type Said, type SharedState } from '../../src/worker/shared-pace.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { asProduced, openStack, type Stack, type StackOptions } from './stack.ts';
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

/** In a Redis, by the script that keeps it for real workers, at a time that is told. */
export function createRedisKeeper(client: RedisClient): Keeper {
  const fail = (error: unknown): never => {
    throw error;
  };
  const key = `{simulation}:${randomUUID()}`;
  const keep = exchangeInRedis({ redis: { client, refused: fail }, key }, fail);
  return async (said, nowMs) => {
    const at: Said & { readonly clockMs: number } = { ...said, clockMs: nowMs };
    const exchanged = await keep(at);
    return exchanged ?? fail(new Error('Redis could not use what it kept'));
  };
}

const WORKERS = 4;
const CHUNK = 10;
const ONE_WAY_MS = 0.5;
const LOOK_MS = 50;
/** As long as a real one leaves jobs to others. */
const REST_MS = 5_000;

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
      const waiting = new Waiting(asProduced(domains), clock);
      const jobs = Math.max(2, Math.ceil((4 * callers) / CHUNK));
      const takers = workers.flatMap((worker) => {
        const taking = new Taking(waiting, { worker, clock, onOutcomes });
        return Array.from({ length: jobs }, () => taking.goOn());
      });
      await Promise.all(takers);
    },
    isSick: () => false,
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

/** The domains that no worker has, and how many have no outcome. */
class Waiting {
  readonly #left: string[];
  readonly #clock: VirtualClock;
  #open: number;

  constructor(domains: readonly string[], clock: VirtualClock) {
    this.#left = [...domains];
    this.#open = domains.length;
    this.#clock = clock;
  }

  /** The next ones, or those that another worker gives back; none when all have outcomes. */
  async take(signal: AbortSignal): Promise<Set<string>> {
    while (this.#left.length === 0 && this.#open > 0 && !signal.aborted)
      await this.#clock.sleep(LOOK_MS, signal).catch(() => {}); // it stops
    return new Set(this.#left.splice(0, CHUNK));
  }

  ended(all: readonly Outcome[]): void {
    this.#open -= all.length;
  }

  giveBack(chunk: Iterable<string>): void {
    this.#left.push(...chunk);
  }
}

interface TakingOptions {
  readonly worker: Stack;
  readonly clock: VirtualClock;
  readonly onOutcomes: (all: readonly Outcome[]) => void;
}

/**
 * Has a worker look up what waits. Where its calls alone fail, it tries one domain and leaves the
 * rest.
 */
class Taking {
  readonly #waiting: Waiting;
  readonly #options: TakingOptions;
  #tried: string | undefined;

  constructor(waiting: Waiting, options: TakingOptions) {
    this.#waiting = waiting;
    this.#options = options;
  }

  async goOn(): Promise<void> {
    const { worker, clock, onOutcomes } = this.#options;
    const { noNewCall } = worker.stopSwitch;
    const isWanted = (domain: string): boolean => {
      if (!worker.isSick()) return true;
      this.#tried ??= domain;
      return this.#tried === domain;
    };
    while (!noNewCall.aborted) {
      const chunk = await this.#waiting.take(noNewCall);
      if (chunk.size === 0) return;
      const onAnswered = (all: readonly Outcome[]): void => {
        for (const { domain } of all) chunk.delete(domain);
        this.#waiting.ended(all);
        onOutcomes(all);
      };
      await worker.lookUp([...chunk], onAnswered, isWanted);
      this.#waiting.giveBack(chunk);
      if (!worker.isSick()) continue;
      await clock.sleep(REST_MS, noNewCall).catch(() => {}); // it stops
      this.#tried = undefined;
    }
  }
}
