import { expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { runHere, start } from './support/command.ts';
import { domains, type Folder, listOf, openFolder } from './support/folder.ts';
import { lookIntoStore } from './support/stores.ts';

/**
 * It has a burst of 50, which a run that knows nothing uses up and takes for the limit at first.
 */
const LIMIT = { limit: { count: 50, perMs: 1_000 }, limitHeaders: 'none' } as const;

/**
 * In two seconds at most half of the burst besides what the limit allows, where a cold run takes it
 * all. On a busy machine it may be a few.
 */
function expectWarm(calls: number): void {
  expect(calls).toBeGreaterThanOrEqual(10);
  expect(calls).toBeLessThanOrEqual(125);
}

/** How many calls arrived in the first two seconds after the first of them. */
function firstTwoSeconds(arrivalsMs: readonly number[]): number {
  const fromMs = arrivalsMs[0] ?? 0;
  return arrivalsMs.filter((atMs) => atMs < fromMs + 2_000).length;
}

/** What the store has of the pace, whatever it is kept under. */
async function savedPaces(folder: Folder): Promise<readonly unknown[]> {
  const root = lookIntoStore(folder);
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const paces = [...meta.getRange({ start: 'pace:', end: 'pace;' })];
  await root.close();
  return paces;
}

it('a limit that was found is remembered by a run that was killed, and is only for the same credential', async () => {
  const arrivalsMs: number[] = [];
  const respond = () => void arrivalsMs.push(performance.now());
  const api = await openApi({ latencyMs: 40, ...LIMIT, respond });
  const folder = openFolder();
  /** The arguments for a list of its own, with domains that no other list has. */
  const argsOf = (name: string, rows: number): string[] => {
    folder.write(`${name}.csv`, listOf(domains(rows).map((domain) => `${name}-${domain}`)));
    return ['enrich', `${name}.csv`, '--base-url', api.url];
  };
  const options = { cwd: folder.path };
  const running = await start(argsOf('first', 5_000), options);
  await expect.poll(() => arrivalsMs.length).toBeGreaterThan(300);
  await running.stop('SIGKILL');
  const before = arrivalsMs.length;
  expect((await runHere(argsOf('second', 120), options)).code).toBe(0);
  expectWarm(firstTwoSeconds(arrivalsMs.slice(before)));
  folder.write('key', 'secret-of-another');
  await runHere([...argsOf('third', 5), '--auth', 'bearer', '--api-key-file', 'key'], options);
  const both = await savedPaces(folder);
  expect(both).toHaveLength(2);
  expect(JSON.stringify(both)).not.toContain('secret');
});
