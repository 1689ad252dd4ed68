import { describe, expect, it } from 'vitest';
import { findRedisServer } from '../support/redis.ts';
import { start } from './support/command.ts';
import {
  FETCHED_AT_MS,
  namesIn,
  openOutcomesQueue,
  outcome,
  reply,
  stop,
} from './support/outcomes-queue.ts';
import { runHere } from './support/program.ts';
import { objectsOf } from './support/tables.ts';

const hasRedis = findRedisServer() !== undefined;
if (!hasRedis) console.log('Left out: collect.test.ts, because there is no Redis server.');

describe.skipIf(!hasRedis)('brandfill collect', () => {
  it('writes outcomes by kind and hour, as they came, and finishes the files when it is stopped', async () => {
    const { folder, url, add, drained } = await openOutcomesQueue();
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
    expect(stderr).toMatch(/Finished out\/enriched-[\dT-]+\.jsonl: 1 line\./);
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
    const again = await runHere(
      ['enrich', `out/${failures}`, '--dry-run', '--json', '--base-url', 'http://127.0.0.1:9'],
      { cwd: folder.path },
    );
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: 4 });
  });

  it('begins another file before one is longer than --max-file-size, and none a second time', async () => {
    const { folder, url, add, drained } = await openOutcomesQueue();
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

  it('tells chunks of the same id apart that were put on the queue at different times', async () => {
    const { folder, url, add, drained } = await openOutcomesQueue();
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    const chunks = ['1', 'crm'];
    const answered = chunks.map((chunk) => reply(chunk, [outcome(1)]));
    for (const addedAtMs of [1, 1, 2]) {
      await add(answered, addedAtMs);
      await drained();
    }
    await add([reply('lost', [outcome(2, { status: 'failed', reason: 'timeout', json: '' })])]);
    await drained();
    const { stderr } = await stop(collector);
    expect(stderr).toContain('4 found, 1 other; 2 replies came again, already written.');
    const [enriched = ''] = namesIn(folder);
    const lines = objectsOf(folder.read(`out/${enriched}`));
    expect(lines.map(({ chunk }) => String(chunk)).toSorted()).toEqual(['1', '1', 'crm', 'crm']);
  });

  it.each([
    [['--out-dir', 'list.csv/out'], 'Cannot write to the folder list.csv/out: '],
    [['--max-file-size', 'much'], 'expected a size such as 64MB, 1GB or a number of bytes'],
  ])('ends with 2 for %j', async (flags, message) => {
    const { folder, url } = await openOutcomesQueue();
    folder.write('list.csv', 'domain\n');
    const ended = await runHere(['collect', '--queue', url, ...flags], { cwd: folder.path });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(message);
  });
});

function failure(number: number): Record<string, unknown> {
  const fetchedAt = new Date(FETCHED_AT_MS).toISOString();
  return { domain: `company-${number}.com`, attempts: 1, fetched_at: fetchedAt, chunk: 'b' };
}

function sorted(lines: readonly object[]): string[] {
  return lines.map((line) => JSON.stringify(line, Object.keys(line).sort())).sort();
}
