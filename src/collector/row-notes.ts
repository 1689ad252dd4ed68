import { hashText } from '../common/hash-text.ts';
import type { RowNotes } from '../producer/plan.ts';
import type { RowColumn } from '../rows/row-format.ts';
import { writeNote } from './row-note.ts';

export interface RowNotesOptions {
  /** The column that identifies rows from night to night. */
  readonly key: RowColumn | undefined;
  /** Columns whose blank cells are filled. */
  readonly filled: readonly RowColumn[];
  /** The column with a row's position in an earlier output, which is then its key. */
  readonly place?: RowColumn | undefined;
}

const WORD_DIGITS = 8;

/** Makes the notes that the second reading needs; undefined when it needs none. */
export function createRowNotes({ key, filled, place }: RowNotesOptions): RowNotes | undefined {
  const told = place ?? key;
  if (!told && filled.length === 0) return undefined;
  const words = new Uint32Array(2);

  function digitsOf(text: string): string {
    if (text === '') return '';
    hashText(text, 0, words, 0);
    return [...words].map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('');
  }

  return {
    columns: told ? [...filled, told] : filled,
    noteOf: (cells) => {
      let blanks = 0;
      for (let at = 0; at < filled.length; at += 1) if (isBlank(cells[at])) blanks |= 1 << at;
      const cell = cells[filled.length]?.trim() ?? '';
      // A cell that is not a position is refused before anything is written.
      return writeNote({ key: place ? cell.replaceAll(/\D/g, '') : digitsOf(cell), blanks });
    },
  };
}

function isBlank(cell = ''): boolean {
  return cell.trim() === '';
}
