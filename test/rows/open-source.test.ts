import { createHook } from 'node:async_hooks';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WINDOWS_1252 } from '../../src/rows/encoding/encodings.ts';
import { openList, openSource } from '../../src/rows/list-input.ts';
import type { Source } from '../../src/rows/source.ts';
import { openSpool } from '../../src/rows/spool.ts';
import { openFilesIn } from '../support/descriptors.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const signal = new AbortController().signal;

async function open(content: Buffer | string, name = 'list.csv'): Promise<Source> {
  const folder = useTempFolder();
  writeFileSync(join(folder, name), content);
  const source = await openSource(join(folder, name), { spoolFolder: folder, signal });
  onTestFinished(() => source.close());
  return source;
}

async function textOf(source: Source): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of source.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('openSource', () => {
  it('reads a file as often as asked, without its byte order mark', async () => {
    const source = await open('\uFEFFa\nb\n');
    expect(source.hasByteOrderMark).toBe(true);
    expect(source.sample.toString()).toBe('a\nb\n');
    expect([await textOf(source), await textOf(source)]).toEqual(['a\nb\n', 'a\nb\n']);
  });

  it('leaves out every mark at the beginning, and the sign that ends a DOS file', async () => {
    const text = 'a\nb\x1ac\n';
    for (const list of [
      `\uFEFF\uFEFF\uFEFF${text}\x1a`,
      Buffer.from(`\uFEFF\uFEFF${text}\x1a\x1a`, 'utf16le'),
      `${text}\x1a\r\n\x1a\n`,
      `${text}\x1a\x1a\0\0\0`,
    ]) {
      const source = await open(list);
      expect(source.sample.toString()).toBe(text);
      expect(await textOf(source)).toBe(text);
    }
  });

  it('skips the mark of UTF-8 on top of another encoding, if that is named', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'list.csv');
    writeFileSync(path, Buffer.from('\xef\xbb\xbfM\xfcller\n', 'latin1'));
    const source = await openSource(path, { spoolFolder: folder, signal, encoding: WINDOWS_1252 });
    onTestFinished(() => source.close());
    expect(await textOf(source)).toBe('Müller\n');
  });

  it.each([
    ['with a mark', '\uFEFF'],
    ['without a mark', ''],
  ])('names UTF-16 that was appended to UTF-8 %s', async (_, mark) => {
    const bytes = [
      Buffer.from('domain\nacme.com\n'),
      Buffer.from(`${mark}bolt.com\r\n`, 'utf16le'),
    ];
    await expect(open(Buffer.concat(bytes)).then(textOf)).rejects.toThrow(
      /^Cannot read line 3 of .*list\.csv: it is in UTF-16, although the file begins in another/,
    );
  });

  it('reads gzip by its content, whatever the name, and all its members', async () => {
    const source = await open(Buffer.concat([gzipSync('\uFEFFa\n'), gzipSync('b\n')]));
    expect(source.isGzip).toBe(true);
    expect(await textOf(source)).toBe('a\nb\n');
  });

  it('shows the beginning of a long file, and all of a short one', async () => {
    const long = await open(`${'x'.repeat(600_000)}\n`);
    expect(long.isWholeInSample).toBe(false);
    expect(long.sample.length).toBeGreaterThan(256 * 1_024);
    expect((await textOf(long)).length).toBe(600_001);
    expect((await open('a')).isWholeInSample).toBe(true);
  });

  it('keeps what comes from standard input where it leaves no name behind', async () => {
    const folder = useTempFolder();
    const source = await openSource('-', {
      spoolFolder: folder,
      signal,
      stdin: Readable.from([Buffer.from('a\n'), Buffer.from('b\n')]),
    });
    onTestFinished(() => source.close());
    expect(source.name).toBe('standard input');
    expect([await textOf(source), await textOf(source)]).toEqual(['a\nb\n', 'a\nb\n']);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('waits no longer for rows when it is aborted', async () => {
    const stop = new AbortController();
    async function* rows(): AsyncGenerator<object> {
      yield { domain: 'acme.com' };
      setImmediate(() => stop.abort(new Error('enough')));
      await new Promise(() => {}); // of a server that no longer answers
    }
    const opening = openList(rows(), { spoolFolder: useTempFolder(), signal: stop.signal });
    await expect(opening).rejects.toThrow('enough');
  });

  it('ends the rows of a program when it is aborted, even while it waits for one', async () => {
    const cursor = {
      next: vi.fn(() => new Promise<IteratorResult<object>>(() => {})),
      return: vi.fn(async () => ({ done: true as const, value: undefined })),
    };
    const stream = new Readable({ objectMode: true, read: () => {} });
    const aborting = new AbortController();
    const options = { spoolFolder: useTempFolder(), signal: aborting.signal };
    const inputs = [{ [Symbol.asyncIterator]: () => cursor }, stream];
    const opened = Promise.allSettled(inputs.map((rows) => openList(rows, options)));
    await expect.poll(() => cursor.next.mock.calls.length).toBeGreaterThan(0);
    aborting.abort();
    expect((await opened).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(cursor.return).toHaveBeenCalledTimes(1);
    expect(stream.destroyed).toBe(true);
  });

  it('writes the rows of a program many at a time', async () => {
    let calls = 0;
    const hook = createHook({
      init: (_, type) => {
        if (type === 'FSREQPROMISE') calls += 1;
      },
    }).enable();
    onTestFinished(() => void hook.disable());
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, note: 'ü'.repeat(id % 50) }));
    const source = await openList(rows, { spoolFolder: useTempFolder(), signal });
    onTestFinished(() => source.close());
    expect(calls).toBeLessThan(100);
    const lines = (await textOf(source)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
  });

  it('closes what it has kept of standard input when that is no list', async () => {
    const folder = useTempFolder();
    const handle = await openFile(join(folder, 'any'), 'w');
    const stat = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'stat');
    onTestFinished(() => stat.mockRestore());
    await handle.close();
    const stdin = Readable.from([Buffer.from('domain\nacme.com\n')]);
    const opening = openSource('-', { spoolFolder: folder, signal, stdin, sheet: 'Leads' });
    await expect(opening).rejects.toThrow(/find the sheet 'Leads' in standard input/);
    expect(stat.mock.contexts).toMatchObject([{ fd: -1 }]);
  });

  it.each([
    ['gzipped', gzipSync('domain\nacme.com\n')],
    ['as it is', 'domain\nacme.com\n'],
  ])('says why a list can no longer be read, %s', async (_, content) => {
    const source = await open(content);
    await source.close();
    await expect(textOf(source)).rejects.toThrow(/Cannot read .*list\.csv: .*closed/);
  });

  it('notices that the file was changed meanwhile', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'list.csv');
    writeFileSync(path, 'a\n');
    const source = await openSource(path, { spoolFolder: folder, signal });
    onTestFinished(() => source.close());
    await expect(source.assertUnchanged()).resolves.toBeUndefined();
    appendFileSync(path, 'b\n');
    await expect(source.assertUnchanged()).rejects.toThrow(/changed while it was read/);
  });

  it('takes no list that is changed while it is brought into another encoding', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'list.csv');
    writeFileSync(path, Buffer.from('domain\nacme.com\n', 'utf16le'));
    let isChanged = false;
    const onRead = (): void => {
      if (!isChanged) appendFileSync(path, Buffer.from('bolt.com\n', 'utf16le'));
      isChanged = true;
    };
    await expect(openSource(path, { spoolFolder: folder, signal, onRead })).rejects.toThrow(
      /changed while it was read/,
    );
    expect(openFilesIn(folder)).toEqual([]);
  });

  it.each([
    ['PK\u0003\u0004', /damaged, or no workbook/],
    ['BZh9', /bzip2/],
    ['%PDF', /PDF/],
  ])('says what %j is', async (start, expected) => {
    await expect(open(`${start} and so on`)).rejects.toThrow(expected);
  });
});

it.each([
  ['of a run', false, 'choose another folder with --store.'],
  ['where there is no store', true, 'name another folder in TMPDIR.'],
])('says how to choose another folder %s', async (_, isTemporary, advice) => {
  const file = join(useTempFolder(), 'file');
  writeFileSync(file, '');
  if (isTemporary) {
    vi.stubEnv('TMPDIR', file);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(tmpdir()).toBe(file);
  }
  await expect(openSpool(file)).rejects.toThrow(
    `Cannot write to ${file}: there is a file of that name; ${advice}`,
  );
});
