import type { CallAllowance } from '../../lookup-queue.ts';
import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { markPaused } from './paused-runs.ts';

/** Calls that all workers may make for one run. What was refused is counted too: it says that they are used up. */
export interface RunCalls extends CallAllowance {
  /** Whether a call was refused. */
  readonly isUsedUp: boolean;
  /** Has workers leave the run's chunks alone until it has seen that. */
  holdBack(): Promise<void>;
}

/** For as long a count is kept that nobody removes. */
const KEPT_MS = 24 * 60 * 60_000;
/** How often is looked whether workers were refused a call. */
const LOOK_MS = 250;

export function allowCalls(client: RedisClient, runId: string, maxCalls: number): RunCalls {
  const key = callsKey(runId);
  let isUsedUp = false;
  return {
    get isUsedUp() {
      return isUsedUp;
    },
    take: async () => {
      try {
        const [[, count] = []] =
          (await client.multi().incr(key).pexpire(key, KEPT_MS).exec()) ?? [];
        isUsedUp ||= Number(count) > maxCalls;
        return Number(count) <= maxCalls;
      } catch {
        return false; // a call that cannot be counted is not made
      }
    },
    giveBack: () => {
      client.decr(key).catch(() => {}); // one call less than might be made
    },
    holdBack: () => markPaused(client, runId),
  };
}

/** What a run knows of its calls. */
export interface CallsWatch {
  /** Looks no more. */
  stop(): void;
  /** Forgets how many there were, once no worker makes any for it. */
  forget(): Promise<void>;
}

/** Counts the calls of a run anew, and tells when more were wanted than may be made. */
export async function watchCalls(
  client: RedisClient,
  runId: string,
  { maxCalls, onCallsUsedUp = () => {} }: { maxCalls: number; onCallsUsedUp?: () => void },
): Promise<CallsWatch> {
  const key = callsKey(runId);
  await client.del(key);
  const look = async (): Promise<void> => {
    if (Number(await client.get(key)) > maxCalls) onCallsUsedUp();
  };
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS); // the next one will do
  return {
    stop: () => clearInterval(timer),
    forget: async () => {
      await client.del(key);
    },
  };
}

function callsKey(runId: string): string {
  return `${PREFIX}:run-calls:${runId}`;
}
