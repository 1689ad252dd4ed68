import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLockLink, type LockLinkOptions } from '../../src/common/lock-link.ts';
import { describeSelf } from '../../src/common/owner.ts';
import { createStoreLock } from '../../src/store/lmdb-file.ts';
import { makeReadOnly } from '../support/read-only.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const FILE = 'store.lock';
const soon = { silenceMs: 50, patienceMs: 50 } satisfies LockLinkOptions;

/** What the lock says of this process: its number, its start, its place, and which hold it is. */
async function ownMark(): Promise<[pid: string, startedAt: string, place: string, hold: string]> {
  const folder = useTempFolder();
  const mark = await createStoreLock(folder).hold(async () => readlinkSync(join(folder, FILE)));
  const [pid = '', startedAt = '', place = '', hold = ''] = mark.split('.');
  return [pid, startedAt, place, hold];
}

/** The number of a process that is no more. */
function pidOfDead(): string {
  return String(spawnSync(process.execPath, ['--version']).pid);
}

it('lets one holder at a time work, and leaves nothing behind', async () => {
  const folder = useTempFolder();
  const holders = ['a', 'b', 'c'].map((name) => ({ name, lock: createStoreLock(folder) }));
  const working = new Map<string, number>();
  const together = new Set<string>();
  const work = holders.flatMap(({ name, lock }) =>
    Array.from({ length: 10 }, async (_, i) => {
      await delay(i * 5);
      return await lock.hold(async () => {
        working.set(name, (working.get(name) ?? 0) + 1);
        together.add([...working.keys()].join('+'));
        await delay(2);
        const left = (working.get(name) ?? 0) - 1;
        if (left > 0) working.set(name, left);
        else working.delete(name);
        return name;
      });
    }),
  );
  expect(new Set(await Promise.all(work))).toEqual(new Set(['a', 'b', 'c']));
  expect([...together].sort()).toEqual(['a', 'b', 'c']);
  expect(readdirSync(folder)).toEqual([]);
});

it('is shared by work of one holder that comes at the same time', async () => {
  const lock = createStoreLock(useTempFolder());
  let working = 0;
  const meet = async (): Promise<void> => {
    working += 1;
    while (working < 2) await delay(1);
  };
  await Promise.all([lock.hold(meet), lock.hold(meet)]);
});

it('is let go when the work fails', async () => {
  const folder = useTempFolder();
  const lock = createStoreLock(folder);
  await expect(lock.hold(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(readdirSync(folder)).toEqual([]);
  expect(await lock.hold(async () => 'again')).toBe('again');
});

it("is nobody's when it was let go while its folder was read-only", async ({ skip }) => {
  const folder = useTempFolder();
  const lock = createStoreLock(folder, soon);
  let makeWritable: (() => void) | undefined;
  const work = async (): Promise<void> => {
    makeWritable = makeReadOnly(folder) ?? skip('this process may not make it read-only');
  };
  await expect(lock.hold(work)).rejects.toThrow();
  expect(readdirSync(folder)).toEqual([FILE]);
  makeWritable?.();
  expect(await lock.hold(async () => 'again')).toBe('again');
  expect(await createStoreLock(folder, soon).hold(async () => 'another')).toBe('another');
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['that is gone', (own: string[]) => [pidOfDead(), ...own.slice(1)]],
  ['whose number another process has by now', (own: string[]) => [own[0], '1', ...own.slice(2)]],
  ['in another container that is silent', (own: string[]) => ['1', '1', 'elsewhere', own[3]]],
  ['that wrote no mark', () => []],
])('is taken from a holder %s', async (_, change) => {
  const folder = useTempFolder();
  symlinkSync(change(await ownMark()).join('.') || 'nobody', join(folder, FILE));
  const lock = createStoreLock(folder, { silenceMs: 50 });
  expect(await lock.hold(async () => 'ours')).toBe('ours');
  expect(readdirSync(folder)).toEqual([]);
});

it('is taken from the last of several that were killed, each of which had taken it over', async () => {
  const folder = useTempFolder();
  for (const pid of [pidOfDead(), pidOfDead(), pidOfDead()].map(Number)) {
    await createLockLink(join(folder, FILE), { self: { ...describeSelf(), pid } }).acquire();
  }
  expect(readdirSync(folder)).toHaveLength(3);
  expect(await createStoreLock(folder).hold(async () => 'ours')).toBe('ours');
  expect(readdirSync(folder)).toEqual([]);
});

it('may be a file, where there can be no links', async () => {
  const folder = useTempFolder();
  const [, startedAt, place, hold] = await ownMark();
  writeFileSync(join(folder, FILE), [pidOfDead(), startedAt, place, hold].join('.'));
  expect(await createStoreLock(folder).hold(async () => 'ours')).toBe('ours');
  expect(readdirSync(folder)).toEqual([]);
});

it('says who keeps it for too long, and leaves it to that process', async () => {
  const folder = useTempFolder();
  const mark = (await ownMark()).join('.');
  symlinkSync(mark, join(folder, FILE));
  await expect(createStoreLock(folder, soon).hold(async () => {})).rejects.toThrow(
    `process ${process.pid} keeps it locked with ${join(folder, FILE)}; let that go on, or end it, and run this again`,
  );
  expect(readlinkSync(join(folder, FILE))).toBe(mark);
});

it('says so where it cannot be read who has it, instead of looking without end', async () => {
  const folder = useTempFolder();
  mkdirSync(join(folder, FILE)); // whoever tests may read every file
  await expect(createStoreLock(folder, soon).hold(async () => {})).rejects.toThrow(
    `its lock ${join(folder, FILE)} cannot be read: it is a folder, not a file`,
  );
});
