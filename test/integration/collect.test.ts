import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OutcomeData, OutcomesData } from '../../src/queue/bullmq/contract.ts';
import {
  OUTCOMES_JOB,
  OUTCOMES_OPTIONS,
  OUTCOMES_QUEUE,
  QUEUE_OPTIONS,
} from '../../src/queue/bullmq/names.ts';
import { seededRandom } from '../support/random.ts';
import { findRedisServer, startRedis } from '../support/redis.ts';
import { type Running, run, start } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { objectsOf } from './support/tables.ts';

const { next: random } = seededRandom('collect.test.ts');
const hasRedis = findRedisServer() !== undefined;
if (!hasRedis) console.log('Left out: collect.test.ts, because there is no Redis server.');

describe.skipIf(!hasRedis)('brandfill collect', () => {
  it('writes outcomes by kind and hour, as they came, and finishes the files when it is stopped', async () => {
    const { folder, url, add, drained } = await open();
    const json = '{"id":12345678901234567890,\n "name":"Zoë"}';
    await add([
      reply('a', [outcome(1, { json, given: 'https://www.company-1.com/' })], { ref: { list: 7 } }),
      reply('b', [
        outcome(2, { status: 'not_found', httpStatus: 404, json: '' }),
        { ...outcome(3, { status: 'failed', reason: 'timeout', json: '' }), attempts: 6 },
        outcome(4, { domain: 'n/a', status: 'invalid', reason: 'no_domain', json: '' }),
      ]),
      { ...reply('c', []), error: "the job breaks the contract: 'domains': too few" },
    ]);
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    await drained();
    expect(namesIn(folder).every((name) => name.endsWith('.jsonl.part'))).toBe(true);
    collector.process.kill('SIGTERM');
    const { code, stderr } = await collector.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/Finished out\/enriched-[\dT-]+\.jsonl: 1 lines\./);
    expect(stderr).toContain('Stopped after 5 lines: 1 found, 4 others.');

    const [enriched = '', failures = ''] = namesIn(folder);
    expect(enriched).toMatch(/^enriched-\d{4}-\d\d-\d\dT\d\d\.jsonl$/);
    expect(failures).toMatch(/^failures-\d{4}-\d\d-\d\dT\d\d\.jsonl$/);
    expect(folder.read(`out/${enriched}`)).toBe(
      '{"domain":"company-1.com","given":"https://www.company-1.com/","status":"found",' +
        '"http_status":200,"attempts":1,"fetched_at":"2026-11-21T08:00:00.000Z","chunk":"a",' +
        '"ref":{"list":7},"answer":{"id":12345678901234567890,  "name":"Zoë"}}\n',
    );
    expect(sorted(objectsOf(folder.read(`out/${failures}`)))).toEqual(
      sorted([
        { ...failure(2), status: 'not_found', reason: '', http_status: 404 },
        { ...failure(3), status: 'failed', reason: 'timeout', http_status: 200, attempts: 6 },
        { ...failure(4), domain: 'n/a', status: 'invalid', reason: 'no_domain', http_status: 200 },
        {
          status: 'rejected',
          reason: "the job breaks the contract: 'domains': too few",
          chunk: 'c',
        },
      ]),
    );
    // A list of failures is a list.
    const again = await run(
      ['enrich', `out/${failures}`, '--dry-run', '--json', '--base-url', 'http://127.0.0.1:9'],
      { cwd: folder.path },
    );
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: 4 });
  });

  it('killed again and again, has every reply in the files once', async () => {
    const { folder, url, add, drained } = await open();
    const args = ['collect', '--queue', url, '--max-file-size', '20KB'];
    const replies = Array.from({ length: 600 }, (_, at) =>
      reply(`chunk-${at}`, [
        outcome(2 * at),
        outcome(2 * at + 1, at % 3 === 0 ? { status: 'not_found', json: '' } : {}),
      ]),
    );
    let added = 0;
    for (let kill = 0; kill < 6; kill += 1) {
      const collector = await start(args, { cwd: folder.path });
      await collector.shows('Waiting for outcomes');
      const adding = add(replies.slice(added, added + 100));
      added += 100;
      await delay(random() * 120);
      collector.process.kill('SIGKILL');
      await collector.ended;
      await adding;
      if (kill === 2) tear(folder);
    }
    // Sent once more by a worker that was lost after it had sent them.
    const last = await start(args, { cwd: folder.path });
    await drained();
    await add(replies.slice(0, 20));
    await drained();
    await stop(last);
    const lines = namesIn(folder).flatMap((name) => objectsOf(folder.read(`out/${name}`)));
    const domains = lines.map(({ domain }) => String(domain));
    expect(domains).toHaveLength(1_200);
    expect(new Set(domains).size).toBe(1_200);
    expect(namesIn(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('begins another file before one is longer than --max-file-size, and none a second time', async () => {
    const { folder, url, add, drained } = await open();
    const args = ['collect', '--queue', url, '--max-file-size', '1000'];
    for (const round of [0, 1]) {
      const collector = await start(args, { cwd: folder.path });
      await add(
        Array.from({ length: 10 }, (_, at) => reply(`r${round}-${at}`, [outcome(at), outcome(at)])),
      );
      await drained();
      await stop(collector);
    }
    const names = namesIn(folder);
    const sizes = names.map((name) => folder.read(`out/${name}`).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
    expect(names.length).toBeGreaterThan(6);
    expect(names.flatMap((name) => objectsOf(folder.read(`out/${name}`)))).toHaveLength(40);
  });

  it('tells chunks apart that a Redis which lost everything has numbered alike', async () => {
    const { folder, url, add, drained } = await open();
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    const first = reply('1', [outcome(1), outcome(2)]);
    const sentAgain = reply('1', [outcome(2), outcome(1)]);
    for (const each of [first, sentAgain, reply('1', [outcome(3)])]) {
      await add([each]);
      await drained();
    }
    const { stderr } = await stop(collector);
    expect(stderr).toContain('3 found, 0 others; 1 replies came again and were there already.');
    const [enriched = ''] = namesIn(folder);
    expect(objectsOf(folder.read(`out/${enriched}`)).map(({ domain }) => domain)).toEqual([
      'company-1.com',
      'company-2.com',
      'company-3.com',
    ]);
  });

  it('refuses a folder that another one writes to, but not one whose owner was killed', async () => {
    const { folder, url } = await open();
    const args = ['collect', '--queue', url];
    const first = await start(args, { cwd: folder.path });
    await first.shows('Waiting for outcomes');
    const second = await run(args, { cwd: folder.path });
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(
      /^brandfill: Cannot write to the folder out: another collector writes to it \(process \d+ on \S+\); put that right, or choose another folder with --out-dir\.$/m,
    );
    first.process.kill('SIGKILL');
    await first.ended;
    const third = await start(args, { cwd: folder.path });
    await third.shows('Waiting for outcomes');
    await stop(third);
  });

  it.each([
    [['--out-dir', 'list.csv/out'], 'Cannot write to the folder list.csv/out: '],
    [['--max-file-size', 'much'], 'expected a size such as 64MB, 1GB or a number of bytes'],
  ])('ends with 2 for %j', async (flags, message) => {
    const { folder, url } = await open();
    folder.write('list.csv', 'domain\n');
    const ended = await run(['collect', '--queue', url, ...flags], { cwd: folder.path });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(message);
  });

  it('waits while the disk is full, and goes on by itself', async ({ skip }) => {
    const { folder, url, add, drained, isEmpty } = await open();
    if (!mountSmallDisk(folder)) {
      console.log('Left out: a full disk, because this process may not mount one.');
      return skip();
    }
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    await add([reply('before', [outcome(1)])]);
    await drained();
    fillDisk(folder.at('ballast'));
    await add(Array.from({ length: 30 }, (_, at) => reply(`full-${at}`, [outcome(at + 2)])));
    await collector.shows('Cannot write to out: the disk is full.');
    expect(await isEmpty()).toBe(false);
    rmSync(folder.at('ballast'));
    await collector.shows('out can be written to again.');
    await drained();
    const { stderr } = await stop(collector);
    expect(stderr.match(/the disk is full/g)).toHaveLength(1);
    const lines = namesIn(folder).flatMap((name) => objectsOf(folder.read(`out/${name}`)));
    expect(lines).toHaveLength(31);
  });
});

interface Opened {
  readonly folder: Folder;
  readonly url: string;
  add(replies: readonly OutcomesData[]): Promise<void>;
  /** Waits until every reply is acknowledged. */
  drained(): Promise<void>;
  isEmpty(): Promise<boolean>;
}

/** A folder and a Redis of the test's own. */
async function open(): Promise<Opened> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const queue = new Queue(OUTCOMES_QUEUE, { connection: { port: redis.port }, ...QUEUE_OPTIONS });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  const isEmpty = async (): Promise<boolean> => {
    const counts = await queue.getJobCounts();
    return Object.values(counts).every((count) => count === 0);
  };
  return {
    folder: openFolder(),
    url: redis.url,
    add: async (replies) => {
      await queue.addBulk(
        replies.map((data) => ({
          name: OUTCOMES_JOB,
          data,
          opts: { ...OUTCOMES_OPTIONS, jobId: `o-${data.chunk}` },
        })),
      );
    },
    drained: async () => {
      while (!(await isEmpty())) await delay(20);
    },
    isEmpty,
  };
}

const FETCHED_AT_MS = Date.UTC(2026, 10, 21, 8);

function outcome(number: number, more: Partial<OutcomeData> = {}): OutcomeData {
  return {
    domain: `company-${number}.com`,
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: FETCHED_AT_MS,
    json: `{"name":"Company ${number}"}`,
    ...more,
  };
}

function failure(number: number): Record<string, unknown> {
  const fetchedAt = new Date(FETCHED_AT_MS).toISOString();
  return { domain: `company-${number}.com`, attempts: 1, fetched_at: fetchedAt, chunk: 'b' };
}

function reply(
  chunk: string,
  outcomes: readonly OutcomeData[],
  more: { readonly ref?: unknown } = {},
): OutcomesData {
  return { v: 1, chunk, outcomes, ...more };
}

async function stop(collector: Running): Promise<{ readonly stderr: string }> {
  collector.process.kill('SIGTERM');
  const ended = await collector.ended;
  expect(ended.code).toBe(0);
  return ended;
}

function namesIn(folder: Folder): string[] {
  return readdirSync(folder.at('out'))
    .filter((name) => name !== '.collect')
    .sort();
}

/** Puts a part of a line behind what was written, as a kill in the middle of a write does. */
function tear(folder: Folder): void {
  for (const name of namesIn(folder).filter((name) => name.endsWith('.part'))) {
    writeFileSync(folder.at(`out/${name}`), '{"domain":"torn.com","sta', { flag: 'a' });
  }
}

function sorted(lines: readonly object[]): string[] {
  return lines.map((line) => JSON.stringify(line, Object.keys(line).sort())).sort();
}

function mountSmallDisk(folder: Folder): boolean {
  try {
    const args = ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder.path];
    execFileSync('mount', args, { stdio: 'ignore' });
  } catch {
    return false;
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder.path]);
  });
  return true;
}

function fillDisk(path: string): void {
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeFileSync(path, block, { flag: 'a' });
  } catch {
    // Full, as it should be.
  }
}
