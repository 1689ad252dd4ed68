import type { Database } from 'lmdb';
import {
  type CalendarUnit,
  type CalendarWindow,
  type CallLedger,
  RUN_WINDOW,
  windowAt,
} from '../worker/budget.ts';
import type { StoreDatabase } from './database.ts';
import { keyOf } from './entries.ts';

// What a store notes besides outcomes: the pace, calls of a budget, and logos. Each is JSON under a
// key. A note that is malformed counts as none: it costs some seconds, or a picture.

type NotedTable = Database<unknown, string>;

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
  /** When it was written, in milliseconds since 1970. */
  readonly savedAtMs: number;
  /** When the limit in it was last reached, in milliseconds since 1970. */
  readonly learnedAtMs: number;
}

const paceKey = (id: string): string => `pace:${id}`;

/** The saved pace; undefined when there is none. */
export function findPace({ meta }: StoreDatabase, id: string): SavedPace | undefined {
  const { state, savedAtMs, learnedAtMs } = read(meta, paceKey(id)) ?? {};
  if (!Number.isFinite(savedAtMs) || !Number.isFinite(learnedAtMs)) return undefined;
  return { state, savedAtMs: Number(savedAtMs), learnedAtMs: Number(learnedAtMs) };
}

export async function savePace(
  { meta, write }: StoreDatabase,
  id: string,
  pace: SavedPace,
): Promise<void> {
  await write(() => meta.put(paceKey(id), pace));
}

const apiKey = (endpointId: string): string => `api:${endpointId}`;

/** Notes the name of an API, for people who maintain the store. */
export async function noteApiName(
  { meta, write }: StoreDatabase,
  endpointId: string,
  name: string,
): Promise<void> {
  const key = apiKey(endpointId);
  if (meta.get(key) !== name) await write(() => meta.put(key, name));
}

/** The name of an API; undefined when no run has noted it. */
export function findApiName({ meta }: StoreDatabase, endpointId: string): string | undefined {
  const name = meta.get(apiKey(endpointId));
  return typeof name === 'string' ? name : undefined;
}

/** What a store counts: calls, or what they cost, of one run or in each window of the calendar. */
export interface Counted {
  /** A hash that does not reveal the credential. */
  readonly id: string;
  readonly unit: CalendarUnit | 'run';
  /** How many there may be. */
  readonly count: number;
}

/** Counts in the store. What is all given back leaves no note. */
export function createCallLedger(
  { calls: table, transact }: StoreDatabase,
  { id, unit, count }: Counted,
): CallLedger {
  const key = `${id}:${unit}`;
  const windowAtMs = (nowMs: number): CalendarWindow =>
    unit === 'run' ? RUN_WINDOW : windowAt(unit, nowMs);

  /** 0 when the table holds another window. */
  function takenIn(windowId: string): number {
    const { window, taken } = read(table, key) ?? {};
    return window === windowId && typeof taken === 'number' ? taken : 0;
  }

  return {
    take: async (most) =>
      await transact(() => {
        const nowMs = Date.now();
        const window = windowAtMs(nowMs);
        const taken = takenIn(window.id);
        const calls = Math.max(0, Math.min(most, count - taken));
        if (calls > 0) table.putSync(key, { window: window.id, taken: taken + calls });
        return { calls, window, nowMs };
      }),
    read: async () => {
      const window = windowAtMs(Date.now());
      return { taken: takenIn(window.id), window };
    },
    giveBack: async (calls, window) =>
      await transact(() => {
        const left = takenIn(window.id) - calls;
        if (left > 0) table.putSync(key, { window: window.id, taken: left });
        else if (left === 0) table.removeSync(key);
      }),
  };
}

/** The note on the logo of a domain. */
export interface LogoNote {
  /** The picture in the folder of logos; undefined when there is none. */
  readonly saved?: SavedLogo | undefined;
  /** Why the picture that was last asked for could not be fetched; undefined when it was. */
  readonly missing?: MissingLogo | undefined;
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

export interface MissingLogo {
  /** A word such as `http_404`. */
  readonly reason: string;
  /** Identifies the URL and how it was asked for. */
  readonly mark: string;
}

/** Notes on the logos of one API. */
export type LogoNotes = ReturnType<typeof createLogoNotes>;

export function createLogoNotes({ logos, write }: StoreDatabase, endpointId: string) {
  return {
    /** Undefined when there is no note. */
    find: (domain: string) => read(logos, keyOf(endpointId, domain)) as LogoNote | undefined,
    /** Stores a note in place of an earlier one. Resolves when it is committed. */
    put: async (domain: string, note: LogoNote): Promise<void> => {
      await write(() => logos.put(keyOf(endpointId, domain), note));
    },
  };
}
