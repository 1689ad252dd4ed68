import { findJsonObject } from '../brand/json-object.ts';
import { isAnswer } from '../brand/outcome.ts';
import type { IndexedRow, RowIndex } from '../producer/row-index.ts';
import type { Source } from '../rows/source.ts';
import type { Field } from './fields/fields.ts';
import type { Fill } from './fill.ts';
import type { JoinedRow, OutputRow } from './joined-row.ts';
import type { RowAnswers } from './row-answers.ts';
import { readNote, readWrittenNote } from './row-notes.ts';

export interface JoinOptions {
  readonly source: Pick<Source, 'read' | 'assertUnchanged'>;
  /** How many bytes of the source precede the first row. */
  readonly headBytes: number;
  readonly index: Pick<RowIndex, 'read'>;
  readonly answers: Pick<RowAnswers, 'outcomeOf' | 'staleOf'>;
  readonly enriched: readonly Field[];
  /** The same as an answer has them. @default `enriched` */
  readonly fieldsOf?: ((domain: string, isStale: boolean) => readonly Field[]) | undefined;
  /** Fills blank cells of the list's own columns. */
  readonly fill?: Fill | undefined;
  /** Puts a corrected cell into a row. @default none is corrected */
  readonly mend?: ((number: number, row: RowText) => RowText) | undefined;
  /** Why rows without an outcome were not asked. */
  readonly skipReason: string;
}

/** A row as it is in the list, and the number of its cells. */
export interface RowText {
  readonly raw: string;
  readonly fields: number;
}

/**
 * Reads the input again, in its own order, and joins each row with its outcome. Empty lines are left
 * out.
 */
export function join(options: JoinOptions): AsyncGenerator<readonly OutputRow[]> {
  const { source, headBytes, index, answers, enriched, fill, mend, skipReason } = options;
  const { fieldsOf = () => enriched } = options;
  const nothing = enriched.map(() => undefined);
  let number = 0;

  // Objects are written out in full: a spread with more members added costs several times as much.
  function unasked(
    { raw, fields, note }: RowText & Pick<IndexedRow, 'note'>,
    { domain, status, reason }: Pick<JoinedRow, 'domain' | 'status' | 'reason'>,
  ): JoinedRow {
    const httpStatus = undefined;
    const { key, blanks } = readNote(note);
    return {
      raw,
      fields,
      number,
      domain,
      status,
      reason,
      httpStatus,
      attempts: 0,
      fetchedAtMs: 0,
      key,
      values: nothing,
      blanks,
      fills: undefined,
    };
  }

  function joinRow(row: IndexedRow, text: string, grow: (sizeBytes: number) => void): JoinedRow {
    number += 1;
    const own = { raw: text, fields: row.fields };
    return joinText(row, mend ? mend(number, own) : own, grow);
  }

  function joinText(
    row: IndexedRow,
    { raw, fields }: RowText,
    grow: (sizeBytes: number) => void,
  ): JoinedRow {
    const { text, note } = row;
    if (row.kind === 'invalid') {
      return unasked({ raw, fields, note }, { domain: '', status: 'invalid', reason: text });
    }
    const outcome = answers.outcomeOf(text);
    const isSettled = outcome !== undefined && isAnswer(outcome.status);
    const older = isSettled ? undefined : answers.staleOf(text);
    const answered = older ?? outcome;
    if (!answered) {
      return unasked(
        { raw, fields, note },
        { domain: text, status: 'skipped', reason: skipReason },
      );
    }
    const { domain, fetchedAtMs } = answered;
    const status = older ? 'stale' : answered.status;
    const reason = outcome?.reason ?? skipReason;
    const httpStatus = outcome?.httpStatus;
    const attempts = outcome?.attempts ?? 0;
    const { key, blanks } = readNote(row.note);
    grow(answered.json.length); // its values may be most of it
    const answer = answered.status === 'found' ? findJsonObject(answered.json) : undefined;
    const values = answer
      ? fieldsOf(domain, older !== undefined).map((field) => field.valueOf(answer))
      : nothing;
    const own =
      answer && fill && blanks !== 0 ? fill.apply({ raw, fields }, answer, blanks) : undefined;
    return {
      raw: own?.raw ?? raw,
      fields: own?.fields ?? fields,
      number,
      domain,
      status,
      reason,
      httpStatus,
      attempts,
      fetchedAtMs,
      key,
      values,
      blanks,
      fills: own?.fills,
    };
  }

  function valuesOf(domain: string): readonly unknown[] {
    const answer = findJsonObject(answers.outcomeOf(domain)?.json ?? '');
    return answer ? enriched.map((field) => field.valueOf(answer)) : nothing;
  }

  /** A row that was found when it was written. */
  function writtenRow({ text: domain, note }: IndexedRow): JoinedRow | undefined {
    if (domain === '') return undefined;
    const { key, fetchedAtMs } = readWrittenNote(note);
    let found: readonly unknown[] | undefined;
    return {
      raw: '',
      fields: 0,
      number,
      domain,
      status: 'found',
      reason: '',
      httpStatus: undefined,
      attempts: 0,
      fetchedAtMs,
      key,
      get values() {
        found ??= valuesOf(domain);
        return found;
      },
      blanks: 0,
      fills: undefined,
    };
  }

  return cutRows<OutputRow>({ source, headBytes, index }, (row, raw, grow) => {
    if (row.kind === 'written') {
      number += row.fields;
      const { fields, sizeBytes } = row;
      return { status: 'written', rows: fields, sizeBytes, row: writtenRow(row) };
    }
    if (row.kind !== 'blank') return joinRow(row, raw, grow);
    return row.fields > 0 ? { raw, fields: row.fields, status: 'blank' } : undefined;
  });
}

interface CutRowsOptions {
  readonly source: Pick<Source, 'read' | 'assertUnchanged'>;
  /** How many bytes of the source precede the first row. */
  readonly headBytes: number;
  readonly index: Pick<RowIndex, 'read'>;
}

/**
 * Rows may be of any length, and so may what is made of them. So much is held at a time, or a single
 * row.
 */
const BATCH_BYTES = 2 * 1024 * 1024;

/**
 * Reads a list again and cuts it into rows, as its index says.
 *
 * @param make makes an item of the batches from each entry of the index and its text; `undefined`
 *   is left out. It calls `grow` with the bytes that the item holds besides its row.
 * @throws BrandfillError `UNREADABLE_INPUT` at the end, when the list was changed in the meantime
 */
export async function* cutRows<T>(
  { source, headBytes, index }: CutRowsOptions,
  make: (row: IndexedRow, raw: string, grow: (sizeBytes: number) => void) => T | undefined,
): AsyncGenerator<readonly T[]> {
  const cutter = createCutter(source.read());
  let sizeBytes = 0;
  const grow = (moreBytes: number): void => {
    sizeBytes += moreBytes;
  };
  try {
    await cutter.take(headBytes);
    for await (const rows of index.read()) {
      let made: T[] = [];
      sizeBytes = 0;
      for (const row of rows) {
        const isThere = row.kind !== 'written';
        const taken = isThere ? cutter.take(row.sizeBytes) : '';
        // Nearly all rows are buffered already, and need no turn of the event loop.
        const item = make(row, typeof taken === 'string' ? taken : await taken, grow);
        if (item !== undefined) made.push(item);
        if (isThere) sizeBytes += row.sizeBytes;
        if (sizeBytes < BATCH_BYTES) continue;
        yield made;
        made = [];
        sizeBytes = 0;
      }
      yield made;
    }
  } finally {
    await cutter.close();
  }
  await source.assertUnchanged();
}

/** Cuts a stream of bytes into pieces of known lengths. */
interface Cutter {
  /** The next `sizeBytes` bytes as text. There are fewer only at the end of the stream. */
  take(sizeBytes: number): Promise<string> | string;
  /** Ends the reading of the stream. */
  close(): Promise<void>;
}

export function createCutter(chunks: AsyncIterable<Buffer>): Cutter {
  const iterator = chunks[Symbol.asyncIterator]();
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;

  async function takeAcross(sizeBytes: number): Promise<string> {
    const parts = [bytes.subarray(at)];
    let missing = sizeBytes - (bytes.length - at);
    bytes = Buffer.alloc(0);
    at = 0;
    while (missing > 0) {
      const next = await iterator.next();
      if (next.done) break;
      bytes = next.value;
      at = Math.min(missing, bytes.length);
      parts.push(bytes.subarray(0, at));
      missing -= at;
    }
    return Buffer.concat(parts).toString('utf8');
  }

  return {
    take: (sizeBytes) => {
      const end = at + sizeBytes;
      if (end > bytes.length) return takeAcross(sizeBytes);
      const text = bytes.toString('utf8', at, end);
      at = end;
      return text;
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}
