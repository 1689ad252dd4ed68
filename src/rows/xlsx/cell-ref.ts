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

/** What a sheet says about a range of its columns, which count from 0. */
export interface ColumnRange {
  readonly first: number;
  readonly last: number;
  readonly width: string | undefined;
  readonly isHidden: boolean;
}

/** @param head the sheet up to its rows */
export function columnsOf(head: string): readonly ColumnRange[] {
  const [cols] = /<(?:[\w.-]+:)?cols[\s>][\s\S]*?<\/(?:[\w.-]+:)?cols\s*>/.exec(head) ?? [];
  if (cols === undefined) return [];
  return Array.from(cols.matchAll(/<(?:[\w.-]+:)?col\s[^>]*>/g), ([tag]) => {
    const valueOf = (name: string): string | undefined =>
      new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)`).exec(tag)?.[1];
    return {
      first: Number(valueOf('min')) - 1,
      last: Math.min(MOST_COLUMNS, Number(valueOf('max'))) - 1,
      width: valueOf('width'),
      isHidden: /^(?:1|true)$/.test(valueOf('hidden') ?? ''),
    };
  });
}
