/**
 * A producer and consumer without any code of Brandfill, written only from docs/queue-contract.md:
 * it puts one job on the queue of an API, with a stream of its own for the outcomes, and prints
 * what comes.
 *
 * Run it with a Redis and a worker (`brandfill worker --queue … --base-url …`, which says the name
 * of its queue):
 *
 * npx tsx jobs/add-lookups.ts redis://localhost:6379/0 localhost-8080 acme.com
 * https://www.bolt.com/about
 *
 * Each domain is answered once, so give none in two spellings: the program would wait for the
 * second answer forever.
 */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

interface OutcomesData {
  readonly outcomes: readonly {
    readonly domain: string;
    /** The text that was given, if it is not the domain itself. */
    readonly given?: string;
    readonly status: string;
    readonly reason: string;
    /** The answer of the API, as a text. */
    readonly json: string;
  }[];
}

const [url = 'redis://localhost:6379/0', name = 'localhost-8080', ...domains] =
  process.argv.slice(2);
if (domains.length === 0) domains.push('acme.com');

const redis = new Redis(url, { maxRetriesPerRequest: null });
const shared = { prefix: '{brandfill}', streams: { events: { maxLen: 0 } } };
const lookups = new Queue(name, { connection: redis, ...shared });
const run = `add-lookups-${randomUUID()}`;
const stream = `{brandfill}:outcomes:${run}`;
await lookups.add('lookups', { domains, run }, { removeOnComplete: true });

const open = new Set(domains);
for (let last = '0-0'; open.size > 0; ) {
  const found = await redis.xread('BLOCK', 5_000, 'STREAMS', stream, last);
  for (const [id, [, data = '{}']] of found?.[0]?.[1] ?? []) {
    last = id;
    for (const outcome of (JSON.parse(data) as OutcomesData).outcomes) {
      const { domain, given, status, reason, json } = outcome;
      // The same outcome may come twice.
      if (!open.delete(given ?? domain)) continue;
      console.log(`${domain}: ${status === 'found' ? json : `${status} (${reason})`}`);
    }
  }
}
await redis.del(stream); // it would go by itself after seven days
await lookups.close();
redis.disconnect();
