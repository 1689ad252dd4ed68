import { createHash } from 'node:crypto';
import fastq from 'fastq';
import { findJsonObject, type JsonObject } from '../../brand/json-object.ts';
import { aboutOf } from '../../common/reasons.ts';
import type { LogoNote, LogoNotes, SavedLogo } from '../../store/notes.ts';
import { type Fetched, findLogoUrl, PER_HOST, type PictureFetcher } from './fetch-picture.ts';
import type { PictureFolder } from './picture-folder.ts';

export interface SaveLogosOptions extends Circumstances {
  /** Once it fires, nothing more is fetched. */
  readonly signal: AbortSignal;
  /** Most pictures that are fetched from one host at the same time. @default 2 */
  readonly perHost?: number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
  /** All domains that have an answer, each once. */
  readonly domains: () => AsyncIterable<readonly string[]>;
  /** The answer of a domain, as JSON; undefined when there is none. */
  readonly answerOf: (domain: string) => string | undefined;
  /** Gives the logo's value in an answer. */
  readonly valueOf: (answer: JsonObject) => unknown;
  readonly notes: LogoNotes;
  readonly folder: PictureFolder;
  readonly fetcher: Pick<PictureFetcher, 'fetch'>;
  readonly ownOrigin?: string | undefined;
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

/**
 * Makes sure that each domain with an answer has its logo in the folder, and a note about it: a
 * logo that cannot be fetched or written is a reason in its row.
 *
 * @throws BrandfillError `UNUSABLE_STORE`
 */
export async function saveLogos(options: SaveLogosOptions): Promise<LogoCounts> {
  const { domains, answerOf, valueOf, notes, folder, fetcher, signal, now, onDone } = options;
  const hosts = createHosts(options);
  const reasons: Record<string, number> = {};
  let [saved, kept, missing] = [0, 0, 0];

  async function visit(domain: string): Promise<void> {
    const answer = findJsonObject(answerOf(domain) ?? '');
    if (!answer) return;
    const reason = await settle(domain, answer);
    if (reason !== undefined) {
      missing += 1;
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
    onDone({ saved, kept, missing, reasons });
  }

  /** Returns why the logo is missing, if it is. */
  async function settle(domain: string, answer: JsonObject): Promise<string | undefined> {
    const note = notes.find(domain);
    const found = findLogoUrl(valueOf(answer), options.ownOrigin);
    if ('reason' in found) {
      const { reason } = found;
      const isNoted = note?.missing?.reason === reason && !note.saved;
      if (!isNoted) await notes.put(domain, { missing: { reason, mark: '' }, atMs: now() });
      return reason;
    }
    const { url } = found;
    const mark = createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
    const isThere = note?.saved ? await folder.has(note.saved.file, note.saved.sizeBytes) : false;
    if (isThere && note?.saved?.mark === mark && !options.refresh) {
      kept += 1;
      if (note.missing) await notes.put(domain, { saved: note.saved, atMs: now() });
      return undefined;
    }
    if (note?.missing?.mark === mark && isTooEarly(note, options)) return note.missing.reason;
    const got = await save(domain, await hosts.take(url.host, () => fetcher.fetch(url, signal)));
    if (!('reason' in got)) {
      await notes.put(domain, { saved: { ...got, mark }, atMs: now() });
      saved += 1;
      return undefined;
    }
    const { reason } = got;
    if (reason === 'not_asked') return note?.missing?.reason ?? reason;
    // A picture that was saved before stays.
    const before = isThere ? note?.saved : undefined;
    await notes.put(domain, { saved: before, missing: { reason, mark }, atMs: now() });
    return reason;
  }

  async function save(
    domain: string,
    fetched: Fetched,
  ): Promise<Omit<SavedLogo, 'mark'> | { readonly reason: string }> {
    if ('reason' in fetched) return fetched;
    try {
      return { file: await folder.save(domain, fetched), sizeBytes: fetched.bytes.length };
    } catch {
      return { reason: 'not_written' };
    }
  }

  for await (const some of domains()) {
    const visits = await Promise.allSettled(some.map(visit));
    const failed = visits.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
  return { saved, kept, missing, reasons };
}

export interface Circumstances {
  /** When this run began to save logos, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Whether all pictures are to be fetched again. */
  readonly refresh: boolean;
  /** How long a note of a missing picture counts, in milliseconds. */
  readonly missingCountsMs: number;
}

/** Whether it is too early to ask again for a picture that could not be had. */
function isTooEarly(
  { missing, atMs }: LogoNote,
  { startedAtMs, refresh, missingCountsMs }: Circumstances,
): boolean {
  const reason = missing?.reason ?? '';
  // Trouble may be gone by tomorrow, and a private address or SVG may have been allowed since.
  if (refresh || isHostTrouble(reason) || aboutOf(reason) === 'setting') return false;
  // A note from the future was dated by a clock that was wrong by at least as much.
  return Math.abs(startedAtMs - atMs) < missingCountsMs;
}

interface Host {
  readonly turns: Turns;
  /** How often in a row it gave no answer, or no definite one. */
  troubles: number;
}

type Turns = fastq.queueAsPromised<() => Promise<Fetched>, Fetched>;

/** Most pictures that are fetched at the same time. */
const AT_ONCE = 4;
/** After this many troubles in a row, a host is out for the rest of the run. */
const MOST_TROUBLES = 5;

/** Limits the pictures that are fetched at a time, and leaves failing hosts to the next run. */
function createHosts({ signal, perHost = PER_HOST }: SaveLogosOptions) {
  const all = createTurns(AT_ONCE);
  const hosts = new Map<string, Host>();

  async function fetchInTurn(host: Host, fetch: () => Promise<Fetched>): Promise<Fetched> {
    if (signal.aborted) return { reason: 'not_asked' };
    if (host.troubles >= MOST_TROUBLES) return { reason: 'host_out' };
    const fetched = await all.push(fetch);
    host.troubles = 'reason' in fetched && isHostTrouble(fetched.reason) ? host.troubles + 1 : 0;
    return fetched;
  }

  return {
    /** Fetches when it is the turn of this host. */
    take: async (name: string, fetch: () => Promise<Fetched>): Promise<Fetched> => {
      const host = hosts.get(name) ?? { turns: createTurns(perHost), troubles: 0 };
      hosts.set(name, host);
      const fetched = await host.turns.push(() => fetchInTurn(host, fetch));
      // There may be as many hosts as domains: only those in trouble are remembered.
      if (host.turns.idle() && host.troubles === 0) hosts.delete(name);
      return fetched;
    },
  };
}

function createTurns(concurrency: number): Turns {
  return fastq.promise(async (fetch) => await fetch(), concurrency);
}

/** Whether a reason is about the host rather than the picture. */
function isHostTrouble(reason: string): boolean {
  const about = aboutOf(reason);
  return about === 'api' || about === 'machine' || about === 'address';
}
