import type { RowNotes } from '../producer/plan.ts';
import type { RowColumn } from '../rows/row-format.ts';
import { hashText } from './changes/text-hash.ts';
import { writeNote } from './row-note.ts';

export interface RowNotesOptions {
  /** The column that tells rows from each other from night to night. */
  readonly key: RowColumn | undefined;
}

const WORD_DIGITS = 8;

/** Makes the notes that the second reading needs; undefined when it needs none. */
export function createRowNotes({ key }: RowNotesOptions): RowNotes | undefined {
  if (!key) return undefined;
  const words = new Uint32Array(2);

  function digitsOf(text: string): string {
    if (text === '') return '';
    hashText(text, 0, words, 0);
    return [...words].map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('');
  }

  return {
    columns: [key],
    noteOf: ([cell = '']) => writeNote({ key: digitsOf(cell.trim()), blanks: 0 }),
  };
}
