import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Queue } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lookupsSchema, parseLookups } from '../../src/queue/contract.ts';
import { BACKFILL_PRIORITY, LOOKUPS_JOB, PREFIX, QUEUE_OPTIONS } from '../../src/queue/names.ts';
import { openStage } from '../integration/support/queue-stage.ts';
import { jsonOf } from './generated.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'jobs/lookups.schema.json');
const page = await readFile(join(project, 'docs/queue-contract.md'), 'utf8');
const examples = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(
  ([, text = '']) => JSON.parse(text) as Readonly<Record<string, unknown>>,
);
const chunks = examples.filter((example) => 'domains' in example);
const replies = examples.filter((example) => 'outcomes' in example);

test('jobs/lookups.schema.json is the contract of the code', async () => {
  await expect(jsonOf(lookupsSchema())).toMatchFileSnapshot(SCHEMA);
});

describe('docs/queue-contract.md', () => {
  test('has only examples of chunks and of what comes back', () => {
    expect(chunks).toHaveLength(1);
    expect(replies).toHaveLength(1);
    expect(examples).toHaveLength(2);
  });

  test.each(chunks)('has chunks that keep the contract: %j', (chunk) => {
    expect(parseLookups(chunk)).toEqual(chunk);
  });

  test('names the names', () => {
    expect(page).toContain(`| prefix of all keys | \`${PREFIX}\``);
    expect(page).toContain(`| name of jobs | \`${LOOKUPS_JOB}\` |`);
    expect(page).toContain(`${BACKFILL_PRIORITY} for a backlog`);
  });

  test('names every member of the schema', () => {
    const { properties } = lookupsSchema() as { readonly properties: object };
    for (const name of Object.keys(properties)) expect(page).toContain(`\`${name}\``);
  });

  test('has outcomes as workers send them, and a producer that runs', async () => {
    const { redis, api, worker } = await openStage(1);
    await worker();
    const name = new URL(api.url).host.replace(':', '-');
    const queue = new Queue(name, { connection: redis.client, ...QUEUE_OPTIONS });
    onTestFinished(() => queue.close());
    await queue.add(LOOKUPS_JOB, chunks[0]);
    await queue.add(LOOKUPS_JOB, { domains: 'acme.com' }, { jobId: 'broken' });
    const names = ['acme.com', 'http://www.bolt.com/a', 'n/a'];
    const args = ['jobs/add-lookups.ts', redis.url, name, ...names];
    const { stdout } = await run(process.execPath, ['--import', 'tsx', ...args], { cwd: project });
    expect(stdout.split('\n').toSorted()).toEqual([
      '',
      expect.stringMatching(/^acme\.com: \{"name":"Acme"/),
      expect.stringMatching(/^bolt\.com: \{"name":"Bolt"/),
      'n/a: invalid (empty)',
    ]);
    const entries = await redis.client.xrange(`${PREFIX}:outcomes:crm-4711`, '-', '+');
    const sent = entries.map(([, [, data = '']]) => JSON.parse(data) as Reply);
    const outcomes = sent.flatMap((reply) => reply.outcomes);
    const [reply] = replies as unknown as readonly Reply[];
    for (const { domain, json, fetchedAtMs: _, ...known } of reply?.outcomes ?? []) {
      const same = outcomes.find((other) => other['domain'] === domain);
      expect(same).toMatchObject(known);
      expect(brandOf(same?.json)).toMatchObject(brandOf(json));
    }
    const [broken] = await queue.getFailed();
    expect(broken?.failedReason).toMatch(/^the job breaks the contract: 'domains': /);
  });
});

interface Reply {
  readonly outcomes: readonly { readonly [member: string]: unknown; readonly json: string }[];
}

function brandOf(json: string | undefined): object {
  return JSON.parse(json || '{}') as object;
}
