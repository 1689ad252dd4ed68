import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type Holder, own } from '../../src/store/owner.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const MODULE = new URL('../../src/store/owner.ts', import.meta.url).href;

/** A process that owns a folder until it is killed. */
async function startOwner(folder: string) {
  const script = `
    const { own } = await import(${JSON.stringify(MODULE)});
    await own(${JSON.stringify(folder)});
    console.log('owns');
    setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

it('is had by one at a time, however many want it', async () => {
  const folder = useTempFolder();
  let owners = 0;
  let most = 0;
  const all = Array.from({ length: 20 }, async () => {
    const mine = await own(folder, { waitMs: Number.POSITIVE_INFINITY });
    owners += 1;
    most = Math.max(most, owners);
    await setImmediate();
    owners -= 1;
    await mine.release();
  });
  await Promise.all(all);
  expect(most).toBe(1);
});

it('passes on at once when its owner is killed, and not while that is suspended', async () => {
  const folder = join(useTempFolder(), 'a'.repeat(120)); // too long for the address of a socket
  mkdirSync(folder);
  const child = await startOwner(folder);
  child.kill('SIGSTOP');
  await expect(own(folder, { waitMs: 100 })).rejects.toThrow(`process ${child.pid} on`);
  child.kill('SIGCONT');
  const held: Holder[] = [];
  const waiting = own(folder, { waitMs: 60_000, onHeld: (holder) => held.push(holder) });
  await expect.poll(() => held).toMatchObject([{ pid: child.pid }]);
  child.kill('SIGKILL');
  await (await waiting).release(); // long before it would give up
});
