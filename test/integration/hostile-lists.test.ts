import { closeSync, openSync, writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { runHere, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { watchOwnMemory } from './support/memory.ts';
import { expectRefusal } from './support/refusals.ts';

const MB = 1_024 * 1_024;
/** What no list may make the command take. */
const MOST_MEMORY_BYTES = 400 * MB;

/** A piece of a file, and how often it stands there. */
type Piece = string | Buffer | readonly [piece: string | Buffer, times: number];

function write(path: string, pieces: readonly Piece[]): void {
  const file = openSync(path, 'w');
  for (const piece of pieces) {
    const [bytes, times] = Array.isArray(piece) ? piece : [piece, 1];
    for (let n = 0; n < times; n += 1) writeSync(file, Buffer.from(bytes));
  }
  closeSync(file);
}

/** Runs the real command over a file, and makes sure that it ends and stays small. */
async function enrich(name: string, pieces: readonly Piece[]) {
  const folder = openFolder();
  write(folder.at(name), pieces);
  const api = await openScripted({});
  const args = ['enrich', name, '--base-url', api.url];
  const running = await start(args, { cwd: folder.path });
  running.process.stdin?.end();
  const peakBytes = watchOwnMemory(running.process);
  const ended = await running.ended;
  expect(peakBytes()).toBeLessThan(MOST_MEMORY_BYTES);
  return { folder, ended };
}

/** Shown, it hides what comes behind it, or what a name ends in. */
const TURN = '\u202e';

it.each([
  ['a cell', ['enrich', 'list.csv', '--dry-run'], "line 2 'x y'"],
  ['the name of a column', ['enrich', 'list.csv', '--domain-column', 'site'], 'domain, a b'],
  ['an answer', ['store', 'get', 'acme.com'], '"name":"A\\u202eB"'],
])(
  'what turns the direction of a terminal does not turn what is shown where it stands in %s',
  async (_, args, words) => {
    const folder = openFolder();
    folder.write('acme.csv', 'domain\nacme.com\n');
    folder.write('list.csv', `domain,a${TURN}b\nx${TURN}y,1\nacme.com,2\n`);
    const api = await openScripted({ 'acme.com': { body: { name: `A${TURN}B` } } });
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    await runHere(['enrich', 'acme.csv'], options);
    const { stdout, stderr } = await runHere(args, options);
    expect(stdout + stderr).toContain(words);
    expect(stdout + stderr).not.toContain(TURN);
  },
);

describe('a list that nobody should make', () => {
  it('comes out right: a hundred thousand columns of one name', async () => {
    const row = `a.com${',1'.repeat(100_000)}\n`;
    const header = `domain${',a'.repeat(100_000)}\n`;
    const { folder, ended } = await enrich('list.csv', [header, [row, 5]]);
    expect(ended.code).toBe(0);
    expect(folder.read('list.enriched.csv').match(/,a\.com,found,/g)).toHaveLength(5);
  });

  it.each<[string, string, readonly Piece[], RegExp]>([
    [
      'a quote that is opened in front of 40 MB',
      'list.csv',
      ['domain,n\na.com,1\nb.com,"', ['x.com,y\n'.repeat(MB / 8), 40]],
      /line 3 of list\.csv.*does not end within 32 MB/,
    ],
    [
      'an object of 40 MB',
      'list.jsonl',
      ['{"domain":"a.com"}\n{"x":"', ['x'.repeat(MB), 40], '"}\n'],
      /line 2 of list\.jsonl: it is longer than 32 MB/,
    ],
    [
      'much in little',
      'list.csv.gz',
      [gzipSync('domain\n'), gzipSync(Buffer.alloc(100 * MB, 0x61))],
      /line 2 of list\.csv\.gz.*does not end within 32 MB/,
    ],
  ])('ends with 2 and one sentence: %s', async (_, name, pieces, expected) => {
    const { ended } = await enrich(name, pieces);
    expectRefusal(ended, expected);
  });
});
