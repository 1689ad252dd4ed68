/** A part of a line, such as `3 failed`. */
export interface LinePart {
  /** Its texts, the longest first, for where there is room. Each character takes one column. */
  readonly forms: readonly [string, ...string[]];
  /** When room is short, parts with a higher rank are kept first, and kept long. */
  readonly rank: number;
  readonly color?: PartColor | undefined;
}

export type PartColor = 'green' | 'red' | 'yellow';

/** A part as it will be seen. */
export interface FittedPart {
  readonly text: string;
  readonly color: PartColor | undefined;
}

/**
 * Fits a line into a number of columns. As many parts as possible stay, those of the highest rank
 * first. Among these, the parts of the lowest rank are shortened first. If a single part is left
 * and is too long, it is cut and ends in `…`.
 *
 * @param separatorLength the number of columns between two parts
 */
export function fitLine(
  parts: readonly LinePart[],
  { columns, separatorLength }: { readonly columns: number; readonly separatorLength: number },
): readonly FittedPart[] {
  const byRank = parts.toSorted((one, other) => one.rank - other.rank);
  const lengthOf = (texts: readonly string[]): number =>
    texts.reduce((length, text) => length + text.length, separatorLength * (texts.length - 1));

  let kept = byRank;
  const shortest = (): string[] => kept.map(({ forms }) => forms.at(-1) ?? '');
  while (kept.length > 1 && lengthOf(shortest()) > columns) kept = kept.slice(1);

  const texts = new Map(kept.map((part) => [part, part.forms[0]]));
  for (const part of kept) {
    for (const form of part.forms) {
      texts.set(part, form);
      if (lengthOf([...texts.values()]) <= columns) break;
    }
  }
  return parts.flatMap((part) => {
    const text = texts.get(part);
    return text === undefined ? [] : [{ text: cut(text, columns), color: part.color }];
  });
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}
