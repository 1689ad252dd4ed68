/** A message that was not repeated for this long is over. It is news when it comes again. */
const OVER_MS = 30_000;

/**
 * Tells new messages from those that were reported a moment ago. Retries repeat the same message,
 * often alternating with others, and may succeed in between.
 *
 * @returns whether the message is news
 */
export function createNoticeFilter(): (what: string) => boolean {
  const lastAtMs = new Map<string, number>();
  return (what) => {
    const now = performance.now();
    const isNew = now - (lastAtMs.get(what) ?? Number.NEGATIVE_INFINITY) > OVER_MS;
    lastAtMs.set(what, now);
    return isNew;
  };
}
