import { describe, expect, it } from 'vitest';
import { findPictureKind } from '../../src/logos/fetch-picture.ts';
import { GIF, PNG } from './svgs.ts';

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
