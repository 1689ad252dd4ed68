import { hashText } from '../common/hashes.ts';
import type { RowColumn } from '../rows/row-format.ts';
import type { RowNotes } from './plan.ts';

export interface RowNotesOptions {
  /** The column that identifies rows from night to night. */
  readonly key: RowColumn | undefined;
  /** Columns whose blank cells are filled. */
  readonly filled: readonly RowColumn[];
}

const WORD_DIGITS = 8;

/** Makes the notes that the second reading needs; undefined when it needs none. */
export function createRowNotes({ key, filled }: RowNotesOptions): RowNotes | undefined {
  if (!key && filled.length === 0) return undefined;
  const words = new Uint32Array(2);

  function digitsOf(text: string): string {
    if (text === '') return '';
    hashText(text, 0, words, 0);
    return [...words].map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('');
  }

  return {
    columns: key ? [...filled, key] : filled,
    noteOf: (cells) => {
      let blanks = 0;
      for (let at = 0; at < filled.length; at += 1) if (isBlank(cells[at])) blanks |= 1 << at;
      const cell = cells[filled.length]?.trim() ?? '';
      return writeNote({ key: digitsOf(cell), blanks });
    },
  };
}

function isBlank(cell = ''): boolean {
  return cell.trim() === '';
}

/** A note on a row, from the first reading for the second one. */
interface RowNote {
  /** Identifies the row from night to night, as hexadecimal digits; empty for no key. */
  readonly key: string;
  /** Which of the columns to be filled are blank in the row, one bit each. */
  readonly blanks: number;
}

const NOTHING: RowNote = { key: '', blanks: 0 };

/** @returns empty when there is nothing to note */
function writeNote({ key, blanks }: RowNote): string {
  return key === '' && blanks === 0 ? '' : `${blanks.toString(36)}:${key}`;
}

export function readNote(note: string | undefined): RowNote {
  if (!note) return NOTHING;
  const colon = note.indexOf(':');
  return { key: note.slice(colon + 1), blanks: Number.parseInt(note.slice(0, colon), 36) };
}
