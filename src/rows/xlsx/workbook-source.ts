import type { FileHandle } from 'node:fs/promises';
import { BrandfillError } from '../../common/errors.ts';
import { type Encoding, UTF_8 } from '../encoding/encodings.ts';
import type { Source } from '../source.ts';
import { assertSame, READ_BYTES } from '../source-bytes.ts';
import { readFromStart, type SpoolOptions } from '../spool.ts';

export interface WorkbookSourceOptions extends SpoolOptions {
  /** Identity of the file; undefined for a pipe. */
  readonly file?: Source['file'];
  /** The encoding that was asked for. A workbook has no choice of encodings. */
  readonly encoding?: Encoding | undefined;
  /** The sheet that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
}

/**
 * Opens the rows of a workbook, as lines of a file that nobody else can write to.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`, or `INVALID_SETTING` when an encoding was given
 */
export async function openWorkbookSource(
  name: string,
  handle: FileHandle,
  { file, encoding, sheet, ...options }: WorkbookSourceOptions,
): Promise<Source> {
  if (encoding) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read ${name} as ${encoding.label}: workbooks say what they are in.`,
    );
  }
  const opened = await handle.stat();
  const { openWorkbook } = await import('./open-workbook.ts');
  const { workbook, rows } = await openWorkbook(handle, { name, sheet, ...options });
  return {
    name,
    isGzip: false,
    hasByteOrderMark: false,
    encoding: UTF_8.label,
    encodingExample: undefined,
    sample: Buffer.alloc(0),
    isWholeInSample: false,
    file: file && { dev: file.dev, ino: file.ino, mode: file.mode, gid: file.gid },
    workbook,
    read: () => readFromStart(rows, READ_BYTES),
    assertUnchanged: () => assertSame(name, handle, opened),
    close: async () => {
      await rows.close();
      await workbook.aside.close();
      await handle.close();
    },
  };
}
