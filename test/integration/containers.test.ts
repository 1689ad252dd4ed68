import { describe, expect, it } from 'vitest';
import { holdCalls, openApi } from './support/api.ts';
import { run, start } from './support/command.ts';
import { whyNoContainers } from './support/containers.ts';
import { openFolder } from './support/folder.ts';
import { domains, listOf } from './support/tables.ts';

const reason = whyNoContainers();

describe.skipIf(reason !== false)(`containers on one store${reason ? ` [${reason}]` : ''}`, () => {
  it('with the same process number end at once and name the other, which goes on', async () => {
    const [api, folder] = [await openApi(), openFolder()];
    const held = await holdCalls(api);
    folder.write('list.csv', listOf(domains(10)));
    folder.write('other.csv', listOf(domains(3)));
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: held.url }, stdin: '' };
    const enrich = (name: string): string[] => ['enrich', name, '--concurrency', '1'];
    const first = await start(enrich('list.csv'), { ...options, container: 'one' });
    await expect.poll(held.come).toBe(1);
    for (const args of [enrich('other.csv'), ['store', 'stats']]) {
      const second = await run(args, { ...options, container: 'two' });
      expect(second.code).toBe(2);
      expect(second.stderr).toMatch(
        /^brandfill: Cannot open the store \.brandfill: process 1 on one has it open since 2\S+Z, with the same process number 1 as this one, which LMDB cannot tell apart; wait until that ends, choose another folder with --store, or .*--pid=host/m,
      );
    }
    held.release();
    expect((await first.ended).code).toBe(0);
    expect(api.stats()).toMatchObject({ calls: 10 });
    const after = await run(enrich('other.csv'), { ...options, container: 'two' });
    expect(after.code).toBe(0);
    expect(api.stats()).toMatchObject({ calls: 10 });
  });

  it.each(['with the same process number', 'outside of any'])(
    'hold up one %s once at most when they are killed',
    async (where) => {
      const [api, folder] = [await openApi({ latencyMs: 1_000 }), openFolder()];
      folder.write('list.csv', listOf(domains(12)));
      const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url }, stdin: '' };
      const args = ['enrich', 'list.csv', '--concurrency', '4'];
      const first = await start(args, { ...options, container: 'one' });
      await expect.poll(() => api.stats().calls).toBeGreaterThan(4);
      first.process.kill('SIGKILL');
      await first.ended;
      expect(folder.names()).toContain('list.enriched.csv.lock');
      const startedMs = performance.now();
      const container = where === 'outside of any' ? {} : { container: 'one' };
      const second = await run(args, { ...options, ...container });
      expect(second.stderr).not.toContain('another run');
      expect(second.code).toBe(0);
      // Whoever is killed in a commit has the lock of the store, and is waited for once: ten seconds.
      expect(performance.now() - startedMs).toBeLessThan(60_000);
      expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv', 'list.failures.csv']);
    },
  );
});
