import { createHash } from 'node:crypto';
import { findJsonObject } from '../brand/json-object.ts';
import type { ByteWriter, ReadyCells, RowBytes } from '../rows/row-format.ts';
import type { OutcomeHead } from '../store/entries.ts';
import type { MadeCells, ReadyAnswer } from '../store/ready-cells.ts';
import type { OutcomeStore } from '../store/store.ts';
import type { Field } from './fields/fields.ts';
import type { JoinedRow } from './joined-row.ts';
import type { OutputColumn, OutputColumns } from './output/output-columns.ts';
import type { BegunOutput } from './output/table-file.ts';

/**
 * Writes rows during the first reading: those whose answer is in the store and still counts. Their
 * cells are ready from last night, or are made now and kept for the next one.
 */
export interface ReadyRows {
  /** The answer of a domain whose cells are ready. Good until the next read of the store. */
  find(domain: string): ReadyAnswer | undefined;
  /**
   * Writes a row with the answer of its domain.
   *
   * @param answer what `find` has just returned, or else the head of the answer
   * @returns how many bytes it is in the output; 0 if there is no such answer any more
   * @throws LayoutDiffers when the output needs other columns than were expected
   */
  write(row: RowBytes, domain: string, answer: ReadyAnswer | OutcomeHead): number;
  /** Must be called after each batch of rows. */
  readonly flush: () => Promise<void>;
  /** Must be called after the last row. */
  end(): Promise<void>;
  /** In how many rows each enriched column of the output has had a value so far. */
  readonly filled: readonly number[];
}

/** The expected columns do not do for a list. */
export class LayoutDiffers extends Error {}

export interface ReadyRowsOptions {
  readonly output: Pick<BegunOutput, 'writer' | 'write'>;
  readonly columns: Pick<OutputColumns, 'out' | 'enriched'>;
  readonly enriched: readonly Field[];
  readonly store: Pick<OutcomeStore, 'find' | 'ready'>;
  /** Whether all that answers of a shape have is in these columns. */
  readonly isCovered: (shapeId: number) => boolean;
}

/** To be raised when the same answer gives other cells than before, in columns of the same description. */
const CELLS_VERSION = 2;
const BLOCK_BYTES = 1024 * 1024;
const KEPT_AT_ONCE = 2_000;
/** So many rows have their cells made anew each time, so that short lists leave nothing. */
const MOST_UNKEPT = 1_000;
/** Each column has a bit. */
export const MOST_FIELDS = 32;

export function createReadyRows(options: ReadyRowsOptions): ReadyRows {
  const { output, columns, enriched, store, isCovered } = options;
  const { writer } = output;
  const layout = layoutOf(columns.out, writer);
  const covered = new Map<number, boolean>();
  const blocks = createBlocks(output);
  let unkept = 0;
  let made: MadeCells[] = [];
  let keeping: Promise<void> = Promise.resolve();
  const filled = columns.enriched.map(() => 0);

  function assertCovered(shapeId: number): void {
    const known = covered.get(shapeId) ?? isCovered(shapeId);
    covered.set(shapeId, known);
    if (!known) throw new LayoutDiffers();
  }

  function countFilled(note: number): void {
    for (let bits = note; bits !== 0; bits &= bits - 1) {
      const at = 31 - Math.clz32(bits & -bits);
      filled[at] = (filled[at] ?? 0) + 1;
    }
  }

  function put(row: RowBytes, cells: ReadyCells): number {
    const most = row.sizeBytes + (cells.end - cells.start) + writer.spareBytes;
    const written = blocks.add(most, (target, at) => writer.write(row, cells, target, at));
    if (written === 0) throw new LayoutDiffers();
    return written;
  }

  function make(domain: string, { fetchedAtMs, shapeId }: OutcomeHead): MadeCells | undefined {
    const outcome = store.find(domain);
    if (outcome?.status !== 'found' || outcome.fetchedAtMs !== fetchedAtMs) return undefined;
    const answer = findJsonObject(outcome.json);
    if (!answer) return undefined;
    const values = enriched.map((field) => field.valueOf(answer));
    const row: JoinedRow = { ...NO_ROW, domain, fetchedAtMs, values };
    const hasValue = columns.enriched.map((column) => isFilled(column.valueOf(row)));
    const note = hasValue.reduce((bits, has, at) => (has ? bits | (1 << at) : bits), 0);
    const cells = writer.cellsOf(columns.out.map((column) => column.valueOf(row)));
    return { domain, fetchedAtMs, shapeId, layout, note: note >>> 0, cells };
  }

  return {
    find: (domain) => store.ready.find(domain, layout),
    write: (row, domain, answer) => {
      if ('bytes' in answer) {
        const written = put(row, answer);
        countFilled(answer.note);
        assertCovered(answer.shapeId); // reads the store
        return written;
      }
      assertCovered(answer.shapeId);
      const cells = make(domain, answer);
      if (!cells) return 0;
      countFilled(cells.note);
      if (unkept < MOST_UNKEPT) unkept += 1;
      else made.push(cells);
      const bytes = Buffer.from(cells.cells);
      return put(row, { bytes, start: 0, end: bytes.length });
    },
    flush: async () => {
      await blocks.flush();
      if (made.length < KEPT_AT_ONCE) return;
      const full = made;
      made = [];
      await keeping;
      keeping = store.ready.keep(full).catch(() => {}); // the store says itself that it has failed
    },
    end: async () => {
      await blocks.end();
      await keeping;
      if (made.length > 0) await store.ready.keep(made).catch(() => {});
    },
    filled,
  };
}

/** The columns of an output need no more of a row, as long as it was found. */
const NO_ROW: JoinedRow = {
  raw: '',
  fields: 0,
  number: 0,
  domain: '',
  status: 'found',
  reason: '',
  httpStatus: undefined,
  attempts: 0,
  fetchedAtMs: 0,
  key: '',
  values: [],
  blanks: 0,
  fills: undefined,
};

/** Whether a cell has something in it. */
export function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '';
}

/** Stands for the columns and how they are written. */
function layoutOf(columns: readonly OutputColumn[], { style }: ByteWriter): number {
  const content = JSON.stringify([CELLS_VERSION, style, columns.map(describeColumn)]);
  return createHash('sha256').update(content).digest().readUIntLE(0, 6);
}

/** How the cells of a column are made. */
export function describeColumn({ name, expression, isFlat, path }: OutputColumn): unknown {
  return [name, expression, isFlat, path];
}

/** Gathers bytes into large blocks. */
interface Blocks {
  /**
   * @param most how many bytes may be added
   * @param add returns where the bytes end that it has added from a place on; -1 for none
   * @returns how many bytes were added
   */
  add(most: number, add: (target: Buffer, at: number) => number): number;
  /** Writes blocks that are full. */
  flush(): Promise<void>;
  end(): Promise<void>;
}

function createBlocks(output: Pick<BegunOutput, 'write'>): Blocks {
  let full: Buffer[] = [];
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let at = 0;

  function next(most: number): void {
    full.push(block.subarray(0, at));
    block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
    at = 0;
  }

  async function flush(): Promise<void> {
    for (const bytes of full) await output.write(bytes);
    full = [];
  }

  return {
    add: (most, add) => {
      if (at + most > block.length) next(most);
      const end = add(block, at);
      if (end === -1) return 0;
      const added = end - at;
      at = end;
      return added;
    },
    flush,
    end: async () => {
      next(0);
      await flush();
    },
  };
}
