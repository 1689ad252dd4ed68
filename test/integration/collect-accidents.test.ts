import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { findRedisServer } from '../support/redis.ts';
import { run, start } from './support/command.ts';
import type { Folder } from './support/folder.ts';
import { namesIn, openOutcomesQueue, outcome, reply, stop } from './support/outcomes-queue.ts';
import { mountSmallDisk } from './support/small-disk.ts';
import { objectsOf } from './support/tables.ts';

const { next: random } = seededRandom('collect-accidents.test.ts');
const hasRedis = findRedisServer() !== undefined;
if (!hasRedis)
  console.log('Left out: collect-accidents.test.ts, because there is no Redis server.');

describe.skipIf(!hasRedis)('brandfill collect', () => {
  it('killed again and again, has every reply in the files once', async () => {
    const { folder, url, add, drained } = await openOutcomesQueue();
    const args = ['collect', '--queue', url, '--max-file-size', '20KB'];
    const replies = Array.from({ length: 400 }, (_, at) =>
      reply(`chunk-${at}`, [
        outcome(2 * at),
        outcome(2 * at + 1, at % 3 === 0 ? { status: 'not_found', json: '' } : {}),
      ]),
    );
    let added = 0;
    for (let kill = 0; kill < 4; kill += 1) {
      const collector = await start(args, { cwd: folder.path });
      await collector.shows('Waiting for outcomes');
      const adding = add(replies.slice(added, added + 100));
      added += 100;
      await delay(random() * 120);
      collector.process.kill('SIGKILL');
      await collector.ended;
      await adding;
      if (kill === 2) tear(folder);
    }
    // Sent once more by a worker that was lost after it had sent them.
    const last = await start(args, { cwd: folder.path });
    await drained();
    await add(replies.slice(0, 20));
    await drained();
    await stop(last);
    const lines = namesIn(folder).flatMap((name) => objectsOf(folder.read(`out/${name}`)));
    const domains = lines.map(({ domain }) => String(domain));
    expect(domains).toHaveLength(800);
    expect(new Set(domains).size).toBe(800);
    expect(namesIn(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('refuses a folder that another one writes to, but not one whose owner was killed', async () => {
    const { folder, url } = await openOutcomesQueue();
    const args = ['collect', '--queue', url];
    const first = await start(args, { cwd: folder.path });
    await first.shows('Waiting for outcomes');
    const second = await run(args, { cwd: folder.path });
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(
      /^brandfill: Cannot write to the folder out: another collector writes to it \(process \d+ on \S+\); put that right, or choose another folder with --out-dir\.$/m,
    );
    first.process.kill('SIGKILL');
    await first.ended;
    const third = await start(args, { cwd: folder.path });
    await third.shows('Waiting for outcomes');
    await stop(third);
  });

  it('waits while the disk is full, and goes on by itself', async ({ skip }) => {
    const { folder, url, add, drained, isEmpty } = await openOutcomesQueue();
    if (!mountSmallDisk(folder, 16 * 1024 * 1024)) {
      console.log('Left out: a full disk, because this process may not mount one.');
      return skip();
    }
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    await add([reply('before', [outcome(1)])]);
    await drained();
    fillDisk(folder.at('ballast'));
    await add(Array.from({ length: 30 }, (_, at) => reply(`full-${at}`, [outcome(at + 2)])));
    await collector.shows('Cannot write to out: the disk is full.');
    expect(await isEmpty()).toBe(false);
    rmSync(folder.at('ballast'));
    await collector.shows('out can be written to again.');
    await drained();
    const { stderr } = await stop(collector);
    expect(stderr.match(/the disk is full/g)).toHaveLength(1);
    const lines = namesIn(folder).flatMap((name) => objectsOf(folder.read(`out/${name}`)));
    expect(lines).toHaveLength(31);
  });

  it('refuses a folder on a full disk, and names its own option', async ({ skip }) => {
    const { folder, url } = await openOutcomesQueue();
    if (!mountSmallDisk(folder, 1024 * 1024)) {
      console.log('Left out: a full disk, because this process may not mount one.');
      return skip();
    }
    const { code, stderr } = await run(['collect', '--queue', url], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^brandfill: Cannot write to the folder out: the disk is full; put that right, or choose another folder with --out-dir\.$/m,
    );
  });

  it('whose folder is removed says so, and ends with 2; outcomes are there for the next one at once', async () => {
    const { folder, url, add, drained, waiting } = await openOutcomesQueue();
    const collector = await start(['collect', '--queue', url], { cwd: folder.path });
    await add([reply('before', [outcome(1)])]);
    await drained();
    rmSync(folder.at('out'), { recursive: true });
    await add([reply('after', [outcome(2)])]);
    await collector.shows('Cannot write to out: there is no such file or folder.');
    collector.process.kill('SIGTERM');
    const { code, stderr } = await collector.ended;
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(
      'brandfill: Cannot finish the files in out: there is no such file or folder. What is not in them is still on the queue: put that right, and collect again.',
    );
    expect(code).toBe(2);
    expect(await waiting()).toBe(1);
  });
});

/** Puts a part of a line behind what was written, as a kill in the middle of a write does. */
function tear(folder: Folder): void {
  for (const name of namesIn(folder).filter((name) => name.endsWith('.part'))) {
    writeFileSync(folder.at(`out/${name}`), '{"domain":"torn.com","sta', { flag: 'a' });
  }
}

function fillDisk(path: string): void {
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeFileSync(path, block, { flag: 'a' });
  } catch {
    // Full, as it should be.
  }
}
