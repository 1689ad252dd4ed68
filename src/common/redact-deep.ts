/**
 * JSON of a value with all texts in it redacted. Numbers and the names of members stay what they are: a
 * secret may be a word such as `info`.
 */
export function toRedactedJson(value: unknown, redact: (text: string) => string): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? redact(part) : part,
  );
}

/**
 * The same value, as JSON brings it back, with all texts in it redacted.
 *
 * @param value data; what JSON does not have, such as `undefined`, is lost
 */
export function redactDeep<T extends object>(value: T, redact: (text: string) => string): T {
  return JSON.parse(toRedactedJson(value, redact)) as T;
}
