import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  createReadStream,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable, type WritableOptions } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createOutputStream, openOutputFile } from '../../../src/collector/output/output-file.ts';
import { openFilesIn } from '../../support/descriptors.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

describe('openOutputFile', () => {
  it('leaves nothing behind when it is discarded, at any stage', async () => {
    const folder = useTempFolder();
    for (const name of ['out.csv', 'out.csv.gz']) {
      for (const isFinished of [false, true]) {
        const file = await openOutputFile(join(folder, name));
        expect(readdirSync(folder)).toEqual([]); // a kill before the first rows leaves nothing
        await file.write('a\n');
        if (isFinished) await file.finish();
        await file.discard();
        await file.discard();
      }
    }
    expect(readdirSync(folder)).toEqual([]);
    expect(openFilesIn(folder)).toEqual([]);
  });

  it('is on the disk, and closed, before it is in its place', async () => {
    const folder = useTempFolder();
    const file = await openOutputFile(join(folder, 'out.csv'));
    const handle = await open(folder);
    const sync = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync');
    onTestFinished(() => sync.mockRestore());
    await handle.close();
    await file.write('a\n');
    await file.finish();
    expect(sync).toHaveBeenCalledOnce();
    expect(openFilesIn(folder)).toEqual([]);
    await file.commit();
  });

  it('closes a pipe, whether or not all was written', async ({ skip }) => {
    const folder = useTempFolder();
    const path = join(folder, 'pipe');
    if (spawnSync('mkfifo', [path]).status !== 0) skip('this system has no named pipes');
    for (const isFinished of [false, true]) {
      const reader = createReadStream(path);
      const read = once(reader.resume(), 'close');
      const file = await openOutputFile(path);
      await file.write('a\n');
      if (isFinished) await file.finish();
      else await file.discard();
      await read; // it ends once nobody has the other end open
    }
    await expect.poll(() => openFilesIn(folder)).toEqual([]);
  });

  it('leaves nothing behind when it may not have the permissions of the file before', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'out.csv');
    const handle = await open(path, 'w', 0o600);
    await handle.close();
    const refusal = Object.assign(new Error(), { code: 'EPERM' });
    const chmod = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'chmod');
    onTestFinished(() => chmod.mockRestore());
    chmod.mockRejectedValue(refusal);
    await expect(openOutputFile(path)).rejects.toThrow(`Cannot write ${path}: permission denied.`);
    expect(readdirSync(folder)).toEqual(['out.csv']);
  });

  it('makes the file that links lead to, where there is none yet', async () => {
    const folder = useTempFolder();
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'folder'));
    symlinkSync('folder/second.csv', join(folder, 'first.csv'));
    symlinkSync('out.csv', join(folder, 'real', 'second.csv'));
    const file = await openOutputFile(join(folder, 'first.csv'));
    await file.write('x');
    await file.finish();
    await file.commit();
    expect(readFileSync(join(folder, 'real', 'out.csv'), 'utf8')).toBe('x');
    expect(lstatSync(join(folder, 'first.csv')).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(folder, 'real'))).toEqual(['out.csv', 'second.csv']);
    symlinkSync('none/out.csv', join(folder, 'lost.csv'));
    await expect(openOutputFile(join(folder, 'lost.csv'))).rejects.toThrow(/no such file/);
  });
});

describe('createOutputStream', () => {
  it('reports what the stream refused, at the latest when it is finished', async () => {
    const stream = new Writable({
      write: (_, __, done) => done(Object.assign(new Error('closed'), { code: 'EPIPE' })),
    });
    const output = createOutputStream('standard output', stream);
    const writing = async (): Promise<void> => {
      await output.write('a\n');
      await output.finish();
    };
    await expect(writing()).rejects.toThrow(/standard output: whoever read it has closed it/);
  });

  it.each(['write', 'finish'] as const)(
    'says why the stream is destroyed before it does, in %s',
    async (method) => {
      const stream = new Writable({ destroy: () => {} }); // it is still closing
      const output = createOutputStream('list.csv', stream);
      stream.destroy(Object.assign(new Error('full'), { code: 'ENOSPC' }));
      await expect(output[method]('a\n')).rejects.toThrow(/list.csv: the disk is full/);
    },
  );

  it.each([
    ['the cursor', '\u001b[2J', String.raw`\u001b[2J`],
    ['the clipboard', '\u001b]52;c;eA==\u0007', String.raw`\u001b]52;c;eA==\u0007`],
    ['all that in one byte', '\u009b2J', String.raw`\u009b2J`],
    ['where a line begins', 'a\rb\bc', String.raw`a\u000db\u0008c`],
    ['the direction', '\u202eab', String.raw`\u202eab`],
  ])('lets no text move %s of a terminal, and any other stream have it', async (_, text, shown) => {
    const rows = `Müller\t"${text}"\r\n`;
    const written = async (isTTY: boolean): Promise<string> => {
      const got: Buffer[] = [];
      const write: WritableOptions['write'] = (chunk: Buffer, _coding, done) => {
        got.push(chunk);
        done();
      };
      const stream = Object.assign(new Writable({ write }), { isTTY });
      const output = createOutputStream('standard output', stream);
      await output.write('name\tnote\n');
      for (const byte of Buffer.from(rows).subarray(0, -2)) await output.write(Buffer.of(byte));
      await output.write('\r\n');
      await output.finish();
      return Buffer.concat(got).toString();
    };
    expect(await written(false)).toBe(`name\tnote\n${rows}`);
    expect(await written(true)).toBe(`name\tnote\nMüller\t"${shown}"\r\n`);
  });

  it('leaves no listener behind for each run that writes to the same stream', async () => {
    const stream = new Writable({ write: (_, __, done) => done() });
    for (let run = 0; run < 3; run += 1) {
      const output = createOutputStream('standard output', stream);
      await output.write('a\n');
      await output.finish();
      await output.commit();
      await output.discard();
    }
    expect(stream.listenerCount('error')).toBe(1);
  });
});
