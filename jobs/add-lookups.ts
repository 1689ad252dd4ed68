/**
 * A producer and consumer without any code of Brandfill, written only from docs/queue-contract.md:
 * it puts one chunk on the queue of lookups, with a reply queue of its own, and prints what comes
 * back.
 *
 * Run it with a Redis and a worker (`brandfill worker --queue … --base-url …`):
 *
 *     npx tsx jobs/add-lookups.ts redis://localhost:6379/0 acme.com https://www.bolt.com/about
 *
 * Each domain is answered once, so give none in two spellings: the program would wait for the
 * second answer forever.
 */
import { randomUUID } from 'node:crypto';
import { type Job, Queue, Worker } from 'bullmq';

/** The part of a reply's data that this program needs. */
interface OutcomesData {
  readonly chunk: string;
  readonly ref?: unknown;
  readonly outcomes: readonly {
    readonly domain: string;
    /** The text that was given, if it is not the domain itself. */
    readonly given?: string;
    readonly status: 'found' | 'not_found' | 'rejected' | 'failed' | 'invalid';
    readonly reason: string;
    /** The answer of the API, as a text. */
    readonly json: string;
  }[];
  /** Why the chunk was refused as a whole. */
  readonly error?: string;
}

const [url = 'redis://localhost:6379/0', ...domains] = process.argv.slice(2);
if (domains.length === 0) domains.push('acme.com');

const shared = {
  connection: { url },
  prefix: '{brandfill}',
  streams: { events: { maxLen: 0 } },
};
const request = randomUUID();
const replyTo = 'add-lookups';
const lookups = new Queue('lookups', shared);
const open = new Set(domains);
let finish = (): void => {};
const finished = new Promise<void>((resolve) => {
  finish = resolve;
});

// A job whose handler throws here comes again, so paid answers are not lost because a database was
// away.
const replies = new Worker(
  replyTo,
  async ({ data }: Job<OutcomesData>) => {
    if (data.ref !== request) return; // a reply to an earlier start of this program
    if (data.error !== undefined) {
      console.error(`Refused: ${data.error}`);
      process.exitCode = 1;
      finish();
    }
    for (const { domain, given, status, reason, json } of data.outcomes) {
      // The same outcome may come twice.
      if (!open.delete(given ?? domain)) continue;
      console.log(`${domain}: ${status === 'found' ? json : `${status} (${reason})`}`);
    }
    if (open.size === 0) finish();
  },
  shared,
);

await lookups.add(
  'lookups',
  { v: 1, domains, replyTo, ref: request },
  { removeOnComplete: true, removeOnFail: { age: 24 * 60 * 60 } },
);
await finished;
await Promise.all([replies.close(), lookups.close()]);
