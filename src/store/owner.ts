import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError, systemErrorCode } from '../common/errors.ts';
import { PRIVATE } from '../common/files.ts';
import { LONGEST_TIMER_MS } from '../common/lifetime.ts';
import { isOwnSocket } from './home.ts';

// A folder has one owner at a time. The owner listens on a socket in it, so the kernel says whether
// there is one: it answers for a process that is busy, stopped or in another container, and closes
// the socket of one that was killed. Whoever waits holds a connection, and learns at once when it
// ends. The name of a socket says whose it is. What only looks like one stays as it is.
//
//   look ──┬─ another listens ──► wait for its end ──► look
//          └─ none ──► listen ──► look again ──┬─ none ──► own
//                                              └─ another ──► stop listening, for a random moment
//
// Two that listen at the same time see each other, since each listens before it looks.

/** Who has a folder. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Since when, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface OwnOptions {
  /**
   * How long to wait for another owner, in milliseconds. @default a second: it may be a short
   * command
   */
  readonly waitMs?: number | undefined;
  /** Called once, when another has the folder and this waits for longer than a moment. */
  readonly onHeld?: ((holder: Holder) => void) | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** What the folder is called in messages. @default its path */
  readonly called?: string | undefined;
  /** Several kinds have nothing to do with each other. @default owner */
  readonly kind?: 'owner' | 'turn';
}

/** An owned folder. */
export interface Ownership {
  release(): Promise<void>;
}

const SHORT_WAIT_MS = 1_000;
/** Whoever only tries to own a folder listens for less than this. */
const MOMENT_MS = 200;
/** Two that try at once try again after a random part of this. */
const STEP_BACK_MS = 60;

/**
 * Waits until no other process has a folder, and owns it from then on.
 *
 * @throws BrandfillError `STORE_IN_USE` that says who has it; the signal's reason; the error of the
 *   file system where no socket can be made
 */
export async function own(folder: string, options: OwnOptions = {}): Promise<Ownership> {
  const { waitMs = SHORT_WAIT_MS, onHeld, signal, called = folder, kind = 'owner' } = options;
  const untilMs = performance.now() + waitMs;
  let seen: string | undefined;
  let isTold = waitMs <= SHORT_WAIT_MS;
  for (;;) {
    signal?.throwIfAborted();
    const other = await findOther(folder, kind);
    const mine = other ? undefined : await tryToOwn(folder, kind);
    if (mine) return mine;
    if (other) {
      const { name, socket } = other;
      const leftMs = untilMs - performance.now();
      const isOwner = name === seen;
      seen = name;
      if (isOwner && !isTold) onHeld?.(holderOf(name));
      isTold ||= isOwner;
      if (leftMs > 0) await endOf(socket, isOwner ? leftMs : Math.min(leftMs, MOMENT_MS), signal);
      socket.destroy();
      if (leftMs <= 0) throw inUse(called, holderOf(name));
    }
    await delay(STEP_BACK_MS * Math.random());
  }
}

/** `process 4711 on web-1, since 2026-11-26T03:00:00.000Z`. */
export function describeHolder({ pid, host, sinceMs }: Holder): string {
  return `process ${pid} on ${host}, since ${new Date(sinceMs).toISOString()}`;
}

function inUse(folder: string, holder: Holder): BrandfillError {
  return new BrandfillError(
    'STORE_IN_USE',
    `Cannot open the store ${folder}: it is in use by ${describeHolder(holder)}; wait until that ends, or choose another folder with option 'store'.`,
  );
}

/** Another that listens, and the connection to it. */
interface Other {
  readonly name: string;
  readonly socket: Socket;
}

/** @param mine the name of the socket of this process, if it listens */
async function findOther(folder: string, kind: string, mine?: string): Promise<Other | undefined> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name === mine || OWNER.exec(name)?.[1] !== kind || !isOwnSocket(path)) continue;
    const socket = await reach(folder, name);
    if (socket) return { name, socket };
    rmSync(path, { force: true }); // it was killed
  }
  return undefined;
}

/** Connects; undefined when nobody listens any more. */
async function reach(folder: string, name: string): Promise<Socket | undefined> {
  const { address, close } = openAddress(folder, name);
  const socket = connect(address);
  socket.on('error', () => {}); // also later, when its process is killed
  try {
    await once(socket, 'connect');
    return socket.resume();
  } catch (error) {
    if (GONE.has(systemErrorCode(error))) return undefined;
    throw error;
  } finally {
    close();
  }
}

const GONE: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);

async function endOf(socket: Socket, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (socket.closed) return;
  const late = AbortSignal.timeout(Math.ceil(Math.min(ms, LONGEST_TIMER_MS)));
  const stop = signal ? AbortSignal.any([late, signal]) : late;
  await once(socket, 'close', { signal: stop }).catch(() => {});
}

/** Listens in a folder, and owns it unless somebody else listens there too. */
async function tryToOwn(folder: string, kind: string): Promise<Ownership | undefined> {
  const id = `${process.pid}-${Date.now()}-${randomBytes(4).toString('hex')}-${HOST}`;
  const name = `${kind}-${id}`;
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket.unref());
    socket.on('error', () => {}).on('close', () => waiting.delete(socket));
  });
  const release = async (): Promise<void> => {
    rmSync(join(folder, name), { force: true });
    for (const socket of waiting) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const { address, close } = openAddress(folder, `next-${id}`);
  try {
    server.unref().listen(address);
    await once(server, 'listening');
    // Under its name it is there once it takes connections: others would take it for a dead one.
    chmodSync(join(folder, `next-${id}`), PRIVATE.mode);
    renameSync(join(folder, `next-${id}`), join(folder, name));
    const other = await findOther(folder, kind, name);
    if (!other) return { release };
    other.socket.destroy();
    await release();
    return undefined;
  } catch (error) {
    await release();
    throw error;
  } finally {
    close();
  }
}

const HOST = hostname()
  .replaceAll(/[^\w.-]/g, '_')
  .slice(0, 30);

const OWNER = /^(owner|turn)-(\d+)-(\d+)-[\da-f]{8}-([\w.-]{0,30})$/;

function holderOf(name: string): Holder {
  const [, , pid = 0, sinceMs = 0, host = ''] = OWNER.exec(name) ?? [];
  return { pid: Number(pid), sinceMs: Number(sinceMs), host };
}

/** The system takes no longer addresses, in bytes. */
const LONGEST_ADDRESS = 100;

/** The path to listen at, or to connect to, until it is closed. */
function openAddress(folder: string, name: string): { address: string; close: () => void } {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= LONGEST_ADDRESS) return { address: path, close: () => {} };
  const handle = openSync(folder, 'r');
  return { address: `/proc/self/fd/${handle}/${name}`, close: () => closeSync(handle) };
}
