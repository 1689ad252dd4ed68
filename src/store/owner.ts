import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError, systemErrorCode } from '../common/errors.ts';
import { PRIVATE } from '../common/files.ts';

// A store has one owner at a time. The owner listens on a socket in the folder, so the kernel says
// whether there is one: it answers for a process that is busy, stopped or in another container, and
// closes the socket of one that was killed. Whoever waits holds a connection, and learns at once
// when it ends.
//
//   look ──┬─ another answers ──► wait for its end ──► look
//          └─ none ──► listen ──► look again ──┬─ none ──► own
//                                              └─ another answers ──► stop listening ──► wait
//
// Two that listen at the same time see each other, and both step back for a random moment: each
// listens before it looks.

/** Who has a store. */
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
  /** Called once, when another has the store and this waits for longer than a moment. */
  readonly onHeld?: ((holder: Holder) => void) | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** An owned folder. */
export interface Ownership {
  release(): Promise<void>;
}

const SHORT_WAIT_MS = 1_000;
/** Two that try at once try again after a random part of this. */
const STEP_BACK_MS = 60;
/**
 * Waits until no other process has a folder, and owns it from then on.
 *
 * @throws BrandfillError `STORE_IN_USE` that says who has it; the signal's reason; the error of the
 *   file system where no socket can be made
 */
export async function own(folder: string, options: OwnOptions = {}): Promise<Ownership> {
  const { waitMs = SHORT_WAIT_MS, onHeld, signal } = options;
  const place = placeOf(folder);
  const untilMs = performance.now() + waitMs;
  let isTold = waitMs <= SHORT_WAIT_MS;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const other = (await findOther(place)) ?? (await tryToOwn(place));
      if ('release' in other) {
        return { release: () => other.release().finally(() => place.close()) };
      }
      const { socket, holder } = other;
      if (holder) {
        const leftMs = untilMs - performance.now();
        if (leftMs <= 0) throw inUse(folder, holder);
        if (!isTold) onHeld?.(holder);
        isTold = true;
        await endOf(socket, leftMs, signal);
      } else await delay(STEP_BACK_MS * Math.random());
      socket.destroy();
    }
  } catch (error) {
    place.close();
    throw error;
  }
}

/** Listens, and owns the folder unless somebody else does so too. */
async function tryToOwn(place: Place): Promise<Ownership | Other> {
  const mine = await listen(place);
  const other = await findOther(place, mine.name);
  if (other) await mine.release();
  else mine.take();
  return other ?? mine;
}

/** `process 4711 on web-1, since 2026-11-26T03:00:00.000Z`. */
export function describeHolder({ pid, host, sinceMs }: Holder): string {
  if (pid === 0) return 'a process that does not answer, as when it is suspended';
  return `process ${pid} on ${host}, since ${new Date(sinceMs).toISOString()}`;
}

function inUse(folder: string, holder: Holder): BrandfillError {
  return new BrandfillError(
    'STORE_IN_USE',
    `Cannot open the store ${folder}: it is in use by ${describeHolder(holder)}; wait until that ends, or choose another folder with --store.`,
  );
}

/** Another that listens, and the connection to it. */
interface Other {
  readonly socket: Socket;
  /** Undefined while it only tries. */
  readonly holder: Holder | undefined;
}

/** @param mine the name of the socket of this process, if it listens */
async function findOther(place: Place, mine?: string): Promise<Other | undefined> {
  for (const name of place.names()) {
    if (name === mine) continue;
    const socket = await reach(place.addressOf(name));
    if (socket) return { socket, holder: await ask(socket) };
    place.remove(name); // its process is gone
  }
  return undefined;
}

/** Connects; undefined when nobody listens any more. */
async function reach(address: string): Promise<Socket | undefined> {
  const socket = connect(address);
  socket.on('error', () => {}); // also later, when its process is killed
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A stopped process takes connections and says nothing. */
const SILENCE_MS = 500;

async function ask(socket: Socket): Promise<Holder | undefined> {
  const over = new AbortController();
  const { signal } = over;
  const silent = delay(SILENCE_MS, 'silent' as const, { signal });
  const said = once(socket, 'data', { signal }).then(([bytes]) => String(bytes));
  const closed = once(socket, 'close', { signal }).then(() => 'closed' as const);
  try {
    const text = await Promise.race([silent, said, closed]);
    if (text === 'silent') return { pid: 0, host: '', sinceMs: 0 };
    if (text === 'closed') return undefined;
    const { isOwner, ...holder } = JSON.parse(text) as Holder & { readonly isOwner: boolean };
    return isOwner ? holder : undefined;
  } catch {
    return undefined; // it has just ended
  } finally {
    over.abort();
    for (const part of [silent, said, closed]) part.catch(() => {});
  }
}

async function endOf(socket: Socket, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (socket.closed) return;
  const over = new AbortController();
  const stop = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  socket.resume();
  const late = delay(Math.min(ms, LONGEST_MS), undefined, { signal: stop });
  await Promise.race([late, once(socket, 'close', { signal: stop })]).catch(() => {});
  over.abort();
}

/** The longest time of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

interface Listening extends Ownership {
  readonly name: string;
  /** From now on, this process is the owner for those who ask. */
  take(): void;
}

/** Listens in a folder under a name that is there once connections are taken. */
async function listen(place: Place): Promise<Listening> {
  const id = randomBytes(6).toString('hex');
  const name = place.nameOf(id);
  const self = { pid: process.pid, host: hostname(), sinceMs: Date.now(), isOwner: false };
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket.unref());
    socket.on('error', () => {}).on('close', () => waiting.delete(socket));
    socket.write(JSON.stringify(self));
  });
  server.unref();
  const release = async (): Promise<void> => {
    place.remove(name);
    for (const socket of waiting) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  try {
    server.listen(place.addressOf(`next-${id}`));
    await once(server, 'listening');
    place.rename(`next-${id}`, name);
  } catch (error) {
    await release();
    throw error;
  }
  const take = (): void => {
    self.isOwner = true;
  };
  return { name, take, release };
}

/** Where the sockets of a folder are. */
interface Place {
  /** The sockets that are there. */
  names(): readonly string[];
  nameOf(id: string): string;
  /** The path to listen at, or to connect to. */
  addressOf(name: string): string;
  rename(from: string, to: string): void;
  remove(name: string): void;
  close(): void;
}

/** The system takes no longer addresses, in bytes. */
const LONGEST_ADDRESS = 100;

function placeOf(folder: string): Place {
  if (process.platform === 'win32') return pipeOf(folder);
  let handle: number | undefined;
  return {
    names: () => readdirSync(folder).filter((name) => name.startsWith('owner-')),
    nameOf: (id) => `owner-${id}`,
    addressOf: (name) => {
      const path = join(folder, name);
      if (Buffer.byteLength(path) <= LONGEST_ADDRESS) return path;
      handle ??= openSync(folder, 'r');
      return `/proc/self/fd/${handle}/${name}`;
    },
    rename: (from, to) => {
      chmodSync(join(folder, from), PRIVATE.mode);
      renameSync(join(folder, from), join(folder, to));
    },
    remove: (name) => rmSync(join(folder, name), { force: true }),
    close: () => {
      if (handle !== undefined) closeSync(handle);
      handle = undefined;
    },
  };
}

/** Windows has no sockets in folders; a pipe goes with its process. */
function pipeOf(folder: string): Place {
  const id = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 24);
  return {
    names: () => ['owner'],
    nameOf: () => 'owner',
    addressOf: () => `\\\\.\\pipe\\brandfill-${id}`,
    rename: () => {},
    remove: () => {},
    close: () => {},
  };
}
