import { expect, it } from 'vitest';
import { add, work } from '../../src/index.ts';
import { LOOKUPS_QUEUE, PREFIX } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openServer } from './support/api.ts';

it('a worker says in words that it has lost a chunk when it was about to finish it', async () => {
  const redis = await useRedis();
  const stop = new AbortController();
  const notices: string[] = [];
  // As if the worker had been cut off at that moment for longer than its claim counts.
  async function loseClaims(): Promise<void> {
    const locks = await redis.client.keys(`${PREFIX}:${LOOKUPS_QUEUE}:*:lock`);
    await redis.client.del(...locks);
  }
  const server = await openServer((_, response) => {
    void loseClaims().then(() => response.end('{"name":"Acme"}'));
  });
  await add({ input: [{ domain: 'acme.com' }], queue: redis.url });
  await work({
    queue: redis.url,
    baseUrl: server.url,
    signal: stop.signal,
    onNotice: (message) => {
      notices.push(message);
      if (message.startsWith('Chunk ')) stop.abort();
    },
  });
  expect(notices).toContainEqual(
    expect.stringMatching(
      /^Chunk add-[\w-]+ was left to others: this worker was cut off for too long\.$/,
    ),
  );
});
