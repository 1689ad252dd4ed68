import { existsSync } from 'node:fs';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { type Closable, unlessAborted } from '../common/lifetime.ts';
import { type Engine, openEngine } from './engine.ts';
import { ELSEWHERE, isFull, refusal } from './failures.ts';
import { findHome, leaveHome, makeHome } from './home.ts';
import { type OwnOptions, own } from './owner.ts';
import { isStoreIn, refuseUnsafe, removeStore, STORE, stamp } from './store-files.ts';

// A store is open once in a process, which owns it until the last of its users there has closed it.
// Runs take turns; others work beside them.
//
//   none ──first user──► opening ──► open, n users ──last closes, or a write fails──► none
//                           └─ failed ──► none

/** An open store: its tables, and how to change it. */
export interface StoreDatabase extends Engine, Closable {
  /** The folder as the person named it. */
  readonly folder: string;
  /** Lets others of this process have the store to themselves for a while. */
  readonly leaveTurn: () => Promise<void>;
  /** Has it back. @throws as opening it does */
  readonly takeTurn: () => Promise<void>;
}

export interface OpenOptions extends Pick<OwnOptions, 'waitMs' | 'onHeld' | 'signal'> {
  /**
   * Whether much is going to be written: else what is there can be opened on a full disk too.
   *
   * @default true
   */
  readonly needsRoom?: boolean;
  /** Whether to work beside others of this process. @default false */
  readonly isBeside?: boolean;
}

/** A store that is open in this process. */
interface Shared {
  readonly engine: Engine;
  readonly end: () => Promise<void>;
  users: number;
}

/** By their homes. */
const openHere = new Map<string, Promise<Shared>>();

/**
 * Makes the home of a store, also for files that are needed before the store is opened.
 *
 * @returns its path
 * @throws BrandfillError `UNUSABLE_STORE`
 */
export async function makeStoreHome(folder: string): Promise<string> {
  try {
    const home = await findHome(folder, STORE);
    makeHome(home, STORE);
    return home;
  } catch (error) {
    throw refusal(folder, describeSystemError(error), ELSEWHERE, error);
  }
}

/**
 * Opens the store in a folder, which is created if it does not exist, and makes sure that it is
 * ours and whole.
 *
 * @throws BrandfillError `UNUSABLE_STORE` when the folder cannot be used or holds another version,
 *   `STORE_IN_USE` when others have it
 */
export async function openDatabase(
  folder: string,
  { isBeside = false, ...options }: OpenOptions = {},
): Promise<StoreDatabase> {
  const home = await makeStoreHome(folder);
  const shared = await share(home, folder, options);
  let leaveTurn = async (): Promise<void> => {};
  const takeTurn = async (): Promise<void> => {
    const turn = await own(home, { ...options, called: folder, kind: 'turn' });
    leaveTurn = () => turn.release();
  };
  const close = async (): Promise<void> => {
    await leaveTurn();
    shared.users -= 1;
    if (shared.users === 0) await shared.end();
  };
  try {
    if (!isBeside) await takeTurn();
  } catch (error) {
    await close();
    throw error;
  }
  return { ...shared.engine, folder, takeTurn, leaveTurn: () => leaveTurn(), close };
}

async function share(home: string, folder: string, options: OpenOptions): Promise<Shared> {
  for (;;) {
    const { signal } = options;
    const there = openHere.get(home);
    const opening = there ?? open(home, folder, options);
    openHere.set(home, opening);
    try {
      const shared = await (there && signal ? unlessAborted(there, signal) : opening);
      // It may have been closed meanwhile.
      if (openHere.get(home) !== opening) continue;
      shared.users += 1;
      return shared;
    } catch (error) {
      if (!there) openHere.delete(home);
      if (there && !signal?.aborted) continue; // whoever opened it says why
      if (error instanceof BrandfillError || signal?.aborted) throw error;
      // Others that had nothing to keep have removed it meanwhile.
      if (systemErrorCode(error) === 'ENOENT' && !existsSync(home)) continue;
      throw refusal(folder, describeSystemError(error), ELSEWHERE, error);
    }
  }
}

async function open(
  home: string,
  folder: string,
  { needsRoom = true, ...options }: OpenOptions,
): Promise<Shared> {
  makeHome(home, STORE);
  const ownership = await own(home, { ...options, called: folder });
  let hasFailed = false;
  const onFailed = (): void => {
    hasFailed = true;
    openHere.delete(home);
    void ownership.release();
  };
  try {
    const isTried = await refuseUnsafe(home, folder, options.signal);
    const wasThere = isStoreIn(folder);
    const isWithoutRoom = isFull(home);
    if (isWithoutRoom && (needsRoom || !wasThere))
      throw refusal(folder, 'the disk is full', `make room, or ${ELSEWHERE}`);
    const opening = { folder, isTried: isTried && !isWithoutRoom, onFailed };
    const engine = await openEngine(home, opening);
    const end = async (): Promise<void> => {
      if (hasFailed) return;
      openHere.delete(home);
      try {
        await engine.settle();
        // A run that was declined leaves nothing behind.
        const isKept = wasThere || isInUse(engine);
        await engine.close();
        if (isKept) stamp(home);
        else removeStore(home);
      } finally {
        await ownership.release();
        leaveHome(home);
      }
    };
    return { engine, end, users: 0 };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/** Whether there is more in a store than what it is opened with. */
function isInUse({ answers, failures, reported, logos, calls, meta }: Engine): boolean {
  return (
    [...meta.getKeys()].some((key) => !/^(?:id|version|api:.*)$/.test(key)) ||
    [answers, failures, reported, logos, calls].some(
      (table) => [...table.getKeys({ limit: 1 })].length > 0,
    )
  );
}
