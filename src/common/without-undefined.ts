/** The members of an object that have a value. A member that is undefined counts as not given. */
export function withoutUndefined<T extends object>(values: T): Partial<T> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}
