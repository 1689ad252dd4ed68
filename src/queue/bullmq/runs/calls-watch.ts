import { setImmediate } from 'node:timers/promises';
import { type CallCounters, createCallCounters } from '../../../common/call-counters.ts';
import type { RedisClient } from '../server/redis.ts';
import { boundCallsOfRun, boundKey, takenKey, untoldKey } from './run-calls.ts';

/** What a run knows of calls beyond what outcomes tell. */
export interface CallsWatch {
  /** Looks no more. */
  stop(): void;
  /** Calls that no outcome tells of, once no worker makes any for it. They are forgotten then. */
  takeUntold(): Promise<Readonly<CallCounters>>;
}

export interface CallsWatchOptions {
  /** How many calls all workers may make for the run together. @default as many as it takes */
  readonly maxCalls?: number | undefined;
  /** Told when more were wanted. */
  readonly onCallsUsedUp?: () => void;
}

/** How often is looked whether workers were refused a call. */
const LOOK_MS = 250;

/** Counts the calls of a run anew, and tells when more were wanted than may be made. */
export async function watchCalls(
  client: RedisClient,
  runId: string,
  { maxCalls, onCallsUsedUp = () => {} }: CallsWatchOptions,
): Promise<CallsWatch> {
  const taken = takenKey(runId);
  const untold = untoldKey(runId);
  let timer: NodeJS.Timeout | undefined;
  await boundCallsOfRun(client, runId, maxCalls);
  if (maxCalls !== undefined) {
    const look = async (): Promise<void> => {
      if (Number(await client.get(taken)) <= maxCalls) return;
      await setImmediate(); // those that were granted, as Redis said in the same breath, go on first
      onCallsUsedUp();
    };
    timer = setInterval(() => void look().catch(() => {}), LOOK_MS); // the next one will do
  }
  return {
    stop: () => clearInterval(timer),
    takeUntold: async () => {
      const counts: CallCounters = createCallCounters();
      const [[, noted] = []] =
        (await client.multi().hgetall(untold).del(untold, taken, boundKey(runId)).exec()) ?? [];
      for (const [name, count] of Object.entries((noted ?? {}) as Record<string, string>)) {
        counts[name as keyof CallCounters] = Number(count);
      }
      return counts;
    },
  };
}
