/**
 * The kind of a value, for messages that must not repeat it: `a text`, `an object (Headers)`,
 * `nothing`.
 */
export function describeKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a text';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { name } = value.constructor ?? Object; // without a prototype it has none
  return name === 'Object' || name === '' ? 'an object' : `an object (${name})`;
}
