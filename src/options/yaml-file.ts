import type { LineCounter } from 'yaml';
import { BrandfillError, endSentence } from '../common/errors.ts';

/** Collects the mistakes of a job file and their places, to report all of them at once. */
export interface JobFileIssues {
  /** @param offset the place in the text, in characters from its beginning */
  add(offset: number, message: string): void;
  /** The number of mistakes so far. */
  count(): number;
  /** `jobs/nightly.yaml:3:8`. */
  placeOf(offset: number): string;
  /** All mistakes in the order of the file; undefined when there are none. */
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

/** Indents messages, so that those of several lines can be told apart. */
function indented(messages: readonly string[]): readonly string[] {
  return messages.map((message) => message.replaceAll('\n', '\n  '));
}

/** Longer than any job file or preset; a longer file is a list that was given in its place. */
const MOST_BYTES = 1_000_000;

/** Why a file of this size is not read; undefined when it is read. */
export function findTooLong(sizeBytes: number): string | undefined {
  return sizeBytes > MOST_BYTES ? 'it is longer than a megabyte' : undefined;
}

/**
 * The message of the YAML parser about a mistake. Cuts off the piece of the file that some messages
 * end in: it may be a credential.
 *
 * @param begin the character at the position of the mistake
 */
export function describeYamlError(message: string, begin: string): string {
  const hint = /[-@`*&!%|>]/.test(begin) ? `; what begins with ${begin} goes in quotes` : '';
  return message.replace(/(: ".*|\n.*)$/s, '') + hint;
}
