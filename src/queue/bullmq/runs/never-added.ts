import { LOOKUPS_QUEUE, logKey, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunLedger } from './run-ledger.ts';

/**
 * Strikes what an earlier run had noted when it was killed, but not put on the queue yet: nobody would answer it.
 * Parts of a chunk are left, since a worker that is alive may be about to add them.
 */
export async function strikeNeverAdded(client: RedisClient, ledger: RunLedger): Promise<void> {
  const given = [...(await ledger.read()).keys()].filter((id) => id.startsWith(`${ledger.runId}-`));
  if (given.length === 0) return;
  const looking = client.pipeline();
  // One that is done is gone from the queue, and has a log.
  for (const id of given) looking.exists(`${PREFIX}:${LOOKUPS_QUEUE}:${id}`, logKey(id));
  const found = (await looking.exec()) ?? [];
  await ledger.strike(given.filter((_, at) => found[at]?.[1] === 0));
}
