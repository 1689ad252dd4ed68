/** What was not told for so long is over, and news when it comes again. */
const OVER_MS = 30_000;

/**
 * Tells what is worth a sentence from what was said a moment ago: what is tried again comes again, in turns
 * with other things, and some of it works in between.
 *
 * @returns whether it is news
 */
export function createNews(): (what: string) => boolean {
  const lastAtMs = new Map<string, number>();
  return (what) => {
    const now = performance.now();
    const isNews = now - (lastAtMs.get(what) ?? Number.NEGATIVE_INFINITY) > OVER_MS;
    lastAtMs.set(what, now);
    return isNews;
  };
}
