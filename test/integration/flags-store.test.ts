import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { LIST, openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { column, rowsOf } from './support/tables.ts';

describe('a flag of enrich', () => {
  it('--fresh and --fresh-not-found say when a domain is asked again', async () => {
    const folder = openList();
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const calls = async (...flags: readonly string[]): Promise<number> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', ...flags];
      return summaryOf(await runHere(args, { cwd: folder.path })).calls;
    };
    expect(await calls()).toBe(2);
    expect(await calls()).toBe(0);
    expect(await calls('--fresh', '0')).toBe(1);
    expect(api.callsOf('acme.com').calls).toBe(2);
    expect(await calls('--fresh-not-found', '0')).toBe(1);
    expect(api.callsOf('bolt.com').calls).toBe(2);
    expect(await calls('--fresh', '1ms', '--fresh-not-found', '1ms')).toBe(2);
  });

  it('--fresh-rejected says when a domain is asked again that was refused', async () => {
    const folder = openList();
    const api = await openScripted({ 'bolt.com': { status: 422 } });
    const calls = async (...flags: readonly string[]): Promise<number> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', ...flags];
      return summaryOf(await runHere(args, { cwd: folder.path })).calls;
    };
    expect(await calls()).toBe(2);
    expect(await calls('--fresh-not-found', '0')).toBe(0);
    expect(await calls('--fresh-rejected', '0')).toBe(1);
  });

  it('--refresh asks about every domain again, once', async () => {
    const folder = openList('domain\nacme.com\nbolt.com\nacme.com\nwww.bolt.com\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json'];
    await runHere(args, { cwd: folder.path });
    const again = summaryOf(await runHere([...args, '--refresh'], { cwd: folder.path }));
    expect(again).toMatchObject({ calls: 2, freshDomains: 0 });
    expect(api.callsOf('acme.com').calls).toBe(2);
    expect(summaryOf(await runHere(args, { cwd: folder.path })).calls).toBe(0);
  });

  it('--only-missing asks about what was never found, and keeps what was, however old', async () => {
    const folder = openList('domain\nacme.com\nbolt.com\ncrow.com\ndove.com\n');
    const trouble = { status: 500 };
    const script: Record<string, { status: number }> = {
      'bolt.com': { status: 404 },
      'crow.com': { status: 422 },
    };
    const api = await openScripted(script);
    const enrich = (...flags: readonly string[]) =>
      runHere(['enrich', 'list.csv', '--base-url', api.url, '--json', '--retries', '0', ...flags], {
        cwd: folder.path,
      });
    await enrich();
    script['dove.com'] = trouble;
    expect(summaryOf(await enrich('--fresh', '0')).statuses).toMatchObject({ stale: 1 });
    const { calls } = api.stats();
    const missing = await enrich('--only-missing', '--fresh', '0');
    expect(missing.code).toBe(0);
    expect(summaryOf(missing)).toMatchObject({
      calls: 2,
      statuses: { found: 2, not_found: 1, rejected: 1, failed: 0 },
    });
    expect(api.stats().calls).toBe(calls + 2);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_name')).toEqual([
      'Acme',
      '',
      '',
      'Dove',
    ]);
    expect(summaryOf(await enrich('--fresh', '0', '--dry-run'))).toMatchObject({ lookups: 2 });
    const both = await enrich('--only-missing', '--refresh');
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(both.stderr).toMatch(/Cannot use --refresh along with --only-missing/);
  });

  it('--store says where answers are kept', async () => {
    const folder = openList();
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json', '--store', 'deep/kept'];
    await runHere(args, { cwd: folder.path });
    expect(existsSync(folder.at('deep/kept/data.mdb'))).toBe(true);
    expect(existsSync(folder.at('.brandfill'))).toBe(false);
    expect(summaryOf(await runHere(args, { cwd: folder.path })).freshDomains).toBe(2);
  });

  it('--dry-run shows the plan, calls nothing and leaves nothing', async () => {
    const folder = openList('name,domain\nA,acme.com\nB,acme.com\nC,bolt.com\nD,n/a\n');
    const api = await openScripted({});
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url, '--dry-run'], {
      cwd: folder.path,
    });
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toContain(
      'Plan: 4 rows, 2 unique domains, 1 invalid, 0 fresh, 2 calls to make',
    );
    expect(api.stats().calls).toBe(0);
    expect(folder.names()).toEqual(['list.csv']);
    expect(existsSync(folder.at('.brandfill'))).toBe(false);
  });

  it('--dry-run counts what the store has as fresh, and --json puts the plan on standard output', async () => {
    const folder = openList();
    const api = await openScripted({});
    const args = ['enrich', 'list.csv', '--base-url', api.url];
    await runHere([...args, '--max-calls', '1'], { cwd: folder.path });
    const ended = await runHere([...args, '--dry-run', '--json'], { cwd: folder.path });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      rows: 2,
      uniqueDomains: 2,
      freshDomains: 1,
      lookups: 1,
    });
    const piped = await run(['enrich', '-', '--base-url', api.url, '--dry-run', '--json'], {
      cwd: folder.path,
      stdin: LIST,
    });
    expect(piped.code).toBe(0);
    expect(JSON.parse(piped.stdout)).toMatchObject({ rows: 2, freshDomains: 1 });
  });
});
