import {
  type Calendar,
  type CalendarWindow,
  type CallLedger,
  RUN_WINDOW,
  type Taken,
  windowAt,
} from '../calls/budget.ts';
import { DAY_MS } from '../common/format.ts';
import type { StoreDatabase } from './database.ts';
import type { Change, Table } from './engine.ts';
import { keyOf } from './entries.ts';

// What a store notes besides outcomes: the pace, calls of a budget, and logos. Each is JSON under a
// key. A note that is malformed counts as none: it costs some seconds, or a picture.

type NotedTable = Table<unknown>;

function read(table: NotedTable, key: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = table.get(key);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** The pace that a run knew, as a later run finds it. */
export interface SavedPace {
  /** The pacer's state as it was written. The pacer has to check it. */
  readonly state: unknown;
  /** When the limit in it was last reached, in milliseconds since 1970. */
  readonly learnedAtMs: number;
}

const paceKey = (id: string): string => `pace:${id}`;

/** The notes of a store that are of no single API. */
export function openNotes(database: StoreDatabase) {
  const { meta, calls, commit } = database;
  return {
    /** The pace that was saved under an id; undefined when there is none, or it is malformed. */
    findPace: (id: string): SavedPace | undefined => {
      const { state, learnedAtMs } = read(meta, paceKey(id)) ?? {};
      return typeof learnedAtMs === 'number' ? { state, learnedAtMs } : undefined;
    },
    /** Saves a pace in place of an earlier one, from whichever run. */
    savePace: async (id: string, value: SavedPace): Promise<void> =>
      await commit([{ table: meta, key: paceKey(id), value }]),
    /** Counts the calls of an id that does not reveal the credential. */
    openCallLedger: (bound: Bound, now?: () => number) => createCallLedger(database, bound, now),
    /** Forgets what runs have spent of their bounds. */
    forgetCalls: async (ids: readonly string[]): Promise<void> => {
      const keys = ids.map((id) => ledgerKey(id)).filter((key) => calls.doesExist(key));
      if (keys.length > 0) await commit(keys.map((key) => ({ table: calls, key })));
    },
  };
}

const apiKey = (endpointId: string): string => `api:${endpointId}`;

/** Notes the name of an API, for people who maintain the store. */
export async function noteApiName(
  { meta: table, commit }: StoreDatabase,
  endpointId: string,
  value: string,
): Promise<void> {
  const key = apiKey(endpointId);
  if (table.get(key) !== value) await commit([{ table, key, value }]);
}

/** The name of an API; undefined when no run has noted it. */
export function findApiName({ meta }: StoreDatabase, endpointId: string): string | undefined {
  const name = meta.get(apiKey(endpointId));
  return typeof name === 'string' ? name : undefined;
}

/** What a store counts: calls, or what they cost, of one run or in each window of the calendar. */
export interface Bound {
  /** A hash that does not reveal the credential. */
  readonly id: string;
  /** How many there may be. */
  readonly count: number;
  /** In windows of this calendar. @default of one run, which is forgotten after a week */
  readonly per?: Calendar | undefined;
  /** What one domain counts; undefined until an answer has told. */
  readonly each: number | undefined;
}

/**
 * Of what was counted: the sum of each window, the most that one domain has counted, and the last
 * time.
 */
interface CountedNote {
  readonly windows: Readonly<Record<string, number>>;
  readonly each: number | undefined;
  readonly atMs: number;
}

/** A clock that was wrong goes back to a window that was counted before: so many are kept. */
const KEPT_WINDOWS = 4;
const KEPT_RUN_MS = 7 * DAY_MS;

const ledgerKey = (id: string, { unit, timeZone = '' }: Partial<Calendar> = {}): string =>
  `${id}:${unit ?? 'run'}${timeZone}`;

/** Counts in the store. What is all given back leaves no note. */
function createCallLedger(
  { calls: table, commit }: StoreDatabase,
  { id, per, count, each: known }: Bound,
  now: () => number = Date.now,
): CallLedger {
  const key = ledgerKey(id, per);
  const windowAtMs = (nowMs: number): CalendarWindow => (per ? windowAt(per, nowMs) : RUN_WINDOW);

  function readNote(): CountedNote {
    const { windows, each, atMs, window, taken } = read(table, key) ?? {};
    const nowMs = now();
    const isOld = !per && typeof atMs === 'number' && nowMs - atMs > KEPT_RUN_MS;
    const older = typeof window === 'string' ? { [window]: taken } : {}; // as 0.1.0 wrote it
    return {
      windows: isOld ? {} : ((windows ?? older) as CountedNote['windows']),
      each: typeof each === 'number' && !isOld ? each : known,
      atMs: nowMs,
    };
  }

  /** Calls that are counted in the next window were made before the clock went back. */
  function takenIn({ windows }: CountedNote, window: CalendarWindow): number {
    const next = per ? windowAtMs(window.endsAtMs).id : '';
    return (windows[window.id] ?? 0) + (windows[next] ?? 0);
  }

  function changeOf(note: CountedNote, window: CalendarWindow, taken: number): Change {
    const others = Object.entries(note.windows).filter(([of]) => of !== window.id);
    const kept = [...others, [window.id, taken] as const].filter(([, sum]) => sum > 0);
    const windows = Object.fromEntries(kept.slice(-KEPT_WINDOWS));
    return { table, key, value: kept.length > 0 ? { ...note, windows } : undefined };
  }

  function* take(domains: number, told: number | undefined): Generator<Change, Taken> {
    const note = readNote();
    const window = windowAtMs(note.atMs);
    const each = mostOf(note.each, told);
    const left = Math.max(0, count - takenIn(note, window));
    const taken = each === undefined ? left : Math.min(left, domains * each);
    const sum = (note.windows[window.id] ?? 0) + taken;
    if (taken > 0) yield changeOf({ ...note, each }, window, sum);
    return { count: taken, each, window, nowMs: note.atMs };
  }

  function* giveBack(back: number, window: CalendarWindow, told?: number): Generator<Change> {
    const note = readNote();
    const before = note.windows[window.id];
    const each = mostOf(note.each, told);
    if (before !== undefined) yield changeOf({ ...note, each }, window, Math.max(0, before - back));
  }

  return {
    take: (domains, told) => commit(take(domains, told)),
    read: async () => {
      const note = readNote();
      const window = windowAtMs(note.atMs);
      return { taken: takenIn(note, window), window };
    },
    giveBack: (...given) => commit(giveBack(...given)),
  };
}

function mostOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

/** The note on the logo of a domain. */
export interface LogoNote {
  /** The picture in the folder of logos; undefined when there is none. */
  readonly saved?: SavedLogo | undefined;
  /**
   * Why the picture that was last asked for could not be fetched, a word such as `http_404`, and
   * what identifies its URL; undefined when it was.
   */
  readonly missing?: { readonly reason: string; readonly mark: string } | undefined;
  /** When this was found out, in milliseconds since 1970. */
  readonly atMs: number;
}

export interface SavedLogo {
  /** The name of its file. */
  readonly file: string;
  readonly sizeBytes: number;
  /** Identifies the URL of the picture. */
  readonly mark: string;
}

/** Notes on the logos of one API. */
export type LogoNotes = ReturnType<typeof createLogoNotes>;

export function createLogoNotes({ logos: table, commit }: StoreDatabase, endpointId: string) {
  return {
    /** Undefined when there is no note. */
    find: (domain: string) => read(table, keyOf(endpointId, domain)) as LogoNote | undefined,
    /** Stores a note in place of an earlier one. Resolves when it is committed. */
    put: async (domain: string, value: LogoNote): Promise<void> =>
      await commit([{ table, key: keyOf(endpointId, domain), value }]),
  };
}
