import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { lookupsSchema, parseLookups } from '../../src/queue/bullmq/contract.ts';
import {
  BULK_PRIORITY,
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  OUTCOMES_JOB,
  OUTCOMES_QUEUE,
  PREFIX,
} from '../../src/queue/bullmq/names.ts';
import { useWorkedQueue } from '../support/worked-queue.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'jobs/lookups.schema.json');
const page = await readFile(join(project, 'docs/queue-contract.md'), 'utf8');
const examples = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(
  ([, text = '']) => JSON.parse(text) as Readonly<Record<string, unknown>>,
);
const chunks = examples.filter((example) => 'domains' in example);
const replies = examples.filter((example) => 'outcomes' in example);

test('jobs/lookups.schema.json is the contract of the code (UPDATE=1 writes it)', async () => {
  if (process.env['UPDATE'] === '1') {
    await writeFile(SCHEMA, JSON.stringify(lookupsSchema()));
    await run(join(project, 'node_modules/.bin/biome'), ['format', '--write', SCHEMA]);
  }
  expect(JSON.parse(await readFile(SCHEMA, 'utf8'))).toEqual(lookupsSchema());
});

describe('docs/queue-contract.md', () => {
  test('has only examples of chunks and of what comes back', () => {
    expect(chunks).toHaveLength(2);
    expect(replies).toHaveLength(2);
    expect(examples).toHaveLength(4);
  });

  test.each(chunks)('has chunks that keep the contract: %j', (chunk) => {
    expect(parseLookups(chunk)).toEqual(chunk);
  });

  test('names the names', () => {
    expect(page).toContain(`| prefix of all keys | \`${PREFIX}\``);
    expect(page).toContain(`the name of its jobs | \`${LOOKUPS_QUEUE}\` |`);
    expect(page).toContain(`all such queues | \`${OUTCOMES_QUEUE}\` |`);
    expect(page).toContain(`and ${BULK_PRIORITY} to bulk`);
    expect([LOOKUPS_JOB, OUTCOMES_JOB]).toEqual([LOOKUPS_QUEUE, OUTCOMES_QUEUE]);
  });

  test('names every member of the schema', () => {
    const { properties } = lookupsSchema() as { readonly properties: object };
    for (const name of Object.keys(properties)) expect(page).toContain(`\`${name}\``);
  });

  test('has replies as workers send them, and a producer that runs', async () => {
    const { redis, queueOf } = await useWorkedQueue();
    const data = chunks.find(({ replyTo }) => replyTo !== undefined);
    await queueOf(LOOKUPS_QUEUE).add(LOOKUPS_JOB, data, { jobId: 'crm-4711' });
    const broken = { v: 2, domains: ['acme.com'], replyTo: data?.['replyTo'] };
    await queueOf(LOOKUPS_QUEUE).add(LOOKUPS_JOB, broken, { jobId: 'crm-v2' });
    const args = ['jobs/add-lookups.ts', redis.url, 'acme.com', 'http://www.bolt.com/a', 'n/a'];
    const { stdout } = await run(process.execPath, ['--import', 'tsx', ...args], { cwd: project });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^acme\.com: \{"name":"Acme"/),
      expect.stringMatching(/^bolt\.com: \{"name":"Bolt"/),
      'n/a: invalid (empty)',
      '',
    ]);

    const replyQueue = queueOf(String(data?.['replyTo']));
    while ((await replyQueue.getWaitingCount()) < 2) await delay(20);
    while ((await queueOf(LOOKUPS_QUEUE).getActiveCount()) > 0) await delay(20);
    const jobs = await replyQueue.getWaiting();
    expect(jobs.map(({ name }) => name)).toEqual([OUTCOMES_JOB, OUTCOMES_JOB]);
    const sent = new Map(jobs.map((job) => [job.data.chunk as string, job.data as Reply]));
    for (const reply of replies as unknown as readonly Reply[]) {
      const real = sent.get(reply.chunk);
      const { outcomes, ...rest } = reply;
      expect(real).toMatchObject(rest);
      for (const outcome of outcomes) {
        const { domain, fetchedAtMs: _, json, ...known } = outcome;
        const same = real?.outcomes.find((other) => other['domain'] === domain);
        expect(same).toMatchObject(known);
        expect(Object.keys(same ?? {})).toEqual(Object.keys(outcome));
        expect(brandOf(same?.json)).toMatchObject(brandOf(json));
      }
    }
    expect(await queueOf(LOOKUPS_QUEUE).getJobCounts('completed', 'failed', 'waiting')).toEqual({
      completed: 0, // although nothing was said about removing it
      failed: 1,
      waiting: 0,
    });
  });
});

interface Reply {
  readonly chunk: string;
  readonly outcomes: readonly { readonly [member: string]: unknown; readonly json: string }[];
}

function brandOf(json: string | undefined): object {
  return JSON.parse(json || '{}') as object;
}
