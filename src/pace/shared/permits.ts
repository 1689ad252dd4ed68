import type { WorkerShare } from './state.ts';

/** When there are more workers than permits, each turn lasts this long. */
const TURN_MS = 1_000;

/**
 * How many calls a worker may have in flight until its next exchange. The permits of all workers
 * together never exceed `most`: a permit must be given back before another worker gets it. A worker
 * with more than its share gives back what others are short of.
 *
 * @param workers all workers, with the permits they were last given
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
  if (wishes === 0) return 0;
  const wishing = Object.keys(workers).filter((each) => (workers[each]?.wanted ?? 0) > 0);
  const shareOf = shares(wishing.sort(), { most, nowMs });
  const isAnyShort = others.some(
    ([other, share]) => heldBy(share) < Math.min(share.wanted, shareOf(other)),
  );
  return isAnyShort ? Math.min(wishes, shareOf(name)) : wishes;
}

/** The share of each worker that wants permits: the same for all, or one permit in turn. */
function shares(
  names: readonly string[],
  { most, nowMs }: { readonly most: number; readonly nowMs: number },
): (worker: string) => number {
  if (names.length <= most) {
    const each = Math.floor(most / Math.max(1, names.length));
    return () => each;
  }
  const turns = Math.floor(nowMs / TURN_MS);
  const places = new Map(names.map((name, at) => [name, at]));
  return (worker) => (((places.get(worker) ?? -1) + turns) % names.length < most ? 1 : 0);
}

function heldBy({ permits, inFlight, starts }: WorkerShare): number {
  return permits === null ? inFlight + starts : Math.max(permits, inFlight);
}
