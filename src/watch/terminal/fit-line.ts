/** A part of a line, such as `3 failed`. */
export interface LinePart {
  /** What it says, the longest first, for where there is room. Each character takes one column. */
  readonly forms: readonly [string, ...string[]];
  /** Of two parts the one with the higher rank is kept, and kept long. */
  readonly rank: number;
  readonly color?: PartColor | undefined;
}

export type PartColor = 'green' | 'red' | 'yellow';

/** A part as it is going to be seen. */
export interface FittedPart {
  readonly text: string;
  readonly color: PartColor | undefined;
}

/**
 * Fits a line into so many columns. As many parts as possible stay, those of the highest rank; of
 * these, the ones of the lowest rank are shortened first. What is left of a single part that is too
 * long ends in `…`.
 *
 * @param separatorLength what stands between two parts takes so many columns
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
