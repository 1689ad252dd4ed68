import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeOlder } from '../store/homes.ts';
import { openApi } from './support/api.ts';
import { enrichHere, runHere, start, startEnrich, startHere } from './support/command.ts';
import { domains, type Folder, LIST, listOf, openFolder, openList } from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

// What a person has in the folders that are named: `--store`, `--dir`, and those of outputs.

const ID = '4711-1700000000000-0a1b2c3d-web-1';
const UUID = '0b1d3f5a-1111-4222-8333-abcdefabcdef';

/** Names like those of Brandfill's own things, of this version and of older ones. */
const NAMES: readonly string[] = `
  owner-accounts.csv owner-list.xlsx owner-${ID} owner- owner-4711
  turn-accounts.csv turn-list.xlsx turn-${ID} turn-
  next-accounts.csv next-list.xlsx next-${ID} next-
  closed closed.txt data.mdb data.mdb.bak lock.mdb BRANDFILL.TAG checked
  spool-${UUID} spool-notes.txt brandfill-store.csv brandfill-app.csv
  app.json api.json keys.json open-0123456789ab.html .collect.json
  list.enriched.csv.${UUID}.part list.failures.csv.${UUID}.part .brandfill-${UUID}.part
  app.json.${UUID}.part failures-mine.jsonl.part enriched-2026.jsonl.part
  lists/0123456789ab/notes.txt lists/0123456789ab/list.txt
  store/data.mdb store/closed rehearsal/data.mdb spool/spool-1 brandfill-storehouse/data.mdb`
  .trim()
  .split(/\s+/);
const MODES = [0o600, 0o640, 0o644, 0o664, 0o444, 0o755];

/** A folder with all of them, old as what a killed run has left. */
function fillFolder(names: readonly string[] = NAMES): Folder {
  const folder = openList(LIST);
  for (const [at, name] of names.entries()) {
    mkdirSync(dirname(folder.at(name)), { recursive: true });
    writeFileSync(folder.at(name), `${name} is mine, and none of 512 123456.5\n`);
    chmodSync(folder.at(name), MODES[at % MODES.length] ?? 0);
    utimesSync(folder.at(name), 1_700_000_000, 1_700_000_000);
  }
  symlinkSync('closed', folder.at('owner-link'));
  execFileSync('mkfifo', [folder.at(`owner-${ID}-fifo`)]);
  return folder;
}

/**
 * Kind, mode, time and content of each thing that is in a folder, but for what Brandfill has made.
 */
function lookAt(folder: Folder): Readonly<Record<string, string>> {
  const names = readdirSync(folder.path, { recursive: true, encoding: 'utf8' });
  const theirs = names.filter((name) => !MADE.test(name)).sort();
  return Object.fromEntries(theirs.map((name) => [name, describeFile(folder.at(name))]));
}

const MADE =
  /^(?:brandfill-(?:store|app)(?:\/.*)?|list\.(?:enriched|failures)\.csv|exported\.jsonl)$/;

function describeFile(path: string): string {
  const found = lstatSync(path);
  const { mode, mtimeMs } = found;
  if (found.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (!found.isFile()) return mode.toString(8);
  return `${mode.toString(8)} of ${mtimeMs}: ${readFileSync(path, 'utf8')}`;
}

describe('a folder with forty files of names like ours', () => {
  it('is as it was after all that is done with a store in it', async () => {
    const folder = fillFolder();
    const before = lookAt(folder);
    expect(Object.keys(before).length).toBeGreaterThan(40);
    const api = await openApi();
    const does = async (...args: readonly string[]) => {
      const ended = await runHere([...args, '--store', '.'], { cwd: folder.path });
      expect({ args, code: ended.code, stderr: ended.stderr }).toMatchObject({ args, code: 0 });
      expect(lookAt(folder)).toEqual(before);
      return ended;
    };
    await does('enrich', 'list.csv', '--base-url', api.url);
    const { stdout } = await does('store', 'export');
    expect(stdout.trim().split('\n')).toHaveLength(2);
    folder.write('exported.jsonl', stdout);
    await does('store', 'prune', '--older-than', '1d');
    await does('store', 'import', 'exported.jsonl');
    await does('enrich', 'list.csv', '--base-url', api.url);
    expect(api.stats().calls).toBe(2);
  });

  it('is as it was after runs in it are killed', async () => {
    const folder = fillFolder();
    folder.write('list.csv', listOf(domains(200)));
    const before = lookAt(folder);
    const api = await openApi({ latencyMs: 20 });
    const flags = ['--store', '.', '--concurrency', '4'];
    for (const calls of [1, 40]) {
      const running = await startEnrich(folder, api.url, ...flags);
      await expect.poll(() => api.stats().calls).toBeGreaterThan(calls);
      await running.stop('SIGKILL');
      expect(lookAt(folder)).toEqual(before);
    }
    expect((await enrichHere(folder, api.url, ...flags)).code).toBe(0);
    expect(lookAt(folder)).toEqual(before);
  });

  it('is as it was after the app had it, and was killed', async () => {
    const folder = fillFolder();
    const before = lookAt(folder);
    const args = ['app', '--dir', '.', '--no-open', '--listen', '0'];
    for (const [begin, signal] of [
      [startHere, 'SIGTERM'],
      [start, 'SIGKILL'],
      [startHere, 'SIGTERM'],
    ] as const) {
      const app = await begin(args, { cwd: folder.path });
      await app.shows('Ctrl-C ends it.');
      await app.stop(signal);
    }
    expect(lookAt(folder)).toEqual(before);
  });

  it('is as it was where an older store lies among them, which is taken over', async () => {
    const folder = fillFolder(
      NAMES.filter((name) => !/^(?:data\.mdb|lock\.mdb|closed)$/.test(name)),
    );
    const api = await openApi();
    const enrich = () => enrichHere(folder, api.url, '--store', '.');
    expect((await enrich()).code).toBe(0);
    makeOlder(folder.path);
    const { 'data.mdb': _, closed: __, 'lock.mdb': ___, ...before } = lookAt(folder);
    expect((await enrich()).code).toBe(0);
    expect(api.stats().calls).toBe(2);
    expect(lookAt(folder)).toMatchObject(before);
    expect(readdirSync(folder.path)).not.toContain('brandfill-store');
  });
});

it.each([
  ['--store', 'brandfill-store', 'Cannot open the store here:'],
  ['--dir', 'brandfill-app', 'Cannot keep anything in'],
])(
  'a folder that is in the way of what %s makes is left as it is: %s',
  async (flag, name, refusal) => {
    const folder = openList(LIST);
    const home = join(folder.at('here'), name);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'mine.txt'), 'mine');
    const command = flag === '--dir' ? ['app', '--no-open', '--listen', '0'] : ENRICH;
    const ended = await runHere([...command, flag, 'here'], { cwd: folder.path });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(refusal)]);
    expect(readdirSync(home)).toEqual(['mine.txt']);
  },
);

const isRoot = process.getuid?.() === 0;
const STRANGER = 65_534;
const ENRICH = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9'];

describe.skipIf(!isRoot)(
  'a folder that others can change (left out: only root can give it away)',
  () => {
    it.each([
      ['of another user', STRANGER, 0o755, 'it belongs to another user (with the number 65534)'],
      ['of another user, open to all', STRANGER, 0o777, 'it belongs to another user'],
      ['of another user, like /tmp', STRANGER, 0o1777, 'it belongs to another user'],
      ['open to all', 0, 0o777, 'every user of this machine can put things into it'],
    ])('is refused, and nothing is made or shown from it: %s', async (_, owner, mode, why) => {
      const folder = openList(LIST);
      const precious = folder.write('precious', 'mine');
      for (const name of ['.', 'store', 'lists', 'spool', 'rehearsal']) {
        mkdirSync(join(folder.at('there'), name), { recursive: true, mode: 0o700 });
        chownSync(join(folder.at('there'), name), owner, owner);
      }
      writeFileSync(folder.at('there/app.json'), '{"url":"http://evil.example","token":"t"}');
      for (const name of ['lock.mdb', 'data.mdb', 'closed']) {
        symlinkSync(precious, folder.at(`there/${name}`));
      }
      chmodSync(folder.at('there'), mode);
      const names = readdirSync(folder.at('there'));
      for (const args of [
        [...ENRICH, '--store', 'there'],
        ['store', 'import', 'list.csv', '--store', 'there'],
        ['app', '--no-open', '--listen', '0', '--dir', 'there'],
      ]) {
        const ended = await runHere(args, { cwd: folder.path });
        expect(ended.stderr).not.toContain('evil.example');
        if (args[1] === 'import') expect(ended.code).toBe(2);
        else expectRefusal(ended, new RegExp(why.replaceAll(/[()]/g, '.')));
      }
      expect(readFileSync(precious, 'utf8')).toBe('mine');
      expect(readdirSync(folder.at('there'))).toEqual(names);
    });

    it('may be one like /tmp', async () => {
      const folder = openList(LIST);
      mkdirSync(folder.at('tmp'));
      chmodSync(folder.at('tmp'), 0o1777);
      const { url } = await openApi();
      expect((await enrichHere(folder, url, '--store', 'tmp')).code).toBe(0);
    });
  },
);

it('what a killed run has written of its output goes with the next run, whatever that writes; nothing else does', async () => {
  const folder = openFolder();
  const names = domains(3);
  folder.write('long.csv', listOf(Array(27_000).fill(names).flat()));
  folder.write('list.csv', listOf(names));
  const mine = folder.write(`out.csv.${UUID}.part`, 'mine');
  const { url } = await openApi();
  const args = ['--base-url', url];
  const killed = await start(['enrich', 'long.csv', '--out', 'out.csv', ...args], {
    cwd: folder.path,
  });
  const parts = (): readonly string[] => folder.names().filter((name) => name.endsWith('.part'));
  const sizes = (): number => Math.max(...parts().map((name) => lstatSync(folder.at(name)).size));
  await expect.poll(sizes, { interval: 1 }).toBeGreaterThan(20_000);
  await killed.stop('SIGKILL');
  expect(parts().length).toBeGreaterThan(1);
  const ended = await runHere(['enrich', 'list.csv', ...args], { cwd: folder.path });
  expect(ended.code).toBe(0);
  expect(parts()).toEqual([`out.csv.${UUID}.part`]);
  expect(readFileSync(mine, 'utf8')).toBe('mine');
});

describe('what has no end, or waits for another', () => {
  it.each([
    ['a list', ['enrich', 'PIPE', '--base-url', 'http://127.0.0.1:9']],
    ['a job file', ['run', 'PIPE']],
    ['a profile', ['enrich', 'list.csv', '--api', './PIPE.yaml']],
    ['a key', [...ENRICH, '--api-key-file', 'PIPE']],
    ['a store to import', ['store', 'import', 'PIPE']],
    ['a module of answers', ['sandbox', '--port', '0', '--respond', 'PIPE']],
  ])('is refused as %s', async (_, args) => {
    const folder = openList(LIST);
    for (const name of ['pipe', 'pipe.yaml']) execFileSync('mkfifo', [folder.at(name)]);
    const withPipe = args.map((arg) => arg.replace('PIPE', 'pipe'));
    expectRefusal(await runHere(withPipe, { cwd: folder.path }), /it is a pipe, not a file/);
    symlinkSync('/dev/zero', folder.at('zero'));
    symlinkSync('/dev/zero', folder.at('zero.yaml'));
    const withDevice = args.map((arg) => arg.replace('PIPE', 'zero'));
    expectRefusal(await runHere(withDevice, { cwd: folder.path }), /it is a device, not a file/);
  });

  it('is refused as an output that nobody reads', async () => {
    const folder = openList(LIST);
    execFileSync('mkfifo', [folder.at('pipe.csv')]);
    const ended = await runHere([...ENRICH, '--out', 'pipe.csv'], { cwd: folder.path });
    expectRefusal(ended, /Cannot write pipe.csv: nobody reads this pipe; start its reader first/);
  });
});
