import { describe, expect, it } from 'vitest';
import { enrich, type RunEvent } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { openStage } from './support/queue-stage.ts';
import { domains, listOf } from './support/tables.ts';

type Confirm = NonNullable<Parameters<typeof enrich>[0]['confirm']>;

/** A list of 40 rows, of which every fourth domain is not known, and a library that enriches it. */
async function openRun() {
  const asked: string[] = [];
  const api = await openApi({
    respond: (domain) => {
      asked.push(domain);
      const isKnown = Number(/\d+/.exec(domain)?.[0]) % 4 !== 0;
      return isKnown ? { body: { name: domain, town: 'Ulm' } } : { status: 404 };
    },
  });
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(40)));
  const events: RunEvent[] = [];
  return {
    api,
    asked,
    events,
    folder,
    enrich: (sample: number, confirm: Confirm | undefined, more = {}) =>
      enrich({
        input: folder.at('list.csv'),
        baseUrl: api.url,
        store: folder.at('.brandfill'),
        sample,
        confirm,
        price: 0.5,
        onEvent: (event) => events.push(event),
        ...more,
      }),
  };
}

describe('a sample', () => {
  it('is looked up first, spread over the list, and whoever confirms knows what the rest costs', async () => {
    const { asked, events, enrich: run } = await openRun();
    let askedBefore: readonly string[] = [];
    const summary = await run(5, async (plan) => {
      askedBefore = [...asked];
      expect(plan).toMatchObject({ lookups: 35, calls: 35, cost: 17.5 });
      return true;
    });
    expect(
      askedBefore.map((domain) => Number(/\d+/.exec(domain)?.[0])).sort((a, b) => a - b),
    ).toEqual([0, 8, 16, 24, 32]);
    const sampled = events.find(({ type }) => type === 'sampled');
    expect(sampled).toMatchObject({
      of: 40,
      calls: 5,
      domains: [0, 8, 16, 24, 32].map((at) => ({
        domain: `company-${at}.com`,
        status: 'not_found',
        values: ['http_404'],
      })),
      left: { lookups: 35, calls: 35, cost: 17.5 },
    });
    expect(summary).toMatchObject({
      calls: 40,
      lookups: 40,
      cost: 20,
      statuses: { found: 30, not_found: 10 },
    });
    expect(asked).toHaveLength(40);
    const done = events.flatMap((event) => (event.type === 'progress' ? [event.lookups] : []));
    expect(done).toEqual([...done].sort((one, other) => one - other));
    expect(done.at(-1)).toBe(40);
  });

  it('is all that is asked when the rest is declined, and is not paid again', async () => {
    const { asked, enrich: run, folder } = await openRun();
    await expect(run(5, async () => false)).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toHaveLength(5);
    expect(folder.names()).not.toContain('list.enriched.csv');
    expect(await run(5, undefined)).toMatchObject({ calls: 35, statuses: { found: 30 } });
    expect(asked).toHaveLength(40);
  });

  it('counts towards the bounds of the run, and shows values on the command line', async () => {
    const { api, folder } = await openRun();
    const args = [
      'enrich',
      'list.csv',
      '--base-url',
      api.url,
      '--sample',
      '3',
      '--max-calls',
      '10',
    ];
    const ended = await runHere([...args, '--json'], { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(4);
    expect(summaryOf(ended)).toMatchObject({ calls: 10, stopped: { reason: 'max_calls' } });
    expect(api.stats().calls).toBe(10);
    expect(ended.stderr).toContain('Sample: 3 of 40 domains, 3 calls');
    expect(ended.stderr).toMatch(/\n {2}company-14\.com {2}found {6}company-14\.com \| Ulm\n/);
    expect(ended.stderr).toContain(
      'The other 37 domains would take about 37 calls, if they go like these.',
    );
  });

  it('is looked up by workers of a queue, and what it brought is not asked again', async () => {
    const stage = await openStage(40);
    await stage.worker();
    const flags = ['--workers', '0', '--sample', '5', '--max-calls', '30', '--json'];
    const ended = await (await stage.enrich(...flags)).ended;
    expect(ended.code, ended.stderr).toBe(4);
    expect(ended.stderr).toContain('Sample: 5 of 40 domains, 5 calls');
    expect(summaryOf(ended)).toMatchObject({ calls: 30, statuses: { found: 30, skipped: 10 } });
    const rest = await (await stage.enrich('--workers', '0', '--sample', '5', '--json')).ended;
    expect(summaryOf(rest)).toMatchObject({ calls: 10, statuses: { found: 40 } });
    expect(stage.api.stats().domains).toMatchObject({ distinct: 40, mostCalls: 1 });
  });
});
