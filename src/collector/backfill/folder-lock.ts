import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { isRunning } from '../../is-running.ts';

/** The claim of this process on a folder. */
export interface FolderLock {
  /** Whether nobody else has taken the folder, such as while this process was frozen. */
  isOurs(): boolean;
  release(): void;
}

/** A process, so that another one under the same number is not taken for it. */
export interface Owner {
  readonly pid: number;
  /** When it started, in ticks since the start of the machine; empty where that is not told. */
  readonly startedAt: string;
  /** Machine and process namespace: only there, the number means something. */
  readonly place: string;
  /** Tells claims of one process apart. */
  readonly token: string;
}

export interface LockFolderOptions {
  readonly root: RootDatabase;
  /** Where the owner's signs of life go. */
  readonly folder: string;
  /** An owner that cannot be looked at from here counts as gone when it gave no sign for so long. @default 10 s */
  readonly silenceMs?: number;
  /** This process. */
  readonly self?: Owner;
}

const BEAT_MS = 2_000;
const SILENCE_MS = 10_000;

/**
 * Takes a folder for this process alone, or gives back who has it. A process that was killed does not
 * keep it: on the same machine its number and start are looked up; one in another container or on
 * another machine is waited for, since it gives a sign of life every two seconds.
 */
export async function lockFolder(options: LockFolderOptions): Promise<FolderLock | Owner> {
  const { root, folder, silenceMs = SILENCE_MS, self = describeSelf() } = options;
  const table = root.openDB<Owner, string>('owner', { encoding: 'json' });
  const beatFile = join(folder, 'beat');

  for (;;) {
    const owner = table.get(KEY);
    if (owner && (await isAlive(owner, { self, beatFile, silenceMs }))) return owner;
    const isTaken = root.transactionSync(() => {
      // Another one may have been faster.
      if (table.get(KEY)?.token !== owner?.token) return false;
      table.putSync(KEY, self);
      return true;
    });
    if (isTaken) break;
  }
  writeFileSync(beatFile, '');
  const timer = setInterval(() => beat(beatFile), BEAT_MS);
  timer.unref();
  const isOurs = (): boolean => table.get(KEY)?.token === self.token;
  return {
    isOurs,
    release: () => {
      clearInterval(timer);
      root.transactionSync(() => {
        if (isOurs()) table.removeSync(KEY);
      });
    },
  };
}

const KEY = 'owner';

interface Look {
  readonly self: Owner;
  readonly beatFile: string;
  readonly silenceMs: number;
}

async function isAlive(owner: Owner, { self, beatFile, silenceMs }: Look): Promise<boolean> {
  if (owner.place === self.place) {
    if (!isRunning(owner.pid)) return false;
    const startedAt = startOf(owner.pid);
    if (startedAt !== '' && owner.startedAt !== '') return startedAt === owner.startedAt;
  }
  const before = lastBeat(beatFile);
  for (let waitedMs = 0; waitedMs < silenceMs; waitedMs += silenceMs / 20) {
    await delay(silenceMs / 20);
    // Compared with itself only: the clocks of two machines differ.
    if (lastBeat(beatFile) !== before) return true;
  }
  return false;
}

/** This process, with a token that no other claim has. */
export function describeSelf(): Owner {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid),
    place: `${hostname()} ${namespaceOf()}`.trim(),
    token: randomUUID(),
  };
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
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses and may hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function beat(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // The next one will do.
  }
}

function lastBeat(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
