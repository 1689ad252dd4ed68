/**
 * Does something several times, one after the other, and returns all results.
 *
 * @param mostMs after this time no further round begins
 */
export async function inRounds<T>(
  rounds: number,
  round: () => Promise<T>,
  mostMs = Number.POSITIVE_INFINITY,
): Promise<readonly T[]> {
  const startMs = performance.now();
  const results: T[] = [await round()];
  while (results.length < rounds && performance.now() - startMs < mostMs) {
    results.push(await round());
  }
  return results;
}
