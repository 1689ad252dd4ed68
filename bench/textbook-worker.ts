/**
 * The worker from the manual of a queue: a job for each row, `fetch` in the processor, the result
 * as the job's return value. Arguments: base URL, Redis port, calls, concurrency. Prints its own
 * time, from the first waiting job to the last completed one, without adding them.
 */
import { Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { domainOf } from './harness/list.ts';

const [baseUrl = '', port = '0', calls = '0', concurrency = '1'] = process.argv.slice(2);
const connect = (): Redis => new Redis({ port: Number(port), maxRetriesPerRequest: null });
const queue = new Queue('textbook', { connection: connect() });
const events = new QueueEvents('textbook', { connection: connect() });
await events.waitUntilReady();
const jobs = Array.from({ length: Number(calls) }, (_, at) => ({
  name: 'lookup',
  data: { domain: domainOf(at) },
}));
await queue.addBulk(jobs);
const results = new Map<string, unknown>();
const all = new Promise<void>((resolve) => {
  events.on('completed', ({ jobId, returnvalue }) => {
    results.set(jobId, returnvalue);
    if (results.size === jobs.length) resolve();
  });
});
const startMs = performance.now();
const worker = new Worker<{ domain: string }>(
  'textbook',
  async ({ data: { domain } }) => {
    const response = await fetch(`${baseUrl}/v1/brand?domain=${encodeURIComponent(domain)}`);
    if (!response.ok) throw new Error(`Got ${response.status}`);
    return await response.json();
  },
  { connection: connect(), concurrency: Number(concurrency) },
);
await all;
console.log(JSON.stringify({ elapsedMs: performance.now() - startMs }));
await Promise.all([worker.close(), events.close(), queue.close()]);
process.exit();
