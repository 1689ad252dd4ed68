import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import type { CallsPer } from '../../src/worker/budget.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const SCRIPT = new URL('./support/take-calls.ts', import.meta.url);

interface Taking {
  /** All that there is in the month. */
  readonly count: number;
  /** Taken each time the store is open. */
  readonly blocks: number;
  /** How often it is opened. */
  readonly times?: number;
}

/** Has another process take blocks of calls; resolves with how many calls it got. */
async function takeElsewhere(
  folder: string,
  { count, blocks, times = 1 }: Taking,
): Promise<number> {
  const limit: CallsPer = { count, unit: 'month' };
  const args = [folder, JSON.stringify(limit), `${blocks}`, `${times}`];
  const child = fork(SCRIPT, args, { execArgv: ['--import', 'tsx'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`It ended with ${code ?? signal}.`);
  });
  const [taken] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {});
  return Number(taken);
}

it('processes that open one fresh store at the same time never take more calls than there are', async () => {
  const folder = useTempFolder();
  const all = { count: 1_000, blocks: 20 };
  const taken = await Promise.all([1, 2, 3, 4].map(() => takeElsewhere(folder, all)));
  // Eighty blocks were asked for, and there are fifty: no process can have had them all.
  expect(taken.reduce((sum, calls) => sum + calls, 0)).toBe(1_000);
});

it('no commit is lost while other processes open and close the store', async () => {
  const folder = useTempFolder();
  const count = 30_000;
  const taken = await Promise.all([
    takeElsewhere(folder, { count, blocks: 450 }),
    takeElsewhere(folder, { count, blocks: 0, times: 150 }),
    takeElsewhere(folder, { count, blocks: 0, times: 150 }),
  ]);
  expect(taken).toEqual([22_500, 0, 0]);
  expect(await takeElsewhere(folder, { count, blocks: 200 })).toBe(7_500);
});
