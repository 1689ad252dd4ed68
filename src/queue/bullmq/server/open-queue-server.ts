import type { OnNotice } from '../../../common/notice.ts';
import { openTraces, traceClient } from '../traces.ts';
import { checkServer } from './check-server.ts';
import { openRedis, type RedisServer } from './redis.ts';

export interface QueueServerOptions {
  readonly url: string;
  /** Whether to go on although the server may evict keys. */
  readonly acceptEviction: boolean;
  /** Called with notices, each in full sentences. */
  readonly onNotice: OnNotice;
  /** Whether work on this server is traced when traces are enabled. @default true */
  readonly isTraced?: boolean;
}

/**
 * Connects to the Redis of a queue and makes sure that it can be used.
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
