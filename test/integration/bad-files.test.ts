import { execFileSync, spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { userInfo } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openApi } from './support/api.ts';
import { builtCommand } from './support/build.ts';
import { type Ended, run } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { domains, listOf } from './support/tables.ts';

let api: Sandbox;
beforeAll(async () => {
  api = await startSandbox();
});
afterAll(() => api.close());

const utf16 = (text: string, isBig = false): Buffer => {
  const bytes = Buffer.from(text, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};
const GZIP = gzipSync(listOf(domains(2_000)));

describe('an input that cannot be used', () => {
  it.each<[string, string, string | Buffer, RegExp]>([
    ['an empty file', 'list.csv', '', /list\.csv.*empty/],
    ['line ends alone', 'list.csv', '\n\r\n\n', /list\.csv.*empty/],
    ['an empty JSONL file', 'list.jsonl', '\n', /list\.jsonl.*empty/],
    ['no header', 'list.csv', 'acme.com,1\nbolt.com,2\n', /list\.csv.*no header/],
    ['no column with domains', 'list.csv', 'a,b\n1,2\n', /list\.csv.*--domain-column.*a, b/],
    [
      'a header name over several lines',
      'list.csv',
      '"one\ntwo\u001b[31m",b\n1,2\n',
      /list\.csv.*--domain-column/,
    ],
    [
      'a quote that is never closed',
      'list.csv',
      'domain,note\nacme.com,ok\nbolt.com,"oh\ncore.com,x\n',
      /line 3 of list\.csv.*never closed/,
    ],
    [
      'a quote within a cell',
      'list.csv',
      'domain,note\nacme.com,ok\nbolt.com,5" pipe\n',
      /line 3 of list\.csv.*quote/,
    ],
    [
      'text behind a closing quote',
      'list.csv',
      'domain,note\r\n"acme.com",ok\r\nbolt.com,"a"b\r\n',
      /line 3 of list\.csv.*quote/,
    ],
    [
      'a line that is no JSON',
      'list.jsonl',
      '{"domain":"acme.com"}\n\n{"domain":\n',
      /line 3 of list\.jsonl.*JSON/,
    ],
    [
      'a line that is a JSON array',
      'list.jsonl',
      '{"domain":"acme.com"}\n["bolt.com"]\n',
      /line 2 of list\.jsonl.*array/,
    ],
    ['a whole JSON array', 'list.json', '[{"domain":"acme.com"}]', /list\.json.*JSON array/],
    ['UTF-16 with a mark', 'list.csv', utf16('\uFEFFdomain\nacme.com\n'), /list\.csv.*UTF-16/],
    [
      'UTF-16, the other way round',
      'list.csv',
      utf16('\uFEFFdomain\nacme.com\n', true),
      /list\.csv.*UTF-16 \(big/,
    ],
    ['UTF-16 without a mark', 'list.csv', utf16('domain\nacme.com\n'), /list\.csv.*UTF-16/],
    [
      'Latin-1',
      'list.csv',
      Buffer.from('domain,name\nacme.com,ok\nbolt.com,Bölt\n', 'latin1'),
      /line 3 of list\.csv.*(Windows-1252|Latin-1)/,
    ],
    [
      'Latin-1, deep in a long file',
      'list.csv',
      Buffer.from(`${listOf(domains(60_000))}bölt.com\n`, 'latin1'),
      /line 60002 of list\.csv/,
    ],
    ['a gzip cut short', 'list.csv.gz', GZIP.subarray(0, GZIP.length - 9), /list\.csv\.gz.*gzip/],
    ['a gzip with a wrong byte', 'list.csv.gz', flipped(GZIP), /list\.csv\.gz/],
    ['an Excel workbook', 'list.xlsx', 'PK\u0003\u0004rest', /list\.xlsx.*Excel/],
    ['bzip2', 'list.csv.bz2', 'BZh91AY', /list\.csv\.bz2.*bzip2/],
  ])('ends with 2 and one sentence: %s', async (_, name, content, expected) => {
    const folder = openFolder();
    folder.write(name, content);
    folder.write('out.csv', 'earlier');
    const out = name.includes('jsonl') ? [] : ['--out', 'out.csv'];
    const ended = await run(['enrich', name, '--base-url', api.url, ...out], { cwd: folder.path });
    expectRefusal(ended, expected);
    expectUntouched(folder, [name, 'out.csv']);
  });

  it('is one that is not there, or a folder', async () => {
    const folder = openFolder();
    mkdirSync(folder.at('folder.csv'));
    const enrich = (name: string) =>
      run(['enrich', name, '--base-url', api.url], { cwd: folder.path });
    expectRefusal(await enrich('none.csv'), /none\.csv.*no such file/);
    expectRefusal(await enrich('folder.csv'), /folder\.csv.*folder/);
    expectRefusal(await enrich('folder.csv/x.csv'), /folder/);
  });

  it('is one without the column that was named', async () => {
    const folder = openFolder();
    folder.write('list.csv', 'name,domain\nA,acme.com\n');
    const enrich = (column: string) =>
      run(['enrich', 'list.csv', '--base-url', api.url, '--domain-column', column], {
        cwd: folder.path,
      });
    expectRefusal(await enrich('website'), /'website'.*list\.csv.*name, domain/);
    folder.write('list.csv', Buffer.from('Größe,domain\n1,acme.com\n', 'latin1'));
    expectRefusal(await enrich('Größe'), /line 1 of list\.csv.*UTF-8/);
  });

  it('is one that may not be read', async (test) => {
    if (userInfo().uid === 0) return test.skip('root may read everything');
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(2)));
    execFileSync('chmod', ['000', folder.at('list.csv')]);
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url], { cwd: folder.path });
    expectRefusal(ended, /list\.csv.*permission denied/);
  });
});

describe('an output that cannot be used', () => {
  const LIST = listOf(domains(3));

  it.each([
    ['the input itself', 'list.csv'],
    ['the input by another way', './folder/../list.csv'],
    ['a symbolic link to the input', 'symbolic.csv'],
    ['a hard link to the input', 'hard.csv'],
  ])('is %s', async (_, out) => {
    const folder = openFolder();
    folder.write('list.csv', LIST);
    mkdirSync(folder.at('folder'));
    symlinkSync('list.csv', folder.at('symbolic.csv'));
    linkSync(folder.at('list.csv'), folder.at('hard.csv'));
    for (const flag of ['--out', '--failures']) {
      const ended = await run(['enrich', 'list.csv', '--base-url', api.url, flag, out], {
        cwd: folder.path,
      });
      expectRefusal(ended, /it is the input itself/);
    }
    expect(folder.read('list.csv')).toBe(LIST);
  });

  it('is the input, when that comes from standard input', async () => {
    const folder = openFolder();
    folder.write('list.csv', LIST);
    const ended = await runShell(folder, '"$@" enrich - --out list.csv --retries 0 < list.csv');
    expectRefusal(ended, /it is the input itself/);
    expect(folder.read('list.csv')).toBe(LIST);
  });

  it('is both of them at once, also through a link', async () => {
    const folder = openFolder();
    folder.write('list.csv', LIST);
    symlinkSync('list.enriched.csv', folder.at('link.csv'));
    folder.write('list.enriched.csv', 'earlier');
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', api.url, '--failures', 'link.csv'],
      {
        cwd: folder.path,
      },
    );
    expectRefusal(ended, /both outputs/);
    expect(folder.read('list.enriched.csv')).toBe('earlier');
  });

  it('is in a folder that is not there or takes no files, or is a folder', async () => {
    const folder = openFolder();
    folder.write('list.csv', LIST);
    mkdirSync(folder.at('folder.csv'));
    const enrich = (...flags: readonly string[]) =>
      run(['enrich', 'list.csv', '--base-url', api.url, ...flags], { cwd: folder.path });
    const calls = api.stats().calls;
    expectRefusal(await enrich('--out', 'none/out.csv'), /none\/out\.csv.*no such/);
    expectRefusal(await enrich('--failures', 'none/f.csv'), /none\/f\.csv.*no such/);
    expectRefusal(await enrich('--out', 'folder.csv'), /folder\.csv.*folder/);
    expectRefusal(await enrich('--out', '/proc/out.csv'), /\/proc\/out\.csv/);
    expect(folder.names()).toEqual(['folder.csv', 'list.csv']);
    expect(api.stats().calls).toBe(calls);
  });

  it('is in a folder without permission', async (test) => {
    if (userInfo().uid === 0) return test.skip('root may write everywhere');
    const folder = openFolder();
    folder.write('list.csv', LIST);
    mkdirSync(folder.at('closed'), { mode: 0o500 });
    const ended = await run(
      ['enrich', 'list.csv', '--base-url', api.url, '--out', 'closed/o.csv'],
      {
        cwd: folder.path,
      },
    );
    expectRefusal(ended, /closed\/o\.csv.*permission denied/);
  });

  it.each([
    ['--out', 3],
    ['--out', 3_000],
    ['--failures', 3],
  ])('is on a full device: %s, %d rows', async (flag, count) => {
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(count)));
    folder.write('list.enriched.csv', 'earlier');
    folder.write('list.failures.csv', 'earlier');
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url, flag, '/dev/full'], {
      cwd: folder.path,
    });
    expectRefusal(ended, /\/dev\/full: the disk is full/);
    expectUntouched(folder, ['list.csv', 'list.enriched.csv', 'list.failures.csv']);
  });

  it.each(['csv', 'csv.gz'])('is on a full disk (%s)', async (extension) => {
    const disk = openSmallDisk(64 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(2_000)));
    const flags = ['--out', disk.at(`o.${extension}`), '--failures', disk.at(`f.${extension}`)];
    disk.write(`o.${extension}`, 'earlier');
    disk.write(`f.${extension}`, 'earlier');
    disk.write('filling', Buffer.alloc(48 * 1024));
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...flags];
    const ended = await run(args, { cwd: folder.path });
    expectRefusal(ended, /the disk is full/);
    expect(disk.names()).toEqual([`f.${extension}`, 'filling', `o.${extension}`]);
    expect([disk.read(`o.${extension}`), disk.read(`f.${extension}`)]).toEqual([
      'earlier',
      'earlier',
    ]);
  });

  it('is found on a full disk when the last bytes are written, with both files still as they were', async () => {
    const disk = openSmallDisk(64 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(100)));
    folder.write('f.csv', 'earlier');
    disk.write('o.csv.gz', 'earlier');
    disk.write('filling', Buffer.alloc(60 * 1024));
    const flags = ['--out', disk.at('o.csv.gz'), '--failures', 'f.csv'];
    const ended = await run(['enrich', 'list.csv', '--base-url', api.url, ...flags], {
      cwd: folder.path,
    });
    expectRefusal(ended, /the disk is full/);
    expect(folder.read('f.csv')).toBe('earlier');
    expect(disk.read('o.csv.gz')).toBe('earlier');
  });
});

describe('a store that cannot be used', () => {
  const enrich = (folder: Folder, ...flags: readonly string[]) =>
    run(['enrich', 'list.csv', '--base-url', api.url, '--store', 'kept', ...flags], {
      cwd: folder.path,
    });

  it('is a file', async () => {
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(3)));
    folder.write('kept', 'mine');
    const ended = await enrich(folder);
    expectRefusal(ended, /store kept.*--store/);
    expect(ended.stderr).not.toMatch(/EEXIST|mkdir/);
    expectUntouched(folder, ['kept', 'list.csv']);
  });

  it.each<[string, (path: string) => void]>([
    [
      'damaged',
      (path) =>
        execFileSync('dd', ['if=/dev/urandom', `of=${path}`, 'bs=32k', 'count=1'], {
          stdio: 'ignore',
        }),
    ],
    ['cut short', (path) => truncateSync(path, 5_000)],
  ])('is %s', async (_, damage) => {
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(300)));
    expect((await enrich(folder)).code).toBe(0);
    damage(folder.at('kept/data.mdb'));
    folder.write('list.enriched.csv', 'earlier');
    const ended = await enrich(folder);
    expectRefusal(ended, /store kept.*--store/);
    expect(folder.read('list.enriched.csv')).toBe('earlier');
  });

  it('is on a full disk', async () => {
    const disk = openSmallDisk(64 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(3)));
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--store', disk.at('store')];
    expectRefusal(await run(args, { cwd: folder.path }), /store: the disk is full/);
    expectUntouched(folder, ['list.csv']);
  });

  it('is on a disk that fills up: what was stored by then is kept', async () => {
    const disk = openSmallDisk(6 * 1024 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openFolder();
    folder.write('list.csv', listOf(domains(1_000)));
    const large = await openApi({ respond: () => ({ body: { text: 'x'.repeat(20_000) } }) });
    const args = ['enrich', 'list.csv', '--base-url', large.url, '--store', disk.at('store')];
    const ended = await run([...args, '--concurrency', '8'], { cwd: folder.path });
    expectRefusal(ended, /the disk is full.*run the same command again/);
    expectUntouched(folder, ['list.csv']);
    const calls = large.stats().calls;
    expect(calls).toBeGreaterThan(50);
    expect(calls).toBeLessThan(1_000);
  });
});

/** Exit 2, one sentence, no stack trace; what was understood of the input may stand before it. */
function expectRefusal({ code, signal, stdout, stderr }: Ended, expected: RegExp): void {
  const lines = stderr
    // LMDB itself, in C, tells of a full disk too; nobody can keep it from that.
    .replaceAll(/Write error: .*?, size \d+\n?/g, '')
    .replaceAll(/^mdb_.*\n/gm, '')
    .split('\n')
    .filter((line) => !/^$| is (CSV|JSONL).*; domains are in|^Plan: | lookups, /.test(line));
  expect({ code, signal, stdout, lines }).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    lines: [expect.stringMatching(expected)],
  });
  expect(lines[0]).toMatch(/^brandfill: Cannot /);
}

/** The files are there as before, and no others. */
function expectUntouched(folder: Folder, names: readonly string[]): void {
  expect(folder.names()).toEqual([...names].sort());
  for (const name of names.filter((name) => /^(out|list\.(enriched|failures))\.csv$/.test(name))) {
    expect(folder.read(name)).toBe('earlier');
  }
}

/** Runs a line of shell in which `"$@"` is the command, for what only a shell sets up. */
async function runShell(folder: Folder, line: string): Promise<Ended> {
  const shell = spawnSync('sh', ['-c', line, 'sh', process.execPath, await builtCommand()], {
    cwd: folder.path,
    env: { ...process.env, BRANDFILL_BASE_URL: 'http://127.0.0.1:9' },
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { code: shell.status, signal: shell.signal, stdout: shell.stdout, stderr: shell.stderr };
}

/** Mounts a small disk in memory; undefined where this process may not. */
function openSmallDisk(sizeBytes: number): Folder | undefined {
  const folder = openFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', folder.path], {
      stdio: 'ignore',
    });
  } catch {
    return undefined;
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder.path]);
  });
  return folder;
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] ?? 0) ^ 0xff;
  return copy;
}
