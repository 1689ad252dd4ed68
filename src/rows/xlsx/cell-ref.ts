/** The most rows that a sheet can hold. */
export const MOST_ROWS = 1_048_576;
export const MOST_COLUMNS = 16_384;
export const MOST_CHARACTERS = 32_767;

const LETTERS = 26;
const CODE_OF_A = 65;

/** The column of a reference such as `BC12`, from 0; -1 if it is not a reference. */
export function columnOfRef(ref: string): number {
  let column = 0;
  for (let at = 0; at < ref.length; at += 1) {
    const letter = ref.charCodeAt(at) - CODE_OF_A;
    if (letter < 0 || letter >= LETTERS) break;
    column = column * LETTERS + letter + 1;
    if (column > MOST_COLUMNS) return -1;
  }
  return column - 1;
}

const names: string[] = [];

/** The letters of a column, from 0: `A`, `Z`, `AA`. */
export function columnName(column: number): string {
  const known = names[column];
  if (known !== undefined) return known;
  const last = String.fromCharCode(CODE_OF_A + (column % LETTERS));
  const name = column < LETTERS ? last : columnName(Math.floor(column / LETTERS) - 1) + last;
  names[column] = name;
  return name;
}
