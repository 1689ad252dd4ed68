import { cpSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type EnrichOptions, enrich } from '../../src/index.ts';
import { describeEnd } from '../../src/watch/describe.ts';
import { openApi } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { column, domains, listOf, openList, rowsOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

/** Runs over a list, with what the API was asked. */
async function openListOf(text: string) {
  const asked: string[] = [];
  const api = await openApi({
    respond: (domain) => {
      asked.push(domain);
      return { body: { name: domain } };
    },
  });
  const folder = openList(text);
  type Given = Partial<EnrichOptions & { input: string }>;
  const run = async ({ input = 'list.csv', ...more }: Given) => {
    const files = { input: folder.at(input), store: folder.at('.brandfill') };
    return await enrich({ ...files, baseUrl: api.url, price: 0.5, ...more });
  };
  return { asked, folder, run };
}

describe('a sample', () => {
  it('is a run of its own, spread over the list, and nothing of it is asked again', async () => {
    const { asked, folder, run } = await openListOf(listOf(domains(40)));
    const sampled = {
      rows: 5,
      due: 5,
      calls: 5,
      cost: 2.5,
      stopped: undefined,
      end: 'done',
      exitCode: 0,
      sampleOf: { rows: 40, lookups: 40 },
      statuses: { found: 5, skipped: 0 },
      out: folder.at('list.sample.csv'),
      failures: folder.at('list.sample.failures.csv'),
      next: expect.stringContaining("without option 'sample'"),
    };
    expect(await run({ sample: 5 })).toMatchObject(sampled);
    const places = asked.map((domain) => Number(/\d+/.exec(domain)?.[0]));
    expect(places.toSorted((one, other) => one - other)).toEqual([0, 8, 16, 24, 32]);
    const made = folder.read('list.sample.csv');
    const asSampled = [0, 8, 16, 24, 32].map((at) => domains(40)[at]);
    expect(column(rowsOf(made), 'domain')).toEqual(asSampled);
    const again = { ...sampled, calls: 0, due: 0, cost: 0, freshDomains: 5 };
    const sampleOf = { rows: 40, lookups: 35 };
    expect(await run({ sample: 5 })).toMatchObject({ ...again, sampleOf });
    expect(folder.read('list.sample.csv')).toBe(made);
    expect(folder.names()).not.toContain('list.enriched.csv');
    const all = { calls: 35, rows: 40, sampleOf: undefined, statuses: { found: 40 } };
    expect(await run({})).toMatchObject(all);
    expect(new Set(asked).size).toBe(40);
  });

  it('has all rows of its domains, and no others, and says what all would take', async () => {
    const rows = domains(20).flatMap((domain) => [`${domain},1`, ',no domain', `www.${domain},2`]);
    const { folder, run } = await openListOf(`website,note\n${rows.join('\n')}\n`);
    const view = await run({ sample: 4 });
    expect(view).toMatchObject({ rows: 8, due: 4, sampleOf: { rows: 40, lookups: 20 } });
    expect(
      folder.read('list.sample.csv').match(/^(?:www\.)?company-\d+\.com,[12],/gm),
    ).toHaveLength(8);
    expect(describeEnd(view)).toContainEqual(
      expect.stringMatching(
        /^The whole list: 51 to 100 % of 40 rows found; 16 more domains to ask; about .* at .*\/s, as fast as this sample; cost about 8\.00$/,
      ),
    );
  });

  it('is never written in place of all rows, and of a workbook is CSV', async () => {
    const { folder, run } = await openListOf(listOf(domains(9)));
    folder.write('all.csv', 'earlier');
    expect(await run({ sample: 2, out: folder.at('all.csv') })).toMatchObject({
      out: folder.at('all.sample.csv'),
      failures: folder.at('all.sample.failures.csv'),
    });
    expect(folder.read('all.csv')).toBe('earlier');
    cpSync('samples/crm-export.xlsx', folder.at('book.xlsx'));
    const ofBook = { rows: 3, statuses: { found: 3 }, out: folder.at('book.sample.csv') };
    expect(await run({ sample: 3, input: 'book.xlsx' })).toMatchObject(ofBook);
    expect(folder.read('book.sample.csv').trim().split('\n')).toHaveLength(4);
  });

  it('of more than there is, or of nothing, is what there is', async () => {
    const { run } = await openListOf(listOf(domains(3)));
    expect(await run({ sample: 12 })).toMatchObject({ rows: 3, calls: 3, exitCode: 0 });
    const none = await openListOf('domain,x\n,1\n,2\n');
    expect(await none.run({ sample: 12 })).toMatchObject({ rows: 0, calls: 0 });
  });

  it('has bounds of its own, and says nothing of changes', async () => {
    const { run } = await openListOf(listOf(domains(9)));
    expect(await run({ sample: 5, maxCalls: 3 })).toMatchObject({
      calls: 3,
      stopped: { reason: 'max_calls' },
      statuses: { found: 3, skipped: 2 },
    });
    await expect(
      enrich({ input: 'x', baseUrl: 'http://h', sample: 5, changes: 'c' }),
    ).rejects.toThrow(/Cannot use option 'changes' with option 'sample'/);
  });
});

it('a sample over a queue is all that its workers are asked', async () => {
  const stage = await openStage(40);
  await stage.worker();
  const sampled = await stage.enrich('--workers', '0', '--sample', '5', '--json').ended;
  expect(sampled.code, sampled.stderr).toBe(0);
  expect(summaryOf(sampled)).toMatchObject({ rows: 5, calls: 5, statuses: { found: 5 } });
  expect(sampled.stderr).toContain('The same command without --sample asks about the others');
  expect(stage.api.stats().calls).toBe(5);
});
