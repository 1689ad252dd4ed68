import { Readable } from 'node:stream';
import { BrandfillError } from '../common/errors.ts';
import { describeKind } from '../common/text.ts';
import { openSource, type SourceOptions, spoolObjects } from './open-source.ts';
import type { Source } from './source.ts';

/** A list: the path of a file, `-` for standard input, or rows as objects. */
export type ListInput = string | AsyncIterable<object> | Iterable<object>;

/**
 * Opens a list of any kind. Rows that come as objects are kept on the disk as JSONL while they are
 * needed, so they should hold only what JSON can.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`
 */
export async function openList(input: ListInput, options: SourceOptions): Promise<Source> {
  return typeof input === 'string'
    ? await openSource(input, options)
    : await spoolObjects('rows', toLines(input), options);
}

/**
 * Not a generator: one that waits for a row takes no notice of `return` until the row has come. An
 * aborted run would then leave the program's cursor or stream open.
 */
function toLines(rows: AsyncIterable<object> | Iterable<object>): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator =
        Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
      let number = 0;
      return {
        next: async () => {
          const { done = false, value } = await iterator.next();
          if (done) return { done, value: undefined };
          number += 1;
          return { done, value: `${toLine(await value, number)}\n` };
        },
        return: async () => {
          if (rows instanceof Readable) rows.destroy();
          else await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function toLine(row: unknown, number: number): string {
  if (typeof row === 'string' || ArrayBuffer.isView(row)) {
    throw unreadable(number, 'expected an object, received text or bytes; give a file by its path');
  }
  const line = typeof row === 'object' ? toJson(row, number) : undefined;
  if (line?.startsWith('{') && !isLost(row, line)) return line;
  const kind = describeKind(row);
  throw unreadable(number, `expected an object with members that JSON can hold, received ${kind}`);
}

/**
 * Whether a row is lost in JSON, such as a Map, or an instance whose members are getters of its
 * class.
 */
function isLost(row: unknown, line: string): boolean {
  if (line !== '{}' || Object.keys(row as object).length > 0) return false;
  const prototype: unknown = Object.getPrototypeOf(row);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** A row with a `toJSON` of its own, such as a date, may become anything. */
function toJson(row: object | null, number: number): string | undefined {
  try {
    return JSON.stringify(row);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unreadable(number, why.split('\n', 1).join(), error); // of a circle, it goes on with a drawing
  }
}

function unreadable(number: number, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read row ${number}: ${why}.`, { cause });
}
