import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';

describe('a flag of enrich', () => {
  it('--progress lines, bar and none decide what standard error shows', async () => {
    const folder = openList();
    const api = await openScripted({});
    const shown = async (style: string): Promise<string> => {
      const args = ['enrich', 'list.csv', '--base-url', api.url, '--fresh', '0'];
      return (await runHere([...args, '--progress', style], { cwd: folder.path })).stderr;
    };
    expect(await shown('lines')).toMatch(/^2\/2 lookups, /m);
    expect(await shown('auto')).toMatch(/^2\/2 lookups, /m);
    expect(await shown('bar')).toMatch(/^2\/2 lookups, /m); // nothing can be redrawn here
    expect(await shown('none')).not.toContain('2/2 lookups');
  });

  it('--json puts the summary on standard output, and nothing else', async () => {
    const folder = openList('domain\nacme.com\nbolt.com\nacme.com\nn/a\n');
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const ended = await runHere(['enrich', 'list.csv', '--base-url', api.url, '--json'], {
      cwd: folder.path,
    });
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(summaryOf(ended)).toMatchObject({
      rows: 4,
      statuses: { found: 2, not_found: 1, rejected: 0, failed: 0, invalid: 1, skipped: 0 },
      uniqueDomains: 2,
      freshDomains: 0,
      lookups: 2,
      calls: 2,
      retries: 0,
      throttled: 0,
      elapsedMs: expect.any(Number),
      callsPerSecond: expect.any(Number),
      out: 'list.enriched.csv',
      failures: 'list.failures.csv',
    });
  });

  it('--help shows every flag with its default', async () => {
    const { code, stdout } = await runHere(['enrich', '--help'], { cwd: openFolder().path });
    expect(code).toBe(0);
    for (const part of ['default: 32', 'default: 30d', 'default: 60s', 'BRANDFILL_BASE_URL']) {
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(part);
    }
  });
});
