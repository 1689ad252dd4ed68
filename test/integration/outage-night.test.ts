import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { type Ended, enrichHere, summaryOf } from './support/command.ts';
import { cellsOf, column, domains, type Folder, openList, rowsOf } from './support/folder.ts';

const LIST = 'id,domain\n1,acme.com\n2,bolt.com\n3,gone.com\n4,none\n';

/** An API on one port: `healthy` answers, `sick` answers 503, `off` lets nobody connect. */
async function openFailing() {
  const says: Record<string, object | undefined> = {
    'acme.com': { name: 'Acme', location: { city: 'Oslo' } },
    'bolt.com': { name: 'Bolt', colour: 'red' },
  };
  let now: 'healthy' | 'sick' | 'off' = 'healthy';
  const respond = (domain: string): SandboxReply =>
    now === 'sick' ? { status: 503 } : says[domain] ? { body: says[domain] } : { status: 404 };
  const { url, port, close } = await openApi({ respond });
  return {
    url,
    /** What it says about a domain. */
    says,
    become: async (state: typeof now): Promise<void> => {
      if (state === 'off') await close();
      if (now === 'off') await openApi({ port, respond });
      now = state;
    },
  };
}

/** A night in which every domain is due again. */
async function night(folder: Folder, url: string, ...flags: readonly string[]): Promise<Ended> {
  const due = ['--refresh', '--retries', '0', '--max-outage', '300ms', '--max-failed', '100%'];
  const more = ['--json', '--changes', 'changes.csv', ...flags];
  return await enrichHere(folder, url, ...due, ...more);
}

const outOf = (folder: Folder): Record<string, string>[] =>
  rowsOf(readFileSync(folder.at('list.enriched.csv'), 'utf8'));

const without = (rows: Record<string, string>[], ...names: string[]): Record<string, string>[] =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name))),
  );

describe('a night in which the API is out', () => {
  it.each(['sick', 'off'] as const)(
    'takes no value out of a row that had one (%s)',
    async (state) => {
      const folder = openList(LIST);
      const api = await openFailing();

      expect((await night(folder, api.url)).code).toBe(0);
      const healthy = outOf(folder);
      expect(column(healthy, 'brand_status')).toEqual(['found', 'found', 'not_found', 'invalid']);
      const [header] = cellsOf(folder.read('list.enriched.csv'));
      expect(header?.join()).toMatch(/^id,domain,brand_domain,brand_status,brand_fetched_at,/);

      await api.become(state);
      const out = await night(folder, api.url);
      expect(out.code).toBe(3);
      expect(summaryOf(out).statuses).toMatchObject({ stale: 2, failed: 1, invalid: 1 });
      const stale = outOf(folder);
      expect(cellsOf(folder.read('list.enriched.csv'))[0]).toEqual(header);
      expect(column(stale, 'brand_status').slice(0, 2)).toEqual(['stale', 'stale']);
      // What was learned the night before is all there, with the time from then.
      expect(without(stale, 'brand_status').slice(0, 2)).toEqual(
        without(healthy, 'brand_status').slice(0, 2),
      );
      const failures = rowsOf(folder.read('list.failures.csv'));
      expect(column(failures, 'id')).toEqual(['1', '2', '3', '4']);
      const [reason, status] = state === 'off' ? ['connection_refused', ''] : ['http_503', '503'];
      const kept = { brand_status: 'stale', brand_reason: reason, brand_http_status: status };
      for (const row of failures.slice(0, 2))
        expect(row).toMatchObject({ ...kept, brand_attempts: '1' });
      expect(rowsOf(folder.read('changes.csv'))).toEqual([]);

      await api.become('healthy');
      expect((await night(folder, api.url)).code).toBe(0);
      expect(without(outOf(folder), 'brand_fetched_at')).toEqual(
        without(healthy, 'brand_fetched_at'),
      );
      expect(cellsOf(folder.read('list.enriched.csv'))[0]).toEqual(header);
      expect(rowsOf(folder.read('changes.csv'))).toEqual([]);
    },
  );

  it('keeps the values of rows that were not even asked, and ends as any stopped run', async () => {
    const folder = openList(60);
    const api = await openFailing();
    for (const domain of domains(60)) api.says[domain] = { name: domain };
    await night(folder, api.url);
    const healthy = outOf(folder);
    await api.become('off');
    const ended = await night(folder, api.url, '--concurrency', '2');
    expect(ended.code).toBe(4);
    expect(summaryOf(ended)).toMatchObject({
      stopped: { reason: 'outage' },
      statuses: { stale: 60, failed: 0, skipped: 0 },
    });
    expect(column(outOf(folder), 'brand_name')).toEqual(column(healthy, 'brand_name'));
    const failures = rowsOf(folder.read('list.failures.csv'));
    const reason = 'connection_refused';
    expect(failures.at(-1)).toMatchObject({ brand_status: 'stale', brand_reason: reason });
    expect(rowsOf(folder.read('changes.csv'))).toEqual([]);
  });
});
