import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readlinkSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { systemErrorCode } from './errors.ts';

/**
 * A process that holds something, identified so that no later process with the same id is taken for
 * it.
 */
export interface Owner {
  readonly pid: number;
  /** When it started, in ticks since the start of the machine; empty if unknown. */
  readonly startedAt: string;
  /** Machine and process namespace, in which the process id is valid. */
  readonly place: string;
  /** Tells what one process owns apart. */
  readonly token: string;
}

/** How often an owner gives a sign of life. */
export const HEARTBEAT_MS = 2_000;
/** An owner that cannot be looked up here counts as gone after this silence. */
export const SILENCE_MS = 10_000;

/** This process, with a unique token. */
export function describeSelf(): Owner {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid),
    place: `${hostname()} ${namespaceOf()}`.trim(),
    token: randomUUID(),
  };
}

/** `process 4711 on web-1`. */
export function describeOwner({ pid, place }: Pick<Owner, 'pid' | 'place'>): string {
  return `process ${pid} on ${place.split(' ')[0] ?? ''}`;
}

/** Whether a process runs on the same kernel, perhaps in another container. */
export function isSameMachine(owner: Owner, self: Owner): boolean {
  const boot = bootOf(self);
  return boot !== '' && bootOf(owner) === boot;
}

/**
 * Owners in other containers or on other machines that were found to be gone, and for how long that
 * is believed. Whoever waited for one sign of life need not wait for the next.
 */
const gone = new Map<string, number>();
/** A process that was frozen may go on. */
export const GONE_MS = 60_000;

/**
 * Notes that an owner is gone, so that nothing else waits for it.
 *
 * @param forMs for how long that is certain. @default for ever, as when the kernel says so
 */
export function noteGone(owner: Owner, forMs: number = Number.POSITIVE_INFINITY): void {
  gone.set(processKey(owner), performance.now() + forMs);
}

function processKey({ place, pid, startedAt }: Owner): string {
  return [SHORT_PLACE.test(place) ? place : shortenPlace(place), pid, startedAt].join(' ');
}

const SHORT_PLACE = /^[0-9a-f]{12}$/;

/** The place in few characters, for names of files. {@link isHere} takes such places too. */
export function shortenPlace(place: string): string {
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

/** Whether a process exists; undefined when it cannot be looked up here. */
export function isHere(owner: Owner, self: Owner): boolean | undefined {
  if (gone.size > 0 && (gone.get(processKey(owner)) ?? 0) > performance.now()) return false;
  if (owner.place !== self.place) return undefined;
  if (!isRunning(owner.pid)) return false;
  const startedAt = startOf(owner.pid);
  return startedAt !== '' && owner.startedAt !== '' ? startedAt === owner.startedAt : undefined;
}

export interface SignsOfLife {
  /** When the last sign was given, by any clock. */
  readonly lastBeat: () => number;
  /** How long to wait for a sign. */
  readonly silenceMs: number;
}

/**
 * Whether an owner is alive. On the same machine its process id and start time are looked up. For a
 * process in another container or on another machine, this waits for a sign of life.
 */
export async function isAlive(
  owner: Owner,
  self: Owner,
  { lastBeat, silenceMs }: SignsOfLife,
): Promise<boolean> {
  const known = isHere(owner, self);
  if (known !== undefined) return known;
  const before = lastBeat();
  for (let waitedMs = 0; waitedMs < silenceMs; waitedMs += silenceMs / 20) {
    await delay(silenceMs / 20);
    // The time of the file is compared only with itself, because clocks of machines differ.
    if (lastBeat() !== before) return true;
  }
  noteGone(owner, GONE_MS);
  return false;
}

/** The id of the start of the machine, which all its containers share; empty if unknown. */
function bootOf({ place }: Owner): string {
  return place.split(' ')[1] ?? '';
}

function namespaceOf(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

function startOf(pid: number): string {
  return statOf(pid)[19] ?? '';
}

/**
 * Whether a process of this machine is running. Processes of other users count, although they
 * accept no signals from us. A process that has ended counts as such even before its parent has
 * noticed, which in containers may be never.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemErrorCode(error) === 'ESRCH') return false;
  }
  return !ENDED.has(statOf(pid)[0] ?? '');
}

/** The states zombie and dead, as Linux abbreviates them. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X']);

/** The fields of `/proc/PID/stat`, from the state on; empty when there are none. */
export function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may hold any character.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** Work that is repeated until it is closed, such as a sign of life. */
export interface Heartbeat {
  /** Settles as the first beat does. Need not be awaited. */
  readonly first: Promise<void>;
  readonly close: () => void;
}

/**
 * Repeats work at an interval, beginning now. A beat waits for the one before it: while Redis is
 * away, commands wait for it in memory, and would be more with every beat.
 *
 * @param onFailed called with why a beat failed; the next one tries again. @default not told
 */
export function startHeartbeat(
  everyMs: number,
  beat: () => Promise<unknown>,
  onFailed: (error: unknown) => void = () => {},
): Heartbeat {
  let isBeating = false;

  async function next(): Promise<void> {
    isBeating = true;
    try {
      await beat();
    } finally {
      isBeating = false;
    }
  }

  const first = next();
  first.catch(onFailed);
  const timer = setInterval(() => {
    if (!isBeating) next().catch(onFailed);
  }, everyMs);
  return { first, close: () => clearInterval(timer) };
}

/** Gives a sign of life by setting the time of a file. */
export function touchHeartbeat(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // The next beat will do.
  }
}

/**
 * When the last sign of life was given, by any clock; 0 when there is none. The file is opened,
 * because network file systems may answer a plain query for the time from a cache.
 */
export function lastBeat(path: string): number {
  try {
    const handle = openSync(path, 'r');
    try {
      return fstatSync(handle).mtimeMs;
    } finally {
      closeSync(handle);
    }
  } catch {
    return 0;
  }
}
