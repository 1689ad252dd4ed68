import type { LineCounter } from 'yaml';
import { BrandfillError, endSentence } from '../../common/errors.ts';

/** Notes what is wrong with a job file and where, to say all of it at once. */
export interface JobFileIssues {
  /** @param offset where in the text, in characters from its beginning */
  add(offset: number, message: string): void;
  /** How many were noted. */
  count(): number;
  /** `jobs/nightly.yaml:3:8`. */
  placeOf(offset: number): string;
  /** All that was noted, in the order of the file; undefined when there is nothing. */
  toError(): BrandfillError | undefined;
}

export function createIssues(file: string, lines: LineCounter): JobFileIssues {
  const noted: { readonly offset: number; readonly message: string }[] = [];
  const placeOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  return {
    add: (offset, message) => noted.push({ offset, message }),
    count: () => noted.length,
    placeOf,
    toError: () => {
      const messages = noted
        .toSorted((a, b) => a.offset - b.offset)
        .map(({ offset, message }) => `${placeOf(offset)}: ${message}`);
      if (messages.length === 0) return undefined;
      const text =
        messages.length === 1
          ? endSentence(`Cannot use ${messages[0]}`)
          : `Cannot use ${file}: ${messages.length} things are wrong.\n  ${indented(messages).join('\n  ')}`;
      return new BrandfillError('INVALID_SETTING', text);
    },
  };
}

/** Messages that stay apart when those of several lines are among them. */
function indented(messages: readonly string[]): readonly string[] {
  return messages.map((message) => message.replaceAll('\n', '\n  '));
}
