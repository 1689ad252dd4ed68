/** A note on a row, from the first reading for the second one. */
export interface RowNote {
  /** Identifies the row from night to night, as hexadecimal digits; empty for no key. */
  readonly key: string;
  /** Which of the columns to be filled are blank in the row, one bit each. */
  readonly blanks: number;
}

const NOTHING: RowNote = { key: '', blanks: 0 };

/** @returns empty when there is nothing to note */
export function writeNote({ key, blanks }: RowNote): string {
  return key === '' && blanks === 0 ? '' : `${blanks.toString(36)}:${key}`;
}

export function readNote(note: string | undefined): RowNote {
  if (!note) return NOTHING;
  const colon = note.indexOf(':');
  return { key: note.slice(colon + 1), blanks: Number.parseInt(note.slice(0, colon), 36) };
}
