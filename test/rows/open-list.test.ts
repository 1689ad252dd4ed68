import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ListInput, openList } from '../../src/rows/open-list.ts';
import type { Source } from '../../src/rows/source.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openText, sourceOf } from './sources.ts';

const NAMES = Array.from({ length: 999 }, (_, at) => `${at * at} ${Math.sin(at)}`).join();
const signal = new AbortController().signal;

async function open(input: ListInput, more: object = {}): Promise<Source> {
  const options = { spoolFolder: useTempFolder(), signal, prefix: 'brand_', ...more };
  const { source, close } = await openList(input, options);
  onTestFinished(close);
  return source;
}

function fileOf(content: Buffer | string, name = 'list.csv'): string {
  const path = join(useTempFolder(), name);
  writeFileSync(path, content);
  return path;
}

async function textOf(source: Source): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of source.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('openList', () => {
  it('reads a file as often as asked, gzip by its content and all its members', async () => {
    const source = await open(fileOf(Buffer.concat([gzipSync('\uFEFFa\n'), gzipSync('b\n')])));
    expect(source).toMatchObject({ hasByteOrderMark: true, isWholeInSample: true });
    expect([await textOf(source), await textOf(source)]).toEqual(['a\nb\n', 'a\nb\n']);
  });

  it('shows the beginning of a long file, and pieces from all over it', async () => {
    const line = `${'x'.repeat(99)}\n`;
    const source = await open(fileOf(line.repeat(300_000)));
    expect(source.isWholeInSample).toBe(false);
    expect(source.sample.length).toBeLessThan(1_000_000);
    expect(source.windows?.length).toBeGreaterThan(10);
  });

  it('keeps what comes from a pipe where it leaves no name behind', async () => {
    const folder = useTempFolder();
    const stdin = Readable.from([Buffer.from('a\n'), Buffer.from('b\n')]);
    const source = await open('-', { spoolFolder: folder, stdin });
    expect(source.name).toBe('standard input');
    expect([await textOf(source), await textOf(source)]).toEqual(['a\nb\n', 'a\nb\n']);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps rows of a program as lines', async () => {
    const rows = Array.from({ length: 1_000 }, (_, id) => ({ id, note: 'ü'.repeat(id % 50) }));
    const lines = (await textOf(await open(rows))).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
  });

  it('ends the rows of a program when it is aborted, even while it waits for one', async () => {
    const cursor = {
      next: vi.fn(() => new Promise<IteratorResult<object>>(() => {})),
      return: vi.fn(async () => ({ done: true as const, value: undefined })),
    };
    const read = vi.fn();
    const stream = new Readable({ objectMode: true, read });
    const aborting = new AbortController();
    const options = { spoolFolder: useTempFolder(), signal: aborting.signal, prefix: '' };
    const inputs = [{ [Symbol.asyncIterator]: () => cursor }, stream];
    const opened = Promise.allSettled(inputs.map((rows) => openList(rows, options)));
    const begun = [cursor.next, read];
    await expect.poll(() => begun.every(({ mock }) => mock.calls.length > 0)).toBe(true);
    aborting.abort();
    expect((await opened).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(cursor.return).toHaveBeenCalledTimes(1);
    expect(stream.destroyed).toBe(true);
  });

  it('notices that the file was changed meanwhile', async () => {
    const path = fileOf('a\n');
    const source = await open(path);
    await expect(source.assertUnchanged()).resolves.toBeUndefined();
    appendFileSync(path, 'b\n');
    await expect(source.assertUnchanged()).rejects.toThrow(/changed while it was read/);
  });

  it.each<[string, string | Buffer, RegExp, object?]>([
    ['list.xlsx', 'PK\u0003\u0004rest', /damaged|no workbook/],
    [
      'list.br',
      brotliCompressSync('a\n'.repeat(9_999) + NAMES),
      /no text; .*with gzip or not at all/,
    ],
    ['list.pdf', Buffer.from('%PDF-1.7\n1 0 obj\n'), /a PDF; copy its table/],
    ['list.png', Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001', 'hex'), /no text/],
    ['list.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /an old Excel workbook/],
    ['list.gz', gzipSync('a\n'.repeat(9_999)).subarray(0, 40), /corrupt or cut short/],
    ['list.json', '[{"a":1}]', /it is a JSON array/],
    ['list.csv', '<!DOCTYPE html>', /a web page \(HTML/],
    [
      'list.jsonl',
      '{"a":1}\n',
      /option 'noHeader' for .*, which is JSONL: leave/,
      { noHeader: true },
    ],
  ])('says what is no list: %s', async (name, content, expected, options) => {
    await expect(open(fileOf(content, name), options)).rejects.toThrow(expected);
  });

  it.each<[string, string]>([
    ['list.csv', 'CSV'],
    ['list.tsv.gz', 'CSV'],
    ['list.ndjson', 'JSONL'],
    ['objects.csv', 'JSONL'],
    ['list.txt', 'JSONL'],
  ])('opens %s by its name or its beginning', (name, kind) => {
    const content = kind === 'CSV' ? 'a,b\n' : '{"a":1}\n';
    expect(openText(sourceOf(content, { name })).description).toBe(kind);
  });
});
