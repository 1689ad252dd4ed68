import { describe, expect, it } from 'vitest';
import { isLeftOut } from '../support/left-out.ts';
import { holdCalls, openApi } from './support/api.ts';
import { run, start } from './support/command.ts';
import { whyNoContainers } from './support/containers.ts';
import { domains, listOf, openFolder } from './support/folder.ts';

describe.skipIf(isLeftOut(whyNoContainers()))('containers on one store', () => {
  it('with the same process number name the one that has it, and wait for it', async () => {
    const [api, folder] = [await openApi(), openFolder()];
    const held = await holdCalls(api);
    folder.write('list.csv', listOf(domains(10)));
    folder.write('other.csv', listOf(domains(3)));
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: held.url }, stdin: '' };
    const enrich = (name: string): string[] => ['enrich', name, '--concurrency', '1'];
    const first = await start(enrich('list.csv'), { ...options, container: 'one' });
    await expect.poll(held.come).toBe(1);
    const stats = await run(['store', 'stats'], { ...options, container: 'two' });
    expect(stats.code).toBe(2);
    expect(stats.stderr).toMatch(/in use by process 1 on one, since 2\S+Z; wait until that ends/);
    const second = await start(enrich('other.csv'), { ...options, container: 'two' });
    await second.shows('in use by process 1 on one');
    held.release();
    expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0]);
    expect(api.stats()).toMatchObject({ calls: 10 });
  });
});
