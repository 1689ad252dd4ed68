import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { openApi } from './support/api.ts';
import { type Ended, start } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { domains, listOf } from './support/tables.ts';

/** An API that notes when calls arrive, over several runs. */
interface Watched {
  readonly api: Sandbox;
  /** When each call arrived, in milliseconds. */
  readonly arrivalsMs: readonly number[];
  /** Resolves when so many calls have arrived. */
  arrived(count: number): Promise<void>;
  readonly folder: Folder;
  /** Enriches a list of its own: `rows` domains that no other list has. */
  enrich(name: string, rows: number, ...flags: readonly string[]): Promise<Ended>;
  args(name: string, rows: number, ...flags: readonly string[]): readonly string[];
}

async function watch(options: SandboxOptions): Promise<Watched> {
  const arrivalsMs: number[] = [];
  const waiting = new Map<number, () => void>();
  const arrived = async (count: number): Promise<void> => {
    if (arrivalsMs.length >= count) return;
    await new Promise<void>((resolve) => void waiting.set(count, resolve));
  };
  const api = await openApi({
    latencyMs: 40,
    ...options,
    respond: () => {
      arrivalsMs.push(performance.now());
      waiting.get(arrivalsMs.length)?.();
      return undefined;
    },
  });
  const folder = openFolder();
  const args = (name: string, rows: number, ...flags: readonly string[]): readonly string[] => {
    folder.write(`${name}.csv`, listOf(domains(rows).map((domain) => `${name}-${domain}`)));
    return ['enrich', `${name}.csv`, '--base-url', api.url, ...flags];
  };
  const enrich = async (name: string, rows: number, ...flags: readonly string[]) =>
    await runHere(args(name, rows, ...flags), { cwd: folder.path });
  return { api, arrivalsMs, arrived, folder, enrich, args };
}

/** It has a burst of 50, which a run that knows nothing uses up and takes for the limit at first. */
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
  const root = open({ path: folder.at('.brandfill'), noSubdir: false, maxDbs: 8, readOnly: true });
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  const paces = [...meta.getRange({ start: 'pace:', end: 'pace;' })];
  await root.close();
  return paces;
}

describe('a limit that was found', () => {
  it('is remembered by a run that was killed, and is only for the same credential', async () => {
    const { arrivalsMs, arrived, folder, args, enrich } = await watch(LIMIT);
    const running = await start(args('first', 5_000), { cwd: folder.path });
    await arrived(300);
    await running.stop('SIGKILL');
    const before = arrivalsMs.length;
    expect((await enrich('second', 120)).code).toBe(0);
    expectWarm(firstTwoSeconds(arrivalsMs.slice(before)));
    folder.write('key', 'secret-of-another');
    await enrich('third', 5, '--auth', 'bearer', '--api-key-file', 'key');
    const both = await savedPaces(folder);
    expect(both).toHaveLength(2);
    expect(JSON.stringify(both)).not.toContain('secret');
  });
});
