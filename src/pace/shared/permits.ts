import type { WorkerShare } from './state.ts';

/** How long workers that are more than the permits keep theirs before it is another's turn. */
const TURN_MS = 1_000;

/**
 * How many calls a worker may have in flight until it comes again. All that workers hold, together,
 * never exceeds `most`: what one has, another cannot get before it was given back. Whoever has more
 * than its share gives back what others are short of.
 *
 * @param workers all of them, with what they were given last
 */
export function permitsFor(
  name: string,
  workers: Readonly<Record<string, WorkerShare>>,
  { most, nowMs }: { readonly most: number; readonly nowMs: number },
): number | null {
  if (!Number.isFinite(most)) return null;
  const mine = workers[name];
  if (!mine) return 0;
  const others = Object.entries(workers).filter(([other]) => other !== name);
  const free = Math.max(0, most - others.reduce((sum, [, other]) => sum + heldBy(other), 0));
  const wishes = Math.min(free, mine.wanted);
  const isAnyShort = others.some(
    ([other, share]) => heldBy(share) < Math.min(share.wanted, shareOf(other)),
  );
  return isAnyShort ? Math.min(wishes, shareOf(name)) : wishes;

  function shareOf(worker: string): number {
    const names = Object.keys(workers)
      .filter((each) => (workers[each]?.wanted ?? 0) > 0)
      .sort();
    if (names.length <= most) return Math.floor(most / Math.max(1, names.length));
    const turn = (names.indexOf(worker) + Math.floor(nowMs / TURN_MS)) % names.length;
    return turn < most ? 1 : 0;
  }
}

function heldBy({ permits, inFlight, starts }: WorkerShare): number {
  return permits === null ? inFlight + starts : Math.max(permits, inFlight);
}
