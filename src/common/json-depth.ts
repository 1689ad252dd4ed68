const MOST_LEVELS = 1_000;

/**
 * Whether a JSON value is nested more than 1,000 levels deep. `JSON.parse` reads it, but nothing
 * that goes into it by recursion comes back, such as `JSON.stringify`.
 *
 * @param text the JSON that was parsed
 */
export function isTooDeep(text: string, value: unknown): boolean {
  // Each level needs two brackets, so most texts are too short to be too deep.
  return text.length > 2 * MOST_LEVELS && mayBeDeep(text) && isDeeperThan(value, MOST_LEVELS);
}

/** Counts brackets, including those within texts. */
function mayBeDeep(text: string): boolean {
  let level = 0;
  for (let at = 0; at < text.length && level <= MOST_LEVELS; at += 1) {
    const character = text[at];
    if (character === '{' || character === '[') level += 1;
    else if (character === '}' || character === ']') level -= 1;
  }
  return level > MOST_LEVELS;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
