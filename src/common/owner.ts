import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, statOf } from './is-running.ts';

/** A process that has something for itself, so that another one under its number is not taken for it. */
export interface Owner {
  readonly pid: number;
  /** When it started, in ticks since the start of the machine; empty where that is not told. */
  readonly startedAt: string;
  /** Machine and process namespace: only there, the number means something. */
  readonly place: string;
  /** Tells claims of one process apart. */
  readonly token: string;
}

/** An owner gives a sign of life so often. */
export const BEAT_MS = 2_000;
/** An owner that cannot be looked at from here counts as gone when it gave no sign for so long. */
export const SILENCE_MS = 10_000;

/** This process, with a token that no other claim has. */
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

/** Whether a process is there; undefined when it cannot be looked at from here. */
export function isHere(owner: Owner, self: Owner): boolean | undefined {
  if (owner.place !== self.place) return undefined;
  if (!isRunning(owner.pid)) return false;
  const startedAt = startOf(owner.pid);
  return startedAt !== '' && owner.startedAt !== '' ? startedAt === owner.startedAt : undefined;
}

export interface SignsOfLife {
  /** When the last one was given, by whatever clock. */
  readonly lastBeat: () => number;
  /** How long to wait for one. */
  readonly silenceMs: number;
}

/**
 * Whether an owner lives. On the same machine its number and its start are looked up; one in another
 * container or on another machine is waited for.
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
    // Compared with itself only: the clocks of two machines differ.
    if (lastBeat() !== before) return true;
  }
  return false;
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
