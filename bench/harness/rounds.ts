/** Does something several times, one after the other, and returns all results. */
export async function inRounds<T>(rounds: number, round: () => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  for (let done = 0; done < rounds; done += 1) results.push(await round());
  return results;
}
