import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runHere, start } from '../integration/support/command.ts';
import { listOf, objectsOf } from '../integration/support/folder.ts';
import { seededRandom } from '../support/random.ts';
import { openFleet } from './support/fleet.ts';

const random = seededRandom('queue-shared.test.ts');

describe('one queue for many', () => {
  it('two runs and a backfill at once: outcomes go where they belong, though workers are killed', async () => {
    const fleet = await openFleet({ random, rows: 600 });
    const { folder, api } = fleet;
    const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: fleet.queueUrl };
    const backfill = Array.from({ length: 300 }, (_, at) => `backfill-${at}.com`);
    const other = Array.from({ length: 250 }, (_, at) => `other-${at}.com`);
    folder.write('backfill.csv', listOf(backfill));
    mkdirSync(folder.at('other'));
    folder.write('other/other.csv', listOf(other));

    const collector = await start(['collect', '--out-dir', 'out'], { cwd: folder.path, env });
    const added = await runHere(['add', 'backfill.csv'], { cwd: folder.path, env });
    expect(added.code, added.stderr).toBe(0);
    const victim = await fleet.worker();
    await fleet.worker();
    const mine = fleet.run();
    const theirs = await start(['enrich', 'other.csv', '--workers', '0'], {
      cwd: folder.at('other'),
      env,
    });
    await fleet.calls(250);
    await victim.stop('SIGKILL');
    await fleet.worker();

    const theirEnd = await theirs.ended;
    expect(theirEnd.code, theirEnd.stderr).toBe(0);
    const rows = folder.read('other/other.enriched.csv').trimEnd().split('\n').slice(1);
    expect(rows.map((row) => row.split(',')[0])).toEqual(other);
    const mineEnd = await mine.ended;
    while (linesIn(folder.at('out')).length < backfill.length) await delay(100);
    const collected = await collector.stop();
    expect(collected.code, collected.stderr).toBe(0);
    await fleet.expectWhole(mineEnd);

    const lines = objectsOf(linesIn(folder.at('out')).join('\n'));
    expect(lines.map((line) => String(line['domain'])).toSorted()).toEqual(backfill.toSorted());
    expect(new Set(lines.map((line) => line['ref']))).toEqual(new Set(['backfill.csv']));
  });
});

/** Lines of all files, finished or not. */
function linesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.includes('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '');
}
