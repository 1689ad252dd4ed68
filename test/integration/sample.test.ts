import { expect, it } from 'vitest';
import { enrich } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';
import { domains, listOf } from './support/tables.ts';

it('a sample is spread over the list, and the run after it asks about the others', async () => {
  const asked: string[] = [];
  const api = await openApi({
    respond: (domain) => {
      asked.push(domain);
      return { body: { name: domain } };
    },
  });
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(40)));
  const run = async (more: { readonly sample?: number; readonly maxCalls?: number }) => {
    const files = { input: folder.at('list.csv'), store: folder.at('.brandfill') };
    return await enrich({ ...files, baseUrl: api.url, price: 0.5, ...more });
  };
  expect(await run({ sample: 5 })).toMatchObject({
    calls: 5,
    cost: 2.5,
    stopped: { reason: 'sampled' },
    statuses: { found: 5, skipped: 35 },
  });
  const places = asked.map((domain) => Number(/\d+/.exec(domain)?.[0]));
  expect(places.toSorted((one, other) => one - other)).toEqual([0, 8, 16, 24, 32]);
  const bounded = await run({ sample: 5, maxCalls: 3 });
  expect(bounded).toMatchObject({ calls: 3, stopped: { reason: 'max_calls' } });
  const rest = await run({ sample: 40 });
  expect(rest).toMatchObject({ calls: 32, stopped: undefined, statuses: { found: 40 } });
  expect(new Set(asked).size).toBe(40);
});

it('a sample over a queue is all that its workers are asked', async () => {
  const stage = await openStage(40);
  await stage.worker();
  const sampled = await stage.enrich('--workers', '0', '--sample', '5', '--json').ended;
  expect(sampled.code, sampled.stderr).toBe(4);
  expect(summaryOf(sampled)).toMatchObject({ calls: 5, statuses: { found: 5, skipped: 35 } });
  expect(sampled.stderr).toContain('The same command without --sample asks about the others');
  expect(stage.api.stats().calls).toBe(5);
});
