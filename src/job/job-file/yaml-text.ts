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
