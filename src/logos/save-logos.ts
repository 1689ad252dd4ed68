import { createHash } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import type { AllowedHost } from '../common/addresses.ts';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import {
  type FileAccess,
  findLeftovers,
  followOwnLinks,
  makeFolder,
  newFileMode,
  newFolderMode,
  temporaryPath,
} from '../common/files.ts';
import type { LogoNote, LogoNotes } from '../store/notes.ts';
import {
  findLogoUrl,
  PICTURE_KINDS,
  type Picture,
  type PictureFetcher,
  type PictureKind,
} from './fetch-picture.ts';
import { type HostTurns, isHostTrouble, NOT_ASKED } from './host-turns.ts';

export interface SaveLogosOptions extends Circumstances {
  /** All domains that have an answer, each once. */
  readonly domains: () => AsyncIterable<readonly string[]>;
  /** The answer of a domain, as JSON; undefined when there is none. */
  readonly answerOf: (domain: string) => string | undefined;
  /** Gives the logo's value in an answer. */
  readonly valueOf: (answer: JsonObject) => unknown;
  readonly notes: LogoNotes;
  readonly folder: PictureFolder;
  readonly fetcher: PictureFetcher;
  readonly turns: HostTurns;
  readonly allowed: readonly AllowedHost[];
  /** Once it fires, nothing more is fetched; missing logos are noted as not asked. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDone: (counts: LogoCounts) => void;
}

/** Counts of domains with an answer, by the state of their logo. */
export interface LogoCounts {
  /** Fetched in this run. */
  readonly saved: number;
  /** Was there already. */
  readonly kept: number;
  /** Could not be fetched, or not fetched anew. */
  readonly missing: number;
  /** The missing ones, by reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** At most this many are being decided about or wait for their turn at the same time. */
const WINDOW = 256;

/**
 * Makes sure that each domain with an answer has its logo in the folder, and a note about it. Logos
 * that could not be fetched because a host was in trouble are tried last. Otherwise the same few
 * would always keep a slow host from being asked for the others.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, `UNUSABLE_STORE`; never because of a host
 */
export async function saveLogos(options: SaveLogosOptions): Promise<LogoCounts> {
  const { domains, answerOf, valueOf, notes, folder, fetcher, turns, signal } = options;
  const counts = createCounts(options.onDone);
  let isLastPass = false;
  let deferred = 0;

  async function visit(domain: string): Promise<void> {
    const note = notes.find(domain);
    if (signal.aborted && !note) {
      // To have no note means the same, and this may be all of a long list: it must not take long.
      if (!isLastPass) counts.miss(NOT_ASKED.reason);
      return;
    }
    const answer = findJsonObject(answerOf(domain) ?? '');
    if (!answer) return;
    const found = findLogoUrl(valueOf(answer), options.allowed);
    if ('reason' in found) {
      if (!isLastPass) await miss(domain, { reason: found.reason, mark: '' }, undefined);
      return;
    }
    const { url } = found;
    const isThere = note?.saved ? await folder.has(note.saved.file, note.saved.sizeBytes) : false;
    const decision = decide({ url, note, isThere }, options);
    if (decision === 'fetch_again' && !isLastPass) {
      deferred += 1;
      return;
    }
    if (isLastPass && decision !== 'fetch_again') return;
    await act(domain, { url, note, isThere, decision });
  }

  interface Visited {
    readonly url: URL;
    readonly note: LogoNote | undefined;
    readonly isThere: boolean;
    readonly decision: ReturnType<typeof decide>;
  }

  async function act(domain: string, { url, note, isThere, decision }: Visited): Promise<void> {
    if (decision === 'keep') {
      if (note?.missing) await notes.put(domain, { saved: note.saved, atMs: options.now() });
      return counts.keep();
    }
    if (decision === 'leave') return counts.miss(note?.missing?.reason ?? '');
    const fetched = signal.aborted
      ? NOT_ASKED
      : await turns.take(url.host, () => fetcher.fetch(url, signal));
    if ('reason' in fetched) {
      // The earlier reason says more than this one, and keeps its place behind the others.
      if (decision === 'fetch_again' && UNTRIED.has(fetched.reason)) {
        return counts.miss(note?.missing?.reason ?? '');
      }
      if (fetched === NOT_ASKED && !note) return counts.miss(fetched.reason);
      const mark = triedMarkOf(url, options.maxBytes);
      return await miss(domain, { reason: fetched.reason, mark }, isThere ? note : undefined);
    }
    const file = await folder.save(domain, fetched);
    const saved = { file, sizeBytes: fetched.bytes.length, mark: markOf(url) };
    await notes.put(domain, { saved, atMs: options.now() });
    counts.save();
  }

  /** A picture that was saved before stays. */
  async function miss(
    domain: string,
    missing: NonNullable<LogoNote['missing']>,
    before: LogoNote | undefined,
  ): Promise<void> {
    const { missing: known, saved } = notes.find(domain) ?? {};
    const isKnown = missing.mark === '' && known?.reason === missing.reason && !saved;
    if (!isKnown) await notes.put(domain, { saved: before?.saved, missing, atMs: options.now() });
    counts.miss(missing.reason);
  }

  await visitAll(domains(), visit);
  isLastPass = true;
  if (deferred > 0) await visitAll(domains(), visit);
  return counts.now();
}

/** Visits all items, some at the same time, and waits for the last. Throws the first error. */
async function visitAll(
  batches: AsyncIterable<readonly string[]>,
  visit: (domain: string) => Promise<void>,
): Promise<void> {
  let underWay = 0;
  let failure: { readonly error: unknown } | undefined;
  let onEnd = (): void => {};

  async function start(domain: string): Promise<void> {
    underWay += 1;
    try {
      await visit(domain);
    } catch (error) {
      failure ??= { error };
    } finally {
      underWay -= 1;
      onEnd();
    }
  }

  async function untilFewerThan(most: number): Promise<void> {
    while (underWay >= most) {
      await new Promise<void>((resolve) => {
        onEnd = resolve;
      });
    }
  }

  for await (const domains of batches) {
    for (const domain of domains) {
      await untilFewerThan(WINDOW);
      if (failure) break;
      void start(domain);
    }
    if (failure) break;
  }
  await untilFewerThan(1);
  if (failure) throw failure.error;
}

interface Counts {
  readonly save: () => void;
  readonly keep: () => void;
  readonly miss: (reason: string) => void;
  readonly now: () => LogoCounts;
}

function createCounts(onDone: (counts: LogoCounts) => void): Counts {
  const reasons: Record<string, number> = {};
  let saved = 0;
  let kept = 0;
  let missing = 0;
  const now = (): LogoCounts => ({ saved, kept, missing, reasons });
  return {
    save: () => {
      saved += 1;
      onDone(now());
    },
    keep: () => {
      kept += 1;
      onDone(now());
    },
    miss: (reason) => {
      missing += 1;
      reasons[reason] = (reasons[reason] ?? 0) + 1;
      onDone(now());
    },
    now,
  };
}

/** How to treat the logo of a domain. */
type Decision =
  /** The picture is there. */
  | 'keep'
  /** The picture could not be fetched a while ago, and it is too early to ask again. */
  | 'leave'
  /**
   * The picture could not be fetched, for a reason that may be gone: it comes after all that were
   * never asked for.
   */
  | 'fetch_again'
  | 'fetch';

interface Known {
  readonly url: URL;
  readonly note: LogoNote | undefined;
  /** Whether the picture of the note is in the folder. */
  readonly isThere: boolean;
}

export interface Circumstances {
  /** When this run began to save logos, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time of this run, in milliseconds since 1970. */
  now(): number;
  /** Whether all pictures are to be fetched again. */
  readonly refresh: boolean;
  /** How long a note of a missing picture counts, in milliseconds. */
  readonly missingCountsMs: number;
  readonly maxBytes: number;
}

/** Decides from the known facts of a logo. */
export function decide({ url, note, isThere }: Known, circumstances: Circumstances): Decision {
  const { startedAtMs, refresh, missingCountsMs, maxBytes } = circumstances;
  const { saved, missing, atMs = 0 } = note ?? {};
  const isOfThisRun = atMs >= startedAtMs && atMs <= circumstances.now();
  if (refresh && !isOfThisRun) return 'fetch';
  if (isThere && saved?.mark === markOf(url)) return 'keep';
  if (missing?.mark !== triedMarkOf(url, maxBytes)) return 'fetch';
  if (isOfThisRun) return 'leave';
  if (isHostTrouble(missing.reason) || SERVER_FAULT.test(missing.reason)) return 'fetch_again';
  // A private address may have been allowed since.
  if (UNTRIED.has(missing.reason) || missing.reason === 'private_address') return 'fetch';
  // A note from the future was dated by a clock that was wrong by at least as much.
  return Math.abs(startedAtMs - atMs) < missingCountsMs ? 'leave' : 'fetch';
}

/** Faults that may be gone by tomorrow. */
const SERVER_FAULT = /^http_(?:408|5\d\d)$/;

/** Reasons why a picture was not asked for at all. */
const UNTRIED: ReadonlySet<string> = new Set(['not_asked', 'host_out']);

/** Identifies a URL briefly. */
export function markOf(url: URL): string {
  return createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
}

/** Identifies what was tried: with a larger size limit, the same URL is another try. */
export function triedMarkOf(url: URL, maxBytes: number): string {
  return `${markOf(url)}:${maxBytes}`;
}

/** A folder with one picture for each domain. */
export interface PictureFolder {
  /** Whether it has a file of that name and size. */
  has(file: string, sizeBytes: number): Promise<boolean>;
  /**
   * Saves a picture in place of the domain's previous one, whole or not at all.
   *
   * @returns the name of its file
   */
  save(domain: string, picture: Picture): Promise<string>;
}

/**
 * Opens a folder, creates it if necessary, and makes sure that it can be written.
 *
 * @param from the files that its pictures are made from: they are never more open than those
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as all its functions do
 */
export async function openPictureFolder(
  given: string,
  from: readonly FileAccess[] = [],
): Promise<PictureFolder> {
  const mode = newFileMode(from);

  async function refused<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const why = isFileThere(error) ? 'it is a file, not a folder' : describeSystemError(error);
      throw new BrandfillError('UNWRITABLE_OUTPUT', `Cannot write logos to ${given}: ${why}.`, {
        cause: error,
      });
    }
  }

  async function write(bytes: Buffer, target: string): Promise<void> {
    const temporary = temporaryPath(stem);
    try {
      await writeFile(temporary, bytes, { flag: 'wx', mode });
      await rename(temporary, target);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  const path = await refused(() => followOwnLinks(given));
  const stem = join(path, '.brandfill-');
  await refused(async () => {
    makeFolder(path, newFolderMode(from));
    for (const left of await findLeftovers(stem)) await rm(left, { force: true });
    const trial = temporaryPath(stem);
    await writeFile(trial, '', { flag: 'wx' });
    await rm(trial);
  });

  return {
    has: async (file, sizeBytes) => {
      const found = await stat(join(path, file)).catch(() => undefined);
      return found?.isFile() === true && found.size === sizeBytes;
    },
    save: (domain, { kind, bytes }) =>
      refused(async () => {
        const file = pictureFileOf(domain, kind);
        await write(bytes, join(path, file));
        for (const other of PICTURE_KINDS) {
          if (other !== kind) await rm(join(path, pictureFileOf(domain, other)), { force: true });
        }
        return file;
      }),
  };
}

/** With their ending, longer names fit no file system. */
const MOST_NAME = 200;

/** The name of the file of a domain's picture: `acme.com.png`. */
export function pictureFileOf(domain: string, kind: PictureKind): string {
  return `${stemOf(domain)}.${kind}`;
}

function stemOf(domain: string): string {
  // On Windows, `con.com.png` is not a file but the console.
  if (/^(?:con|prn|aux|nul|(?:com|lpt)\d)\./.test(domain)) return `_${domain}`;
  if (domain.length <= MOST_NAME) return domain;
  const mark = createHash('sha256').update(domain).digest('hex').slice(0, 16);
  return `${domain.slice(0, MOST_NAME)}-${mark}`;
}

function isFileThere(error: unknown): boolean {
  const isOfFolder = error instanceof Error && 'syscall' in error && error.syscall === 'mkdir';
  return isOfFolder && systemErrorCode(error) === 'EEXIST';
}
