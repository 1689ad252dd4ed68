import { setImmediate } from 'node:timers/promises';
import { startHeartbeat } from '../../../common/heartbeat.ts';
import type { RedisClient } from '../server/redis.ts';
import { boundCallsOfRun, boundKey, takenKey } from './run-calls.ts';

export interface CallsWatchOptions {
  /** How many calls all workers may make for the run together. @default no bound */
  readonly maxCalls?: number | undefined;
  /** Called when more were wanted. */
  readonly onCallsUsedUp?: () => void;
}

/** How often the run checks whether workers were refused a call. */
const POLL_MS = 250;

/** The bound of the calls of a run, in Redis. */
export interface CallsWatch {
  /** Stops checking. */
  stop(): void;
  /** Removes the count. For use once no worker makes any calls for the run. */
  forget(): Promise<void>;
}

/**
 * Starts the count of a run's calls anew, and reports when workers want more than they may make.
 */
export async function watchCalls(
  client: RedisClient,
  runId: string,
  { maxCalls, onCallsUsedUp = () => {} }: CallsWatchOptions,
): Promise<CallsWatch> {
  const taken = takenKey(runId);
  await boundCallsOfRun(client, runId, maxCalls);
  const heartbeat =
    maxCalls === undefined
      ? undefined
      : startHeartbeat(POLL_MS, async () => {
          if (Number(await client.get(taken)) <= maxCalls) return;
          await setImmediate(); // callers that were granted a call in the same reply go on first
          onCallsUsedUp();
        });
  return {
    stop: () => heartbeat?.close(),
    forget: async () => {
      await client.del(taken, boundKey(runId));
    },
  };
}
