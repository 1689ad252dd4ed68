/** Longer than any job file or set of columns; what is longer is a list that was given in its place. */
const MOST_BYTES = 1_000_000;

/** Why a file of that size is not read; undefined when it is. */
export function findTooLong(sizeBytes: number): string | undefined {
  return sizeBytes > MOST_BYTES ? 'it is longer than a megabyte' : undefined;
}

/**
 * What the YAML parser found wrong, without the piece of the file that some of its messages end in:
 * it may be a credential.
 *
 * @param begin the character at the place that the message is about
 */
export function describeYamlError(message: string, begin: string): string {
  const hint = /[-@`*&!%|>]/.test(begin) ? `; what begins with ${begin} goes in quotes` : '';
  return message.replace(/(: ".*|\n.*)$/s, '') + hint;
}
