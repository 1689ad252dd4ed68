import { createRandom } from '../support/random.ts';
import { createLimits } from './limits.ts';
import { isHopeless, type Limit, mostAtOnce, type Own, openFrom, type World } from './world.ts';

/** What somebody needs who knows the world, and retries as often as we do. */
export interface Least {
  readonly ms: number;
  readonly calls: number;
  /** Domains whose attempts may all meet faults. */
  readonly mayFail: number;
}

interface Work {
  readonly readyMs: number;
  readonly attempts: number;
  readonly callMs: number;
}

const TIMEOUT_MS = 60_000;
/** Calls that show that none can do any good. */
const FEW_CALLS = 5;

/** Whether calls about such a domain fail in a way that others may not. */
function isRetried(own: Own | undefined): boolean {
  return own !== undefined && /^(5|never|cut|reset)/.test(own.reply);
}

export function leastFor(world: World, owns: readonly (Own | undefined)[]): Least {
  const { callers, latencyMs, domains, retries = 5, faults, cold } = world;
  if (isHopeless(world)) return { ms: FEW_CALLS * latencyMs, calls: FEW_CALLS, mayFail: 0 };
  const random = createRandom(domains);
  const limits = createLimits(fair(world));
  const freeMs = Array<number>(callers).fill(0);
  const fresh = workIn(world, owns);
  /** Calls that are made again, the next one last. */
  const again: Work[] = [];
  let nowMs = 0;
  let lastMs = 0;
  let calls = 0;
  for (;;) {
    const caller = soonest(freeMs.slice(0, mostAtOnce(world, nowMs)));
    nowMs = Math.max(nowMs, freeMs[caller] ?? 0);
    const isDue = fresh.length === 0 || (again.at(-1)?.readyMs ?? nowMs + 1) <= nowMs;
    const work = isDue ? again.pop() : fresh.pop();
    if (!work) break;
    nowMs = openFrom(world, Math.max(nowMs, work.readyMs));
    if (nowMs === Number.POSITIVE_INFINITY) break; // it never comes back
    for (let said = limits.arrive(nowMs); !said.isAccepted; said = limits.arrive(nowMs)) {
      nowMs = openFrom(world, nowMs + Math.max(1, said.waitMs));
    }
    limits.done();
    calls += 1;
    const isCold = cold && nowMs < cold.untilMs;
    const endMs = nowMs + work.callMs * (isCold ? cold.factor : 1);
    freeMs[caller] = endMs;
    lastMs = Math.max(lastMs, endMs);
    if (random() < (faults?.share ?? 0)) again.push({ ...work, readyMs: endMs });
    else if (work.attempts > 1) {
      const readyMs = endMs + meanBackoffMs(retries + 1 - work.attempts);
      again.push({ ...work, readyMs, attempts: work.attempts - 1 });
    }
    again.sort((a, b) => b.readyMs - a.readyMs);
  }
  const mayFail = Math.ceil(3 * domains * (faults?.share ?? 0) ** (retries + 1));
  return { ms: lastMs, calls, mayFail };
}

/** All calls, of which those come last, and are made first, that take longest. */
function workIn(world: World, owns: readonly (Own | undefined)[]): Work[] {
  const { latencyMs, retries = 5, batch = 1 } = world;
  const work = (own: Own | undefined): Work => ({
    readyMs: 0,
    attempts: isRetried(own) ? retries + 1 : 1,
    callMs: own?.reply === 'never' ? TIMEOUT_MS : latencyMs,
  });
  // What never answers is asked about alone, and each kind with its like.
  const alone = owns.filter((own) => batch === 1 || own?.reply === 'never').map(work);
  const joined = [false, true].flatMap((isAgain) => {
    const all = owns.filter((own) => own?.reply !== 'never' && isRetried(own) === isAgain);
    const calls = batch === 1 ? 0 : Math.ceil(all.length / batch);
    return Array<Work>(calls).fill(work(all[0]));
  });
  return [...joined, ...alone].sort((a, b) => a.attempts - b.attempts || a.callMs - b.callMs);
}

/** The same world for one who is never refused: then refusals cost nothing. */
function fair(world: World): World {
  const { limits = [], rate } = world;
  const kindly = limits
    .filter(({ kind }) => kind !== 'at_once')
    .map(({ penaltyMs: _, kind, ...rest }): Limit => {
      return Object.assign(rest, { kind: kind === 'counter' ? ('sliding' as const) : kind });
    });
  const steady: Limit[] = rate ? [{ kind: 'bucket', ...rate, burst: 1 }] : [];
  return { ...world, limits: [...steady, ...kindly] };
}

/** Of waits with full jitter up to 0.5 s, 1 s, 2 s and so on. */
function meanBackoffMs(retriesMade: number): number {
  return Math.min(500 * 2 ** Math.max(0, retriesMade), 30_000) / 2;
}

function soonest(timesMs: readonly number[]): number {
  let first = 0;
  for (const [at, timeMs] of timesMs.entries()) if (timeMs < (timesMs[first] ?? 0)) first = at;
  return first;
}
