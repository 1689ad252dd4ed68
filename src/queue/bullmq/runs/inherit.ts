import { LOOKUPS_QUEUE, logKey, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunLedger } from './run-ledger.ts';

/**
 * What an earlier run of the name gave out, and still waits for. What that had noted when it was killed, but not
 * put on the queue yet, is struck: nobody would answer it. Parts of a chunk are not, since a worker that is alive
 * may be about to add them.
 */
export async function inherit(client: RedisClient, ledger: RunLedger): Promise<readonly string[]> {
  const chunks = new Map(await ledger.read());
  const given = [...chunks.keys()].filter((id) => id.startsWith(`${ledger.runId}-`));
  const looking = client.pipeline();
  // One that is done is gone from the queue, and has a log.
  for (const id of given) looking.exists(`${PREFIX}:${LOOKUPS_QUEUE}:${id}`, logKey(id));
  const found = (await looking.exec()) ?? [];
  const neverAdded = given.filter((_, at) => found[at]?.[1] === 0);
  await ledger.strike(neverAdded);
  for (const id of neverAdded) chunks.delete(id);
  return [...chunks.values()].flat();
}
