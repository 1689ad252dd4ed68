import { createRandom } from '../support/random.ts';
import { createLimits } from './limits.ts';
import {
  FOREVER,
  isDuring,
  isHopeless,
  limit,
  mostAtOnce,
  type Own,
  RETRIES,
  TIMEOUT_MS,
  type World,
} from './world.ts';

/** What somebody needs who knows the world, and retries as often as we do. */
export interface Least {
  readonly ms: number;
  readonly calls: number;
  /** Domains all of whose attempts may meet trouble. */
  readonly mayFail: number;
}

interface Work {
  readonly readyMs: number;
  readonly attempts: number;
  readonly callMs: number;
}

/** Calls that show that none can do any good. */
const FEW_CALLS = 5;

export function leastFor(world: World, owns: readonly (Own | undefined)[]): Least {
  const { callers, latencyMs, domains, cold } = world;
  if (isHopeless(world)) return { ms: FEW_CALLS * latencyMs, calls: FEW_CALLS, mayFail: 0 };
  const random = createRandom(domains);
  const limits = createLimits(fair(world));
  const freeMs = Array<number>(callers).fill(0);
  const fresh = workIn(world, owns);
  /** Calls that are made again, the next one last. */
  const again: Work[] = [];
  let [nowMs, lastMs, calls] = [0, 0, 0];
  for (;;) {
    const caller = soonest(freeMs.slice(0, mostAtOnce(world, nowMs)));
    nowMs = Math.max(nowMs, freeMs[caller] ?? 0);
    const isDue = fresh.length === 0 || (again.at(-1)?.readyMs ?? FOREVER) <= nowMs;
    const work = isDue ? again.pop() : fresh.pop();
    if (!work) break;
    nowMs = openFrom(world, Math.max(nowMs, work.readyMs));
    if (nowMs === FOREVER) break; // it never comes back
    for (let said = limits.arrive(nowMs); !said.isAccepted; said = limits.arrive(nowMs)) {
      nowMs = openFrom(world, nowMs + Math.max(1, said.waitMs));
    }
    limits.done();
    calls += 1;
    const isCold = cold && nowMs < cold.untilMs;
    const endMs = nowMs + work.callMs * (isCold ? cold.factor : 1);
    freeMs[caller] = endMs;
    lastMs = Math.max(lastMs, endMs);
    const attempts = work.attempts - 1;
    if (random() < faultsAt(world, nowMs)) again.push({ ...work, readyMs: endMs });
    else if (attempts > 0) {
      again.push({ ...work, attempts, readyMs: endMs + meanBackoffMs(RETRIES - attempts) });
    }
    again.sort((a, b) => b.readyMs - a.readyMs);
  }
  return {
    ms: lastMs,
    calls,
    mayFail: Math.ceil(3 * domains * faultsAt(world, 0) ** (RETRIES + 1)),
  };
}

/** All calls, of which those come last, and are made first, that take longest. */
function workIn({ latencyMs, batch = 1 }: World, owns: readonly (Own | undefined)[]): Work[] {
  const isRetried = (own: Own | undefined): boolean => /^(5|never|reset)/.test(own?.reply ?? '');
  const isAlone = (own: Own | undefined): boolean => batch === 1 || own?.reply === 'never';
  const work = (own: Own | undefined): Work => ({
    readyMs: 0,
    attempts: isRetried(own) ? RETRIES + 1 : 1,
    callMs: own?.reply === 'never' ? TIMEOUT_MS : latencyMs,
  });
  // What never answers is asked about alone, and each kind with its like.
  const together = [false, true].flatMap((isAgain) => {
    const all = owns.filter((own) => !isAlone(own) && isRetried(own) === isAgain);
    return Array<Work>(Math.ceil(all.length / batch)).fill(work(all[0]));
  });
  const all = [...together, ...owns.filter(isAlone).map(work)];
  return all.sort((a, b) => a.attempts - b.attempts || a.callMs - b.callMs);
}

/** The same world for one who is never refused: then refusals cost nothing. */
function fair(world: World): World {
  const { limits = [], rate } = world;
  const steady = rate ? [limit('bucket', rate.count, rate.perMs / 1_000, { burst: 1 })] : [];
  const kindly = limits
    .filter(({ kind }) => kind !== 'at_once')
    .map(({ penaltyMs: _, kind, ...rest }) =>
      Object.assign(rest, { kind: kind === 'counter' ? ('sliding' as const) : kind }),
    );
  return { ...world, limits: [...steady, ...kindly] };
}

/** When a call could do any good, from a time on: not paused, asleep or out. */
function openFrom(world: World, timeMs: number): number {
  const { pause, sleep, troubles = [] } = world;
  const closed = [pause, sleep, ...troubles.filter(({ share }) => share > 0.5)];
  const span = closed.find((one) => one && isDuring(one, timeMs));
  return span ? openFrom(world, span.fromMs + span.forMs) : timeMs;
}

function faultsAt({ troubles = [] }: World, timeMs: number): number {
  const some = troubles.filter((one) => one.share < 1 && isDuring(one, timeMs));
  return 1 - some.reduce((good, { share }) => good * (1 - share), 1);
}

/** Of waits with full jitter up to 0.5 s, 1 s, 2 s and so on. */
function meanBackoffMs(retriesMade: number): number {
  return Math.min(500 * 2 ** Math.max(0, retriesMade), 30_000) / 2;
}

function soonest(timesMs: readonly number[]): number {
  return timesMs.reduce((first, ms, at) => (ms < (timesMs[first] ?? 0) ? at : first), 0);
}
