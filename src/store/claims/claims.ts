import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { PRIVATE, PRIVATE_FOLDER } from '../../common/files.ts';
import { DAY_MS } from '../../common/format.ts';
import { describeSelf, HEARTBEAT_MS, isHere, type Owner, SILENCE_MS } from '../../common/owner.ts';

/**
 * Which domains the runs on one store have under way, so that no two runs ask about the same one.
 * Each run notes what it is about to ask in a file, and then reads the files of the others.
 *
 * Two runs may each find that the other wants the same domain. Then neither gets it, and both try
 * again a little later. When files cannot be written, a run goes on as if it were alone.
 */
export interface Claims {
  /**
   * Claims domains before they are asked.
   *
   * @param isDone whether another run has asked a domain meanwhile
   */
  take(domains: readonly string[], isDone: (domain: string) => boolean): TakenClaims;
  /** Releases all claims, apart from those of lookups that go on at workers. */
  close(): void;
}

export interface TakenClaims {
  /** Domains that may be asked. */
  readonly granted: readonly string[];
  /** Domains that another run has under way. */
  readonly refused: readonly string[];
}

export interface ClaimsOptions {
  readonly endpointId: string;
  /** The domains that this run has under way, including those to be claimed. */
  readonly underWay: ReadonlySet<string>;
  /** Whether this run waits for a person, for example to resume it. @default never */
  readonly standsStill?: () => boolean;
  /** Called before `isDone` when there are other runs, which may have stored outcomes just now. */
  readonly onOthers: () => void;
  /** Where lookups are made, if not in this process. @default in this process */
  readonly elsewhere?: LookupsElsewhere | undefined;
  /** This run. */
  readonly self?: Owner;
  /** How often the file of claims is renewed. @default 2 s */
  readonly renewMs?: number;
  /** How long runs on other machines may be silent. @default 10 s */
  readonly silenceMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Lookups on a queue. They go on when their run is lost. */
export interface LookupsElsewhere {
  /** The name of this run on the queue. */
  readonly runId: string;
  /**
   * Stores what workers found for a lost run, and takes the rest back.
   *
   * @returns whether nothing of the run is left on the queue
   */
  readonly endLost: (runId: string) => Promise<boolean>;
}

/**
 * Creates the claims of a run. Nothing is written before the first claim.
 *
 * @param folder the folder of the files, created if it does not exist
 */
export function createClaims(folder: string, options: ClaimsOptions): Claims {
  const { self = describeSelf(), onOthers, elsewhere } = options;
  let open: OpenClaims | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isUnusable = false;

  function begin(): OpenClaims {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const own = openOwnClaims(folder, { ...options, ...elsewhere, owner: self });
    const others = readClaimsOfOthers(folder, { ...options, ...elsewhere, self });
    timer = renewOften(own, options);
    return { own, others };
  }

  function end(): void {
    if (!open) return;
    clearInterval(timer);
    open.others.close();
    // Workers go on with lookups that a stopped run could not wait for.
    if (elsewhere && options.underWay.size > 0) open.own.leave();
    else open.own.close();
    open = undefined;
  }

  function take(domains: readonly string[], isDone: (domain: string) => boolean): TakenClaims {
    open ??= begin();
    const { own, others } = open;
    own.add(domains);
    if (!others.look()) return { granted: domains, refused: [] };
    onOthers();
    const refused = domains.filter((domain) => others.has(domain));
    const granted = domains.filter((domain) => !others.has(domain) && !isDone(domain));
    const isGranted = new Set(granted);
    own.release(domains.filter((domain) => !isGranted.has(domain)));
    return { granted, refused };
  }

  return {
    take: (domains, isDone) => {
      if (isUnusable) return { granted: domains, refused: [] };
      try {
        return take(domains, isDone);
      } catch {
        isUnusable = true;
        return { granted: domains, refused: [] };
      }
    },
    close: () => unlessItFails(end),
  };
}

interface OpenClaims {
  readonly own: OwnClaims;
  readonly others: ClaimsOfOthers;
}

/**
 * Renews the claims unless this run stands still for long. A run that waits for the API does not
 * stand still: others would take its domains, and both would ask them after the wait.
 */
function renewOften(
  own: OwnClaims,
  {
    underWay,
    standsStill = () => false,
    renewMs = HEARTBEAT_MS,
    now = () => performance.now(),
  }: ClaimsOptions,
): NodeJS.Timeout {
  let movedAtMs = now();
  let hasReleased = false;
  const timer = setInterval(() => {
    if (!standsStill()) movedAtMs = now();
    const isStill = now() - movedAtMs >= STANDSTILL_MS;
    if (!isStill) unlessItFails(() => own.renew());
    else if (!hasReleased) unlessItFails(() => own.release([...underWay]));
    hasReleased = isStill;
  }, renewMs);
  return timer.unref();
}

/** Ignores errors. Others see that a run whose file cannot be written gives no sign of life. */
function unlessItFails(work: () => void): void {
  try {
    work();
  } catch {
    // The next attempt may succeed.
  }
}

/** For a store that keeps nothing. */
export const NO_CLAIMS: Claims = {
  take: (domains) => ({ granted: domains, refused: [] }),
  close: () => {},
};

/** The domains that other runs at the same API have under way. */
interface ClaimsOfOthers {
  /**
   * Reads what is new in all readable files.
   *
   * @returns whether there are other runs, or were at the last look
   * @throws Error of the file system when the folder cannot be listed
   */
  look(): boolean;
  /** Whether a live run, or workers of a lost one, had a domain under way at the last look. */
  has(domain: string): boolean;
  close(): void;
}

/** Two changes of a folder within a tick of the file system's clock have the same time. */
const TICK_MS = 100;

/** @param folder an existing folder */
function readClaimsOfOthers(folder: string, options: OtherRunOptions): ClaimsOfOthers {
  const others = new Map<string, OtherRun>();
  let listedAtMs = Number.NaN;

  function list(): void {
    const { mtimeMs } = statSync(folder);
    if (mtimeMs === listedAtMs && Math.abs(Date.now() - mtimeMs) > TICK_MS) return;
    for (const name of readdirSync(folder)) {
      // Files that are not complete yet have names with a leading dot.
      if (name.startsWith('.') || name === options.self.token || others.has(name)) continue;
      others.set(name, createOtherRun(join(folder, name), options));
    }
    listedAtMs = mtimeMs;
  }

  return {
    look: () => {
      list();
      let areThere = false;
      for (const [name, other] of others) {
        const state = other.look();
        // A run that has just ended may have stored what was asked for.
        areThere ||= state !== 'of_no_concern';
        if (state !== 'gone') continue;
        other.close();
        others.delete(name);
      }
      return areThere;
    },
    has: (domain) => {
      for (const other of others.values()) if (other.has(domain)) return true;
      return false;
    },
    close: () => {
      for (const other of others.values()) other.close();
      others.clear();
    },
  };
}

/** The claims of this run, in a file that other runs read. */
interface OwnClaims {
  readonly path: string;
  add(domains: readonly string[]): void;
  /** Releases claims. */
  release(domains: readonly string[]): void;
  /**
   * Writes the file anew, without domains that have outcomes by now. This is also a sign of life.
   */
  renew(): void;
  /** Leaves the domains under way to any run that wants them. */
  leave(): void;
  /** Releases all claims. */
  close(): void;
}

/** A longer file is renewed early, which makes all runs list the folder. */
const MOST_BYTES = 512 * 1024;

/**
 * @param folder an existing folder
 * @param underWay the domains that this run has under way, including those it is about to add
 * @throws Error of the file system
 */
function openOwnClaims(
  folder: string,
  { owner, endpointId, runId, underWay }: OwnClaimsOptions,
): OwnClaims {
  const path = join(folder, owner.token);
  let sizeBytes = 0;
  let mostBytes = MOST_BYTES;
  let file = begin();

  /** Writes the file under another name first, so that it is never seen incomplete. */
  function begin(): number {
    const temporary = join(folder, `.${owner.token}`);
    const text = beginWith({ owner, endpointId, runId }) + linesOf(underWay);
    writeFileSync(temporary, text, { mode: PRIVATE.mode });
    renameSync(temporary, path);
    sizeBytes = text.length;
    // However many domains are under way, not every chunk should renew the file.
    mostBytes = Math.max(MOST_BYTES, 2 * sizeBytes);
    return openSync(path, 'a');
  }

  function renew(): void {
    const next = begin();
    closeSync(file);
    file = next;
  }

  function append(text: string): void {
    if (sizeBytes + text.length > mostBytes) renew();
    writeSync(file, text);
    sizeBytes += text.length;
  }

  return {
    path,
    add: (domains) => append(linesOf(domains)),
    release: (domains) => append(linesOf(domains, RELEASED)),
    renew,
    leave: () => {
      renew();
      closeSync(file);
    },
    close: () => {
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
}

interface OwnClaimsOptions extends ClaimHead {
  readonly underWay: Iterable<string>;
}

/** Another run, as its file of claims shows it. */
export interface OtherRun {
  /** Reads what is new. The file of a run that is gone is removed. */
  look(): 'there' | 'of_no_concern' | 'gone';
  /**
   * Whether the run had a domain under way at the last look. When it is lost but workers go on with
   * the domain, the call ends the run on the queue.
   */
  has(domain: string): boolean;
  close(): void;
}

export interface OtherRunOptions {
  /** This run. */
  readonly self: Owner;
  /** Runs at other endpoints are ignored. */
  readonly endpointId: string;
  /** The name of this run on a queue. @default no queue */
  readonly runId?: string | undefined;
  /**
   * Ends what a lost run has on the queue. Resolves with whether nothing is left. @default no queue
   */
  readonly endLost?: ((runId: string) => Promise<boolean>) | undefined;
  /** A run elsewhere that is silent for this long holds nothing any more. @default 10 s */
  readonly silenceMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** A run that stands still for this long, as while paused, keeps nothing from others. */
const STANDSTILL_MS = 5 * 60_000;
/** How often a process is looked up, which costs more than reading its claims. */
const POLL_MS = 500;
/** Nothing of a lost run is kept on a queue for longer. */
const KEPT_MS = 7 * DAY_MS;

function createOtherRun(
  path: string,
  {
    self,
    endpointId,
    runId,
    endLost,
    silenceMs = SILENCE_MS,
    now = () => performance.now(),
  }: OtherRunOptions,
): OtherRun {
  let file: AppendedLines | undefined;
  let head: ClaimHead | undefined;
  let claimed = new Set<string>();
  /** Whether its process is alive; undefined when that cannot be looked up. */
  let isThere: boolean | undefined;
  let lookedUpAtMs = Number.NEGATIVE_INFINITY;
  let sign = { mtimeMs: Number.NaN, atMs: 0 };
  let isSilent = false;
  /** Whether none of its chunks have been on the queue since its last sign of life. */
  let isEnded = false;
  let ending: Promise<void> | undefined;
  let restsUntilMs = Number.NEGATIVE_INFINITY;

  /** @returns false when the file is gone */
  function read(): boolean {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats) return false;
    if (file?.inode !== stats.ino) {
      close();
      file = openAppendedLines(path);
      head = undefined;
      claimed = new Set();
    }
    const lines = file.read();
    head ??= readHead(lines.shift() ?? '');
    noteSign(stats);
    applyLines(claimed, lines);
    return true;
  }

  /** Times of files are compared only with each other, because the clocks of machines differ. */
  function noteSign({ mtimeMs }: Stats): void {
    const nowMs = now();
    if (mtimeMs !== sign.mtimeMs) {
      sign = { mtimeMs, atMs: nowMs };
      isEnded = false;
    }
    // A live run that is suspended or short of time still has its domains when it goes on.
    isSilent = nowMs - sign.atMs > (isThere ? STANDSTILL_MS : silenceMs);
  }

  function lookItUp({ owner }: ClaimHead): void {
    if (now() - lookedUpAtMs < POLL_MS) return;
    lookedUpAtMs = now();
    isThere = isHere(owner, self);
  }

  function isLost(): boolean {
    return isSilent || isThere === false;
  }

  /** Whether workers may go on with the chunks of a lost run. */
  function isOnQueue(): boolean {
    if (!head?.runId || !endLost || isEnded) return false;
    // This run has the same name, so it has resumed what was there.
    return head.runId !== runId && claimed.size > 0 && Date.now() - sign.mtimeMs < KEPT_MS;
  }

  function endOnQueue(): void {
    if (!head?.runId || !endLost || ending) return;
    const { atMs } = sign;
    ending = endLost(head.runId)
      .then((isNoMoreThere) => {
        isEnded = isNoMoreThere && atMs === sign.atMs;
      })
      .catch(() => {}) // the next attempt may succeed
      .finally(() => {
        ending = undefined;
      });
  }

  function lookAtIt(): 'there' | 'of_no_concern' | 'gone' {
    if (!read()) return 'gone';
    if (head?.endpointId !== endpointId) return 'of_no_concern';
    lookItUp(head);
    if (!isLost() || isOnQueue()) return 'there';
    if (isThere !== false) return 'of_no_concern';
    rmSync(path, { force: true });
    return 'gone';
  }

  /** Skips the file for a while. Thousands may lie about, of killed runs elsewhere. */
  function rest(): 'of_no_concern' {
    close();
    restsUntilMs = now() + POLL_MS;
    return 'of_no_concern';
  }

  function close(): void {
    file?.close();
    file = undefined;
    claimed = new Set();
  }

  return {
    look: () => {
      if (now() < restsUntilMs) return 'of_no_concern';
      try {
        const state = lookAtIt();
        return state === 'of_no_concern' ? rest() : state;
      } catch {
        // The file has just been removed, or is a folder. The files of other runs can still be
        // read.
        return rest();
      }
    },
    has: (domain) => {
      if (!claimed.has(domain)) return false;
      if (!isLost()) return true;
      if (isOnQueue()) endOnQueue();
      return isOnQueue();
    },
    close,
  };
}

/** A file to which another process appends lines. */
interface AppendedLines {
  /** Tells the file from a later one of the same name. */
  readonly inode: number;
  /** The lines that were added since the last call. The first call returns all lines. */
  read(): string[];
  close(): void;
}

/** @throws Error of the file system */
function openAppendedLines(path: string): AppendedLines {
  const handle = openSync(path, 'r');
  let offset = 0;
  let rest = '';
  return {
    inode: fstatSync(handle).ino,
    read: () => {
      const bytes = Buffer.allocUnsafe(Math.max(0, fstatSync(handle).size - offset));
      const count = readSync(handle, bytes, 0, bytes.length, offset);
      offset += count;
      const lines = (rest + bytes.toString('utf8', 0, count)).split('\n');
      rest = lines.pop() ?? '';
      return lines;
    },
    close: () => closeSync(handle),
  };
}

/** The first line of a file of claims: its run, and the API of that run. */
export interface ClaimHead {
  readonly owner: Owner;
  readonly endpointId: string;
  /** The run's name on a queue, where workers go on with its lookups after it is lost. */
  readonly runId?: string | undefined;
}

/** The mark of a line that releases a claim. No domain begins with it. */
const RELEASED = '!';

/** The head as the first line of a file. */
function beginWith(head: ClaimHead): string {
  return `${JSON.stringify(head)}\n`;
}

/** One line of text for each domain. */
function linesOf(domains: Iterable<string>, mark = ''): string {
  let text = '';
  for (const domain of domains) text += `${mark}${domain}\n`;
  return text;
}

/** @returns undefined when it is not the first line of such a file */
function readHead(line: string): ClaimHead | undefined {
  try {
    const { owner, endpointId, runId } = JSON.parse(line) as Partial<ClaimHead>;
    const isWhole = typeof owner?.token === 'string' && typeof endpointId === 'string';
    return isWhole ? { owner, endpointId, runId } : undefined;
  } catch {
    return undefined;
  }
}

/** Applies lines to the set of claimed domains. */
function applyLines(claimed: Set<string>, lines: readonly string[]): void {
  for (const line of lines) {
    if (line.startsWith(RELEASED)) claimed.delete(line.slice(RELEASED.length));
    else claimed.add(line);
  }
}
