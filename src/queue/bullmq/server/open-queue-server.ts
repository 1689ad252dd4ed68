import type { OnNotice } from '../../../common/notice.ts';
import { openTraces, traceClient } from '../traces.ts';
import { checkServer } from './check-server.ts';
import { openRedis, type RedisServer } from './redis.ts';

export interface QueueServerOptions {
  readonly url: string;
  /** Goes on although the server may throw keys away. */
  readonly acceptEviction: boolean;
  /** Told what is worth knowing, in sentences. */
  readonly onNotice: OnNotice;
  /** Whether what is done over it is traced, where traces are wanted at all. @default true */
  readonly isTraced?: boolean;
}

/**
 * Connects to the Redis of a queue and makes sure that it will do.
 *
 * @throws BrandfillError `UNUSABLE_QUEUE`
 */
export async function openQueueServer(options: QueueServerOptions): Promise<RedisServer> {
  const { url, acceptEviction, onNotice, isTraced = true } = options;
  const redis = await openRedis(url, {
    check: (client) => checkServer({ client, acceptEviction, onWarning: onNotice }),
    onTrouble: onNotice,
  });
  const traces = isTraced ? await openTraces(process.env, onNotice) : undefined;
  if (!traces) return redis;
  traceClient(redis.client, traces.telemetry);
  return {
    ...redis,
    close: async () => {
      await traces.flush();
      await redis.close();
    },
  };
}
