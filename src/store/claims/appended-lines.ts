import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** A file to which another process appends lines. */
export interface AppendedLines {
  /** Tells the file from a later one of the same name. */
  readonly inode: number;
  /** The lines that were added since the last call. The first call returns all lines. */
  read(): string[];
  close(): void;
}

/** @throws Error of the file system */
export function openAppendedLines(path: string): AppendedLines {
  const handle = openSync(path, 'r');
  let offset = 0;
  let rest = '';
  return {
    inode: fstatSync(handle).ino,
    read: () => {
      const bytes = Buffer.allocUnsafe(Math.max(0, fstatSync(handle).size - offset));
      const count = readSync(handle, bytes, 0, bytes.length, offset);
      offset += count;
      const lines = (rest + bytes.toString('utf8', 0, count)).split('\n');
      rest = lines.pop() ?? '';
      return lines;
    },
    close: () => closeSync(handle),
  };
}
