import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { openApi, openServer } from './support/api.ts';
import { run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';

describe('two runs on one output', () => {
  it('the second ends at once and says who has it; the first is not disturbed', async () => {
    const held: ServerResponse[] = [];
    const api = await openServer((_, response) => held.push(response));
    const folder = openFolder();
    folder.write('list.csv', 'domain\nacme.com\n');
    folder.write('other.csv', 'domain\nexample.org\n');
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    const first = await start(['enrich', 'list.csv', '--out', 'out.csv'], options);
    await vi.waitUntil(() => held.length > 0, { timeout: 60_000 });
    const second = await run(['enrich', 'other.csv', '--out', 'out.csv'], options);
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(
      /^brandfill: Cannot write out\.csv: another run has it \(process \d+ on .+, since .+\); wait until that ends, or choose another output\.$/m,
    );
    expect(api.requests).toHaveLength(1);
    for (const response of held) response.end('{"name":"Acme"}');
    expect((await first.ended).code).toBe(0);
    expect(folder.names()).toEqual(['list.csv', 'list.failures.csv', 'other.csv', 'out.csv']);
    expect(folder.read('out.csv')).toContain('acme.com');
  });

  it('what a killed run left keeps nobody out', async () => {
    const api = await openApi({ latencyMs: 1_000 });
    const folder = openFolder();
    folder.write('list.csv', 'domain\nacme.com\n');
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    const first = await start(['enrich', 'list.csv'], options);
    await first.shows('Plan:');
    first.process.kill('SIGKILL');
    await first.ended;
    expect(folder.names()).toContain('list.enriched.csv.lock');
    expect((await run(['enrich', 'list.csv'], options)).code).toBe(0);
    expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv', 'list.failures.csv']);
  });

  it('the second Ctrl-C leaves no lock', async () => {
    const api = await openApi({ latencyMs: 30_000 });
    const folder = openFolder();
    folder.write('list.csv', 'domain\nacme.com\n');
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    const first = await start(['enrich', 'list.csv', '--timeout', '1min'], options);
    await first.shows('Plan:');
    first.process.kill('SIGINT');
    await first.shows('Interrupted');
    first.process.kill('SIGINT');
    expect((await first.ended).code).toBe(130);
    expect(folder.names()).toEqual(['list.csv']);
  });
});
