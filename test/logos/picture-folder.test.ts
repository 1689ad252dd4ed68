import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryPath } from '../../src/common/files.ts';
import { describeSelf } from '../../src/common/owner.ts';
import { findPictureKind } from '../../src/logos/fetch-picture.ts';
import { openPictureFolder, pictureFileOf } from '../../src/logos/save-logos.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { GIF, PLAIN_SVG, PNG } from './svgs.ts';

describe('pictureFileOf', () => {
  it('is the domain, fit for every file system', () => {
    expect(pictureFileOf('acme.com', 'png')).toBe('acme.com.png');
    expect(pictureFileOf('xn--mller-kva.de', 'svg')).toBe('xn--mller-kva.de.svg');
    expect(pictureFileOf('con.com', 'jpg')).toBe('_con.com.jpg');
    expect(pictureFileOf('com1.net', 'jpg')).toBe('_com1.net.jpg');
    expect(pictureFileOf('cons.com', 'jpg')).toBe('cons.com.jpg');
    const long = (end: string): string => `${`${'a'.repeat(60)}.`.repeat(4)}${end}`;
    const names = [pictureFileOf(long('com'), 'webp'), pictureFileOf(long('net'), 'webp')];
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name.length).toBeLessThan(240);
  });
});

describe('a folder of pictures', () => {
  it('has one for each domain, the latest', async () => {
    const path = join(useTempFolder(), 'a', 'b');
    const folder = await openPictureFolder(path);
    expect(await folder.save('a.com', { kind: 'png', bytes: PNG })).toBe('a.com.png');
    expect(await folder.has('a.com.png', PNG.length)).toBe(true);
    expect(await folder.has('a.com.png', PNG.length + 1)).toBe(false);
    expect(await folder.has('b.com.png', PNG.length)).toBe(false);
    writeFileSync(join(path, 'a.com.txt'), 'mine');
    const bytes = Buffer.from(PLAIN_SVG);
    expect(await folder.save('a.com', { kind: 'svg', bytes })).toBe('a.com.svg');
    expect(readdirSync(path).sort()).toEqual(['a.com.svg', 'a.com.txt']);
    expect(readFileSync(join(path, 'a.com.svg'), 'utf8')).toBe(PLAIN_SVG);
  });

  it('may be that of two runs of a process at the same time', async () => {
    const path = useTempFolder();
    const folders = [await openPictureFolder(path), await openPictureFolder(path)];
    const domainOf = (run: number): string => `${run}.com`;
    await Promise.all(
      folders.map((folder, run) =>
        folder.save(domainOf(run), { kind: 'png', bytes: Buffer.from(domainOf(run)) }),
      ),
    );
    expect(readdirSync(path).sort()).toEqual(['0.com.png', '1.com.png']);
    for (const [run] of folders.entries()) {
      expect(readFileSync(join(path, `${domainOf(run)}.png`), 'utf8')).toBe(domainOf(run));
    }
  });

  it('replaces a link instead of writing where it leads', async () => {
    const path = useTempFolder();
    const elsewhere = join(useTempFolder(), 'mine');
    writeFileSync(elsewhere, 'mine');
    symlinkSync(elsewhere, join(path, 'a.com.png'));
    const folder = await openPictureFolder(path);
    await folder.save('a.com', { kind: 'png', bytes: PNG });
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
    expect(readFileSync(join(path, 'a.com.png'))).toEqual(PNG);
  });

  it('loses what killed runs left, and nothing of those that go on', async () => {
    const path = useTempFolder();
    const stem = join(path, '.brandfill-');
    const self = describeSelf();
    const gone = { ...self, pid: spawnSync('true').pid };
    const left = [gone, self, { ...gone, place: 'elsewhere' }].map((owner) =>
      temporaryPath(stem, owner),
    );
    for (const file of left) writeFileSync(file, '');
    await openPictureFolder(path);
    expect(readdirSync(path).sort()).toEqual(
      left
        .slice(1)
        .map((file) => basename(file))
        .sort(),
    );
  });

  it('says why it cannot be written', async () => {
    const path = useTempFolder();
    writeFileSync(join(path, 'file'), '');
    const refusal = (message: string) => ({ code: 'UNWRITABLE_OUTPUT', message });
    await expect(openPictureFolder(join(path, 'file'))).rejects.toMatchObject(
      refusal(`Cannot write logos to ${path}/file: it is a file, not a folder.`),
    );
    await expect(openPictureFolder(join(path, 'file', 'a'))).rejects.toMatchObject(
      refusal(`Cannot write logos to ${path}/file/a: a part of the path is not a folder.`),
    );
    const folder = await openPictureFolder(path);
    mkdirSync(join(path, 'a.com.png'));
    await expect(folder.save('a.com', { kind: 'png', bytes: PNG })).rejects.toMatchObject({
      code: 'UNWRITABLE_OUTPUT',
    });
    expect(readdirSync(path).sort()).toEqual(['a.com.png', 'file']);
  });
});

/** Bytes that begin like this, and are as many as any picture has. */
function bytes(start: string): Buffer {
  return Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(64)]);
}

describe('findPictureKind', () => {
  it.each([
    ['png', PNG],
    ['gif', GIF],
    ['gif', bytes('GIF87a')],
    ['jpg', bytes('\xff\xd8\xff\xe0\0\x10JFIF\0')],
    ['jpg', bytes('\xff\xd8\xff\xe1..Exif\0\0')],
    ['webp', bytes('RIFF\x24\0\0\0WEBPVP8L')],
    ['avif', bytes('\0\0\0\x1cftypavif\0\0\0\0avifmif1')],
    ['avif', bytes('\0\0\0\x20ftypmif1\0\0\0\0mif1miafavif')],
    ['bmp', bytes('BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0')],
    ['ico', bytes('\0\0\x01\0\x01\0\x10\x10\0\0')],
  ])('knows %s by its content', (kind, content) => {
    expect(findPictureKind(content)).toBe(kind);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(100)],
    ['the beginning of a PNG', PNG.subarray(0, 12)],
    ['text', bytes('not found')],
    ['text that begins like BMP', Buffer.from('BMW makes cars, and motorcycles as well.')],
    ['a page', bytes('<!doctype html>')],
    ['PDF', bytes('%PDF-1.7')],
    ['a sound', bytes('RIFF\x24\0\0\0WAVEfmt ')],
    ['a film', bytes('\0\0\0\x18ftypmp42\0\0\0\0mp42isom')],
    ['HEIC', bytes('\0\0\0\x18ftypheic\0\0\0\0mif1heic')],
    ['a cursor', bytes('\0\0\x02\0\x01\0\x10\x10\0\0')],
    ['TIFF', bytes('II*\0')],
    ['gzip', bytes('\x1f\x8b\x08\0')],
    ['a program', bytes('MZ\x90\0')],
  ])('takes %s for no picture', (_, content) => {
    expect(findPictureKind(content)).toBeUndefined();
  });
});
