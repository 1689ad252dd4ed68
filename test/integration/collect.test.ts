import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CollectFiles, openCollectFiles } from '../../src/queue/collect-files.ts';
import { QUEUES_KEY, streamKey } from '../../src/queue/names.ts';
import { outcomeOf } from '../store/outcomes.ts';
import { SEEDS, seededRandom } from '../support/random.ts';
import { type TestDatabase, useDatabase, useRedis } from '../support/redis.ts';
import { runHere, start, startHere } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openSmallDisk } from './support/small-disk.ts';

const random = seededRandom('collect.test.ts');
const QUEUE = 'api.test';
const KILLS = 3 * SEEDS;

/**
 * Puts outcomes on the stream of backfills, as a worker does: found ones, and each third one not.
 */
async function send(redis: TestDatabase, from: number, count: number): Promise<void> {
  await redis.client.sadd(QUEUES_KEY, QUEUE);
  for (let at = from; at < from + count; at += 1) {
    await redis.client.xadd(streamKey(QUEUE), '*', 'data', entryOf(at));
  }
}

function entryOf(at: number): string {
  const isFound = at % 3 !== 0;
  const unknown = { status: 'not_found', reason: 'http_404', json: '' } as const;
  const outcome = outcomeOf(`d${at}.com`, isFound ? { json: '{"a":1}' } : unknown);
  return JSON.stringify({ job: '1', outcomes: [outcome] });
}

function domainsIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.includes('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly domain: string }).domain);
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `d${at}.com`).toSorted();
}

describe('brandfill collect', () => {
  it('has each outcome in its files once, whenever it is killed', async () => {
    const redis = await useRedis({ isPersistent: true });
    const folder = openFolder();
    const collectNow = () =>
      start(['collect', '--out-dir', 'out', '--queue', redis.url], { cwd: folder.path });
    let sent = 0;
    for (let kills = 0; kills < KILLS; kills += 1) {
      const collector = await collectNow();
      await collector.shows('Waiting for outcomes');
      const sending = send(redis, sent, 150);
      sent += 150;
      await delay(random.between(0, 120));
      collector.process.kill('SIGKILL');
      await Promise.all([collector.ended, sending]);
    }
    const last = await collectNow();
    await last.shows('Waiting for outcomes');
    await send(redis, sent, 1); // with the next one, Redis forgets what a killed one had written
    sent += 1;
    await expect.poll(() => redis.client.xlen(streamKey(QUEUE))).toBe(0);
    expect((await last.stop()).code).toBe(0);
    expect(domainsIn(folder.at('out')).toSorted()).toEqual(numbered(sent));
    expect(readdirSync(folder.at('out')).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('waits while its disk is full, and loses nothing', async (context) => {
    const disk = openSmallDisk(64 * 1_024);
    if (!disk) return context.skip('this process may not mount');
    const redis = await useDatabase();
    const filler = disk.write('filler', 'x'.repeat(60 * 1_024));
    const args = ['collect', '--queue', redis.url, '--out-dir', disk.at('out')];
    const collector = startHere(args, { cwd: openFolder().path });
    await send(redis, 0, 400);
    await collector.shows('Cannot write outcomes');
    rmSync(filler);
    await expect.poll(() => domainsIn(disk.at('out')).length).toBe(400);
    expect((await collector.stop()).code).toBe(0);
    expect(domainsIn(disk.at('out')).toSorted()).toEqual(numbered(400));
  });

  it('waits while another process writes to its folder, goes on at its end, and collects in no other one', async () => {
    const redis = await useDatabase();
    const folder = openFolder();
    const args = ['collect', '--queue', redis.url];
    const first = await start(args, { cwd: folder.path });
    await first.shows('Waiting for outcomes');
    const second = startHere(args, { cwd: folder.path });
    await second.shows('Another collector writes to');
    const refused = await runHere([...args, '--out-dir', 'elsewhere'], { cwd: folder.path });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('Cannot collect: another collector, on');
    await first.stop('SIGKILL');
    await second.shows('Waiting for outcomes');
    expect((await second.stop()).code).toBe(0);
  });

  it('collects what comes to a master whose clock is behind, each once, and says so once', async () => {
    const redis = await useDatabase();
    const folder = openFolder();
    const collector = startHere(['collect', '--queue', redis.url, '--out-dir', 'out'], {
      cwd: folder.path,
    });
    await collector.shows('Waiting for outcomes');
    const stream = streamKey(QUEUE);
    const ahead = Date.now() + 300_000;
    await redis.client.sadd(QUEUES_KEY, QUEUE);
    await redis.client.xadd(stream, ahead, 'data', entryOf(0));
    await redis.client.xadd(stream, ahead + 1_000, 'data', entryOf(1));
    await expect.poll(() => domainsIn(folder.at('out')).length).toBe(2);
    // The other one has not heard that the first was collected, nor of the second.
    await redis.client.del(stream);
    await redis.client.xadd(stream, ahead, 'data', entryOf(0));
    await send(redis, 2, 48);
    await expect.poll(() => domainsIn(folder.at('out')).length).toBe(50);
    await send(redis, 50, 50);
    await expect.poll(() => domainsIn(folder.at('out')).length).toBe(100);
    const { stderr } = await collector.stop();
    expect(domainsIn(folder.at('out')).toSorted()).toEqual(numbered(100));
    expect(stderr.match(/The clock of Redis has gone back/g)).toHaveLength(1);
  });

  it('collects what an earlier Redis had not, and leaves the places in its streams alone', async () => {
    const folder = openFolder();
    for (const at of [0, 1]) {
      const redis = await useDatabase();
      // The second one's ids are smaller than those of the first.
      const id = at === 0 ? '9999999999999-0' : '1-1';
      const data = JSON.stringify({ job: '1', outcomes: [outcomeOf(`redis-${at}.com`)] });
      await redis.client.sadd(QUEUES_KEY, QUEUE);
      await redis.client.xadd(streamKey(QUEUE), id, 'data', data);
      const collector = startHere(['collect', '--queue', redis.url], { cwd: folder.path });
      await expect.poll(() => redis.client.xlen(streamKey(QUEUE))).toBe(0);
      expect((await collector.stop()).stderr).toContain('Stopped after 1 line: 1 found, 0 others.');
    }
    expect(domainsIn(folder.at('out')).toSorted()).toEqual(['redis-0.com', 'redis-1.com']);
  });
});

describe('the files of a collector', () => {
  async function openIn(folder: string, now = Date.UTC(2026, 10, 21, 8)): Promise<CollectFiles> {
    const { signal } = new AbortController();
    const given = { folder, flag: '--out-dir', now: () => now, onNotice: () => {}, signal };
    const files = await openCollectFiles(given);
    onTestFinished(() => files.close());
    return files;
  }

  const line = (name: string): string => `${JSON.stringify({ domain: name })}\n`;
  const PART = 'enriched-2026-11-21T08-00-00-000Z.jsonl.part';

  it.each(
    Object.entries<(folder: string) => void>({
      nothing: () => {},
      'lines that did not count': (folder) =>
        writeFileSync(join(folder, PART), `${line('a')}${line('b').slice(0, 7)}`),
      'a state that was not renamed': (folder) =>
        writeFileSync(join(folder, '.collect.json.new'), '{'),
      'another file that was finished but not renamed': (folder) =>
        writeFileSync(join(folder, 'failures-2026-11-21T07-00-00-000Z.jsonl.part'), line('c')),
    }),
  )('go on where they counted, when a kill left %s', async (_, leave) => {
    const folder = openFolder().path;
    const first = await openIn(folder);
    await first.append({ enriched: line('a'), failures: '' }, new Map([['s', '5-0']]));
    await first.close();
    leave(folder);
    const second = await openIn(folder);
    expect(second.placeIn('s')).toBe('5-0');
    await second.append({ enriched: line('b'), failures: '' }, new Map([['s', '6-0']]));
    await second.finish(true);
    expect(readFileSync(join(folder, PART.slice(0, -5)), 'utf8')).toBe(line('a') + line('b'));
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('count from their first byte: what a kill kept from counting is not in them', async () => {
    const folder = openFolder().path;
    const first = await openIn(folder);
    mkdirSync(join(folder, '.collect.json.new')); // the state cannot be written
    const outcomes = { enriched: line('a'), failures: line('b') };
    await expect(first.append(outcomes, new Map())).rejects.toThrow('EISDIR');
    rmdirSync(join(folder, '.collect.json.new'));
    await first.close();
    const second = await openIn(folder);
    await second.append(outcomes, new Map());
    await second.finish(true);
    expect(domainsIn(folder).toSorted()).toEqual(['a', 'b']);
  });

  it('begin a new file when the hour is over', async () => {
    const folder = openFolder().path;
    const files = await openIn(folder);
    await files.append({ enriched: line('a'), failures: '' }, new Map());
    await files.append({ enriched: line('b'), failures: '' }, new Map());
    await files.close();
    const later = await openIn(folder, Date.UTC(2026, 10, 21, 9));
    await later.append({ enriched: line('c'), failures: line('d') }, new Map());
    await later.finish(true);
    const written = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    expect(written.toSorted()).toEqual([
      'enriched-2026-11-21T08-00-00-000Z.jsonl',
      'enriched-2026-11-21T09-00-00-000Z.jsonl',
      'failures-2026-11-21T09-00-00-000Z.jsonl',
    ]);
    expect(readFileSync(join(folder, PART.slice(0, -5)), 'utf8')).toBe(line('a') + line('b'));
  });

  it('say so when one was cut by somebody, and when the folder cannot be used', async () => {
    const folder = openFolder().path;
    const files = await openIn(folder);
    await files.append({ enriched: line('a'), failures: '' }, new Map());
    await files.close();
    writeFileSync(join(folder, PART), '');
    const again = await openIn(folder);
    const more = again.append({ enriched: line('b'), failures: '' }, new Map());
    await expect(more).rejects.toThrow(/shorter than what was written to it/);
    writeFileSync(join(folder, 'file'), '');
    const inFile = openIn(join(folder, 'file'));
    await expect(inFile).rejects.toThrow(/^Cannot write to the folder .*--out-dir/);
  });
});
