import { LOOKUPS_QUEUE, logKey, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunLedger } from './run-ledger.ts';

/**
 * Returns the domains that an earlier run of the same name gave out and still waits for. Chunks
 * that it had noted but not put on the queue when it was killed are struck, because they would
 * never be answered. Parts of chunks are kept, since a live worker may be about to add them.
 */
export async function inherit(client: RedisClient, ledger: RunLedger): Promise<readonly string[]> {
  const chunks = new Map(await ledger.read());
  const given = [...chunks.keys()].filter((id) => id.startsWith(`${ledger.runId}-`));
  const looking = client.pipeline();
  // A chunk that is done is gone from the queue but has a log.
  for (const id of given) looking.exists(`${PREFIX}:${LOOKUPS_QUEUE}:${id}`, logKey(id));
  const found = (await looking.exec()) ?? [];
  const neverAdded = given.filter((_, at) => found[at]?.[1] === 0);
  await ledger.strike(neverAdded);
  for (const id of neverAdded) chunks.delete(id);
  return [...chunks.values()].flat();
}
