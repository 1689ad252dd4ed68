import { expect, it } from 'vitest';
import { createLogReader, createOutcomeLog } from '../../src/queue/bullmq/chunks/outcome-log.ts';
import type { OutcomeData } from '../../src/queue/bullmq/contract.ts';
import { logKey } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';

function outcomeOf(domain: string): OutcomeData {
  return {
    domain,
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    throttled: 0,
    fetchedAtMs: 1_795_204_800_000,
    json: '{"name":"Acme"}',
  };
}

it('a log goes by itself, also one that begins anew after somebody has removed it', async () => {
  const { client } = await useRedis();
  const log = createOutcomeLog(client);
  const readLog = createLogReader(client);
  for (const domain of ['acme.com', 'globex.com']) {
    await log.add('chunk', outcomeOf(domain));
    const { outcomes } = await readLog('chunk');
    expect(outcomes.map(({ data }) => data)).toEqual([outcomeOf(domain)]);
    expect(await client.pttl(logKey('chunk'))).toBeGreaterThan(60_000);
    await client.del(logKey('chunk'));
  }
});
