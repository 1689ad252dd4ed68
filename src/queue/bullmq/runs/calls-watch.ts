import { setImmediate } from 'node:timers/promises';
import { type CallCounters, createCallCounters } from '../../../common/call-counters.ts';
import { type Heartbeat, startHeartbeat } from '../../../common/heartbeat.ts';
import type { RedisClient } from '../server/redis.ts';
import { boundCallsOfRun, boundKey, takenKey, untoldKey } from './run-calls.ts';

/** Watches the calls of a run that outcomes do not report. */
export interface CallsWatch {
  /** Stops checking. */
  stop(): void;
  /**
   * Returns and forgets calls that no outcome reports. For use once no worker makes any calls for
   * it.
   */
  takeUntold(): Promise<Readonly<CallCounters>>;
}

export interface CallsWatchOptions {
  /** How many calls all workers may make for the run together. @default no bound */
  readonly maxCalls?: number | undefined;
  /** Called when more were wanted. */
  readonly onCallsUsedUp?: () => void;
}

/** How often the run checks whether workers were refused a call. */
const POLL_MS = 250;

/**
 * Starts the count of a run's calls anew, and reports when workers want more than they may make.
 */
export async function watchCalls(
  client: RedisClient,
  runId: string,
  { maxCalls, onCallsUsedUp = () => {} }: CallsWatchOptions,
): Promise<CallsWatch> {
  const taken = takenKey(runId);
  const untold = untoldKey(runId);
  let heartbeat: Heartbeat | undefined;
  await boundCallsOfRun(client, runId, maxCalls);
  if (maxCalls !== undefined) {
    const look = async (): Promise<void> => {
      if (Number(await client.get(taken)) <= maxCalls) return;
      await setImmediate(); // callers that were granted a call in the same reply go on first
      onCallsUsedUp();
    };
    heartbeat = startHeartbeat(POLL_MS, look);
  }
  return {
    stop: () => heartbeat?.close(),
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
