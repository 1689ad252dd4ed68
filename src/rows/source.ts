import type { FileAccess, FileIdentity } from '../common/files.ts';
import { shorten } from './columns/names.ts';
import type { Workbook } from './xlsx/open-workbook.ts';

/** The bytes of a list, which can be read from the start as often as needed. */
export interface Source {
  /** The name of the list in messages: the path as given, or `standard input`. */
  readonly name: string;
  /** Whether the bytes were compressed; `read` gives them decompressed. */
  readonly isGzip: boolean;
  readonly hasByteOrderMark: boolean;
  /** The encoding of the list, for people: `UTF-8`, `Windows-1252`. `read` gives UTF-8 in any case. */
  readonly encoding: string;
  /**
   * Some words that show whether the encoding was guessed correctly; undefined when it was not
   * guessed.
   */
  readonly encodingExample: string | undefined;
  /** What the user should know about its bytes, in sentences; usually nothing. */
  readonly notices?: readonly string[];
  /**
   * The beginning, decompressed, in UTF-8 and without byte order mark, to detect what the list is.
   */
  readonly sample: Buffer;
  /** Whether `sample` is the whole list. */
  readonly isWholeInSample: boolean;
  /** The file, to compare outputs with and to keep them from those who may not read it; undefined for a pipe. */
  readonly file: (FileIdentity & FileAccess) | undefined;
  /**
   * A hash of all that came, for a list that can be read only once: its name does not tell it from
   * others. Undefined for a file.
   */
  readonly hash?: string | undefined;
  /** The other parts of a workbook, if the bytes are lines of its rows; undefined for a text. */
  readonly workbook?: Workbook | undefined;
  /**
   * Whether rows came as objects: none of them need have any member, and there may be no row.
   * @default false
   */
  readonly isOfObjects?: boolean | undefined;
  /** Reads everything, decompressed, in UTF-8 and without byte order mark, checked to be text. */
  read(): AsyncIterable<Buffer>;
  /**
   * Makes sure that nobody has written to the file since it was opened.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when somebody has
   */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

/** Describes a list of text: `CSV, Windows-1252 (such as 'Müller')`. UTF-8 is not mentioned. */
export function describeText(
  format: string,
  { encoding, encodingExample }: Pick<Source, 'encoding' | 'encodingExample'>,
): string {
  if (encoding === 'UTF-8') return format;
  const example = encodingExample === undefined ? '' : ` (such as '${shorten(encodingExample)}')`;
  return `${format}, ${encoding}${example}`;
}
