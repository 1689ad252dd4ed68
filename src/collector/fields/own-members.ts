/** Whether all JavaScript objects inherit a member of this name, such as `constructor`. */
export function isInherited(name: string): boolean {
  return name in Object.prototype;
}

/** A copy of a JSON value whose objects have only the members that are in the JSON. */
export function withoutInherited(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutInherited);
  const own = Object.entries(value).map(([name, inner]) => [name, withoutInherited(inner)]);
  return Object.setPrototypeOf(Object.fromEntries(own), null);
}
