import { readFileSync, rmSync, unlinkSync } from 'node:fs';
import { link, rm, stat, writeFile } from 'node:fs/promises';
import { BrandfillError, systemErrorCode } from '../../common/errors.ts';
import { PRIVATE } from '../../common/files.ts';
import { createLockLink } from '../../common/lock-link.ts';
import {
  describeOwner,
  describeSelf,
  HEARTBEAT_MS,
  isAlive,
  lastBeat,
  type Owner,
  SILENCE_MS,
  touchHeartbeat,
} from '../../common/owner.ts';
import { keepAtExit, placeToWrite, refused, removeAtExit, temporaryBeside } from './output-file.ts';
import { type OutputPaths, placeOf } from './output-paths.ts';

/** That a run owns an output, or all its outputs. */
export interface OutputLock {
  /**
   * Must be called before anything is put in its place.
   *
   * @throws BrandfillError `OUTPUT_IN_USE` when another run has taken it, for example while this
   *   process was frozen
   */
  assertOurs(): void;
  release(): void;
}

export interface LockOutputOptions {
  /** A holder that cannot be looked up here counts as gone after this silence. @default 10 s */
  readonly silenceMs?: number;
  /** How often this process gives a sign of life. @default 2 s */
  readonly heartbeatMs?: number;
  /** This process. */
  readonly self?: Owner;
  /** The advice to users other than waiting for the holder. @default 'choose another output' */
  readonly advice?: string;
  /** Who may read who holds it. @default everybody */
  readonly mode?: number;
}

/** Others may have to tell whether the holder is alive. None of them may say that it is not. */
const READABLE = 0o644;

/** The contents of the lock file. */
interface Holder extends Owner {
  /** When it took the lock, in ISO 8601. */
  readonly since: string;
}

/**
 * Takes an output for this run alone, with a file beside it that ends in `.lock` and names the
 * holder. The lock of a killed process is taken over. On the same machine its process id and start
 * time are looked up. A process in another container or on another machine is given time to show a
 * sign of life, which comes every two seconds. Standard output, devices and pipes are not locked.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` that names the holder, `UNWRITABLE_OUTPUT`
 */
export async function lockOutput(
  path: string,
  {
    silenceMs = SILENCE_MS,
    heartbeatMs = HEARTBEAT_MS,
    self = describeSelf(),
    advice = 'choose another output',
    mode = READABLE,
  }: LockOutputOptions = {},
): Promise<OutputLock> {
  if (path === '-') return NO_LOCK;
  const target = await placeToWrite(path);
  const before = await stat(target).catch(() => undefined);
  if (before && !before.isFile()) return NO_LOCK;
  const file = `${target}.lock`;
  const mine: Holder = { ...self, since: new Date().toISOString() };
  for (;;) {
    if (await refused(path, () => tryToTake(file, { target, mine, mode }))) break;
    const holder = readHolder(file);
    if (holder === undefined) continue; // it was released just now
    if (holder === UNREADABLE) throw inUse(path, { holder, advice });
    const signs = { lastBeat: () => lastBeat(file), silenceMs };
    const isHeld = !releasedTokens.has(holder.token) && (await isAlive(holder, self, signs));
    if (isHeld) throw inUse(path, { holder, advice });
    await refused(path, () => removeStale(file, holder, self));
  }
  return holdLock(path, { file, token: mine.token, heartbeatMs });
}

/**
 * Locks that this process released while their folder was read-only. Their files still exist and
 * name a live process, such as that of the schedules, but the locks are free.
 */
const releasedTokens = new Set<string>();

interface Place {
  readonly target: string;
  readonly mine: Holder;
  readonly mode: number;
}

/** Creates the file with its full contents. Returns false when it exists already. */
async function tryToTake(file: string, { target, mine, mode }: Place): Promise<boolean> {
  const temporary = temporaryBeside(target);
  const write = async (path: string): Promise<void> =>
    await writeFile(path, `${JSON.stringify(mine)}\n`, { flag: 'wx', mode });
  try {
    await write(temporary);
    return await isNew(link(temporary, file)).catch(() => isNew(write(file)));
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Whether a file was made. False when it was there; there may be no hard links on this file system. */
async function isNew(making: Promise<void>): Promise<boolean> {
  try {
    await making;
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a lock whose holder is gone, unless another run has already done so. One at a time, so that
 * nobody removes the new lock of a run that was faster.
 */
async function removeStale(file: string, holder: Holder, self: Owner): Promise<void> {
  const turn = createLockLink(`${file}.turn`, { self });
  const mark = await turn.acquire();
  try {
    if (readHolder(file)?.token === holder.token) rmSync(file, { force: true });
  } finally {
    turn.release(mark);
  }
}

interface Hold {
  readonly file: string;
  readonly token: string;
  readonly heartbeatMs: number;
}

function holdLock(path: string, { file, token, heartbeatMs }: Hold): OutputLock {
  const timer = setInterval(() => touchHeartbeat(file), heartbeatMs);
  timer.unref();
  const removeOwn = (): void => {
    try {
      if (readHolder(file)?.token === token) unlinkSync(file);
    } catch {
      releasedTokens.add(token); // other processes take it over once this one is gone
    }
  };
  removeAtExit(removeOwn);
  return {
    assertOurs: () => {
      const holder = readHolder(file);
      if (holder?.token === token) return;
      throw new BrandfillError(
        'OUTPUT_IN_USE',
        `Cannot write ${path}: ${describeLoss(file, holder)}; what was found is kept, run it again.`,
      );
    },
    release: () => {
      clearInterval(timer);
      keepAtExit(removeOwn);
      removeOwn();
    },
  };
}

function describeLoss(file: string, holder: Holder | undefined): string {
  const who = holder && (holder.pid > 0 ? describeOwner(holder) : 'another run');
  return who !== undefined
    ? `${who} has taken its lock ${file} while this run gave no sign of life`
    : `its lock ${file} is gone, as when its folder was removed, or when another run had it while this one gave no sign of life`;
}

function inUse(
  path: string,
  { holder, advice }: { readonly holder: Holder; readonly advice: string },
): BrandfillError {
  const { since, ...owner } = holder;
  const who = owner.pid > 0 ? `${describeOwner(owner)}, since ${since}` : `see ${path}.lock`;
  return new BrandfillError(
    'OUTPUT_IN_USE',
    `Cannot write ${path}: another run has it (${who}); wait until that ends, or ${advice}.`,
  );
}

/**
 * Stands for a lock that cannot be read, as that of another user: whether it is stale is unknown.
 */
const UNREADABLE: Holder = { pid: 0, startedAt: '', place: '', token: '', since: '' };

/** Reads the holder. It has no process id while the file is still being written. */
function readHolder(file: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = systemErrorCode(error);
    return code === 'EACCES' || code === 'EISDIR' ? UNREADABLE : undefined;
  }
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { pid: 0, startedAt: '', place: '', token: '', since: '' };
  }
}

const NO_LOCK: OutputLock = { assertOurs: () => {}, release: () => {} };

/** All files that a run writes. */
export interface LockedPaths extends OutputPaths {
  /**
   * The file with the last report of the changes, in an existing folder. Undefined without changes.
   */
  readonly manifest?: string | undefined;
}

/**
 * Takes all outputs of a run, or none. Every run takes them in the same order: by their places, and
 * the manifest last. So of two runs that want the same ones, one gets them.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` with the output and its holder, `UNWRITABLE_OUTPUT`
 */
export async function lockOutputs({
  out,
  failures,
  changes,
  manifest,
}: LockedPaths): Promise<OutputLock> {
  const taken: OutputLock[] = [];
  const release = (): void => {
    for (const lock of taken) lock.release();
  };
  try {
    const files = [out, failures, changes].filter((path) => path !== undefined);
    for (const path of await inOrder(files)) taken.push(await lockOutput(path));
    if (manifest !== undefined) {
      taken.push(
        await lockOutput(manifest, { advice: 'choose another --changes', mode: PRIVATE.mode }),
      );
    }
  } catch (error) {
    release();
    throw error;
  }
  return {
    assertOurs: () => {
      for (const lock of taken) lock.assertOurs();
    },
    release,
  };
}

/** Sorts by real places, which are the same whatever links and folders a run uses. */
async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const placed = await Promise.all(
    paths.map(async (path) => ({ path, place: await placeOf(path) })),
  );
  placed.sort((one, other) => (one.place < other.place ? -1 : 1));
  return placed.map(({ path }) => path);
}
