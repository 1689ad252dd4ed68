/**
 * JSON of a value with all its texts redacted. The names of fields stay as they are, as do numbers:
 * a secret may be a word such as `info`.
 */
export function toRedactedJson(value: unknown, redact: (text: string) => string): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? redact(part) : part,
  );
}

/**
 * Takes secrets out of all texts in a value. Returns a copy.
 *
 * @param value data; parts that JSON cannot hold, such as `undefined`, are lost
 */
export function redactDeep<T extends object>(value: T, redact: (text: string) => string): T {
  return JSON.parse(toRedactedJson(value, redact)) as T;
}
