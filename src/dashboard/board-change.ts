import type { Board, RatePoint, RunState } from './board.ts';

/** The difference between two boards; missing sections are unchanged. */
export interface BoardChange {
  readonly runs?: readonly RunChange[];
  /** The ids of runs that are gone. */
  readonly gone?: readonly string[];
  readonly workers?: Board['workers'];
  readonly schedules?: Board['schedules'];
  readonly backlog?: Board['backlog'];
  /** Null when the trouble is over. */
  readonly trouble?: string | null;
}

/** A run that is new or has changed; fields that are null are gone. */
export interface RunChange extends Partial<Nullable<Omit<RunState, 'id'>>> {
  readonly id: string;
  /** Points to append to the known ones. */
  readonly newHistory?: readonly RatePoint[];
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** Compares two boards; undefined when nothing has changed. */
export function findChange(before: Board, after: Board): BoardChange | undefined {
  const known = new Map(before.runs.map((run) => [run.id, run]));
  const there = new Set(after.runs.map(({ id }) => id));
  const runs = after.runs.flatMap((run) => {
    const earlier = known.get(run.id);
    const change = earlier ? findRunChange(earlier, run) : run;
    return change ? [change] : [];
  });
  const gone = before.runs.map(({ id }) => id).filter((id) => !there.has(id));
  const change: BoardChange = {
    ...(runs.length > 0 && { runs }),
    ...(gone.length > 0 && { gone }),
    ...(isOther(before.workers, after.workers) && { workers: after.workers }),
    ...(isOther(before.schedules, after.schedules) && { schedules: after.schedules }),
    ...(isOther(before.backlog, after.backlog) && { backlog: after.backlog }),
    ...(before.trouble !== after.trouble && { trouble: after.trouble ?? null }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

function findRunChange(before: RunState, after: RunState): RunChange | undefined {
  if (before === after) return undefined;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof RunState)[];
  const changed = names.filter((name) => name !== 'history' && isOther(before[name], after[name]));
  const history = findNewPoints(before.history, after.history);
  if (changed.length === 0 && !history) return undefined;
  const fields = changed.map((name) => [name, after[name] ?? null] as const);
  return { id: after.id, ...Object.fromEntries(fields), ...history };
}

/** Points that were appended since; all points when they were thinned meanwhile. */
function findNewPoints(
  before: readonly RatePoint[],
  after: readonly RatePoint[],
): Pick<RunChange, 'history' | 'newHistory'> | undefined {
  if (before === after) return undefined;
  const last = before.at(-1);
  const isLonger = after.length >= before.length;
  if (isLonger && (!last || after[before.length - 1]?.join() === last.join())) {
    const added = after.slice(before.length);
    return added.length > 0 ? { newHistory: added } : undefined;
  }
  return { history: after };
}

function isOther(before: unknown, after: unknown): boolean {
  return before !== after && JSON.stringify(before) !== JSON.stringify(after);
}
