import { readFileSync, unlinkSync } from 'node:fs';
import { link, rename, rm, stat, writeFile } from 'node:fs/promises';
import { beat, lastBeat } from '../../common/beat.ts';
import { BrandfillError, systemErrorCode } from '../../common/errors.ts';
import {
  BEAT_MS,
  describeOwner,
  describeSelf,
  isAlive,
  type Owner,
  SILENCE_MS,
} from '../../common/owner.ts';
import { refused, temporaryBeside } from './output-file.ts';
import { placeOf } from './output-paths.ts';
import { keepAtExit, removeAtExit } from './remove-at-exit.ts';

/** The claim of a run on a place that it writes to, or on all of them. */
export interface OutputLock {
  /**
   * To be called before anything is put in its place.
   *
   * @throws BrandfillError `OUTPUT_IN_USE` when another run has taken it, such as while this process
   * was frozen
   */
  assertOurs(): void;
  release(): void;
}

export interface LockOutputOptions {
  /** A holder that cannot be looked at from here counts as gone when it gave no sign for so long. @default 10 s */
  readonly silenceMs?: number;
  /** How often this one gives a sign of life. @default 2 s */
  readonly beatMs?: number;
  /** This process. */
  readonly self?: Owner;
  /** What to do other than wait for the holder. @default 'choose another output' */
  readonly advice?: string;
}

/** What the lock file says. */
interface Holder extends Owner {
  /** When it took the lock, in ISO 8601. */
  readonly since: string;
}

/**
 * Takes an output for this run alone, with a file beside it that ends in `.lock` and says who has it.
 * What a killed process left is taken over: on the same machine its number and start are looked up;
 * one in another container or on another machine is waited for, since it gives a sign of life every
 * two seconds. Standard output, devices and pipes are nobody's.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` that says who has it, `UNWRITABLE_OUTPUT`
 */
export async function lockOutput(
  path: string,
  {
    silenceMs = SILENCE_MS,
    beatMs = BEAT_MS,
    self = describeSelf(),
    advice = 'choose another output',
  }: LockOutputOptions = {},
): Promise<OutputLock> {
  if (path === '-') return NO_LOCK;
  const target = await placeOf(path);
  const before = await stat(target).catch(() => undefined);
  if (before && !before.isFile()) return NO_LOCK;
  const file = `${target}.lock`;
  const mine: Holder = { ...self, since: new Date().toISOString() };
  for (;;) {
    if (await refused(path, () => tryToTake(file, { target, mine }))) break;
    const holder = readHolder(file);
    if (holder === undefined) continue; // it was released just now
    if (holder === UNREADABLE) throw inUse(path, { holder, advice });
    const signs = { lastBeat: () => lastBeat(file), silenceMs };
    const isHeld = !releasedTokens.has(holder.token) && (await isAlive(holder, self, signs));
    if (isHeld) throw inUse(path, { holder, advice });
    await refused(path, () => removeStale(file, { target, holder }));
  }
  return holdLock(path, { file, token: mine.token, beatMs });
}

/**
 * Locks that this process released while their folder was read-only: their files are still there and name a
 * process that lives, as that of the schedules does, but nobody has them.
 */
const releasedTokens = new Set<string>();

interface Place {
  readonly target: string;
  readonly mine: Holder;
}

/** Makes the file, whole from the first moment; false when there is one already. */
async function tryToTake(file: string, { target, mine }: Place): Promise<boolean> {
  const temporary = temporaryBeside(target);
  const text = `${JSON.stringify(mine)}\n`;
  try {
    await writeFile(temporary, text);
    return await tryToLink(temporary, file).catch(() => tryToWrite(file, text));
  } finally {
    await rm(temporary, { force: true });
  }
}

/** @throws Error where the file system has no hard links */
async function tryToLink(temporary: string, file: string): Promise<boolean> {
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function tryToWrite(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a lock away whose holder is gone, unless another run has done so before. */
async function removeStale(
  file: string,
  { target, holder }: { readonly target: string; readonly holder: Holder },
): Promise<void> {
  const aside = temporaryBeside(target);
  try {
    await rename(file, aside);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  // It may be that of a run which was faster: that one gets it back.
  if (readHolder(aside)?.token !== holder.token) await link(aside, file).catch(() => {});
  await rm(aside, { force: true });
}

interface Hold {
  readonly file: string;
  readonly token: string;
  readonly beatMs: number;
}

function holdLock(path: string, { file, token, beatMs }: Hold): OutputLock {
  const timer = setInterval(() => beat(file), beatMs);
  timer.unref();
  const removeOwn = (): void => {
    try {
      if (readHolder(file)?.token === token) unlinkSync(file);
    } catch {
      releasedTokens.add(token); // other processes see it when this one is gone
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

/** Whose lock may not be read, as that of another user: nobody can say whether it is stale. */
const UNREADABLE: Holder = { pid: 0, startedAt: '', place: '', token: '', since: '' };

/** Who has it; without a name while that is still being written. */
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
