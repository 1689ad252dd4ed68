import { createHash } from 'node:crypto';
import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import type { AllowedHost } from '../common/addresses.ts';
import type { LogoNote, LogoNotes } from '../store/notes.ts';
import type { Fetched, PictureFetcher } from './fetch-picture.ts';
import { createHosts, type HostOptions, isHostTrouble } from './hosts.ts';
import { findLogoUrl } from './logo-url.ts';
import type { PictureFolder } from './picture-folder.ts';

export interface SaveLogosOptions extends Circumstances, HostOptions {
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
  /** All domains that have an answer, each once. */
  readonly domains: () => Iterable<readonly string[]>;
  /** The answer of a domain, as JSON; undefined when there is none. */
  readonly answerOf: (domain: string) => string | undefined;
  /** Gives the logo's value in an answer. */
  readonly valueOf: (answer: JsonObject) => unknown;
  readonly notes: LogoNotes;
  readonly folder: PictureFolder;
  readonly fetcher: Pick<PictureFetcher, 'fetch'>;
  readonly allowed: readonly AllowedHost[];
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

/** At most this many domains are being decided about or wait for their host at the same time. */
const WINDOW = 256;

/**
 * Makes sure that each domain with an answer has its logo in the folder, and a note about it: a logo
 * that cannot be fetched or written is a reason in its row.
 *
 * @throws BrandfillError `UNUSABLE_STORE`
 */
export async function saveLogos(options: SaveLogosOptions): Promise<LogoCounts> {
  const { domains, answerOf, valueOf, notes, folder, fetcher, signal, onDone } = options;
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
    const found = findLogoUrl(valueOf(answer), options.allowed);
    if ('reason' in found) return await miss(domain, { reason: found.reason, mark: '' });
    const { url } = found;
    const isThere = note?.saved ? await folder.has(note.saved.file, note.saved.sizeBytes) : false;
    const decision = decide({ url, note, isThere }, options);
    if (decision === 'leave') return note?.missing?.reason ?? '';
    if (decision === 'keep') {
      kept += 1;
      if (note?.missing) await notes.put(domain, { saved: note.saved, atMs: options.now() });
      return undefined;
    }
    const before = isThere ? note?.saved : undefined;
    const fetched = await save(
      domain,
      await hosts.take(url.host, () => fetcher.fetch(url, signal)),
    );
    if (!('reason' in fetched)) {
      await notes.put(domain, { saved: { ...fetched, mark: markOf(url) }, atMs: options.now() });
      saved += 1;
      return undefined;
    }
    if (fetched.reason === 'not_asked') return note?.missing?.reason ?? fetched.reason;
    const mark = triedMarkOf(url, options.maxBytes);
    return await miss(domain, { reason: fetched.reason, mark }, before);
  }

  async function save(
    domain: string,
    fetched: Fetched,
  ): Promise<{ readonly file: string; readonly sizeBytes: number } | { readonly reason: string }> {
    if ('reason' in fetched) return fetched;
    try {
      return { file: await folder.save(domain, fetched), sizeBytes: fetched.bytes.length };
    } catch {
      return { reason: 'not_written' };
    }
  }

  /** Notes why a logo is missing. A picture that was saved before stays. */
  async function miss(
    domain: string,
    missing: NonNullable<LogoNote['missing']>,
    saved?: LogoNote['saved'],
  ): Promise<string> {
    const known = notes.find(domain);
    const isKnown = missing.mark === '' && known?.missing?.reason === missing.reason;
    if (!isKnown || known.saved) await notes.put(domain, { saved, missing, atMs: options.now() });
    return missing.reason;
  }

  await visitAll(domains(), visit);
  return { saved, kept, missing, reasons };
}

/** Visits all items, some at the same time, and waits for the last. Throws the first error. */
async function visitAll(
  batches: Iterable<readonly string[]>,
  visit: (domain: string) => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  for (const domains of batches) {
    for (const domain of domains) {
      if (underWay.size >= WINDOW) await Promise.race(underWay);
      if (failure) break;
      const visiting: Promise<void> = visit(domain)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => underWay.delete(visiting));
      underWay.add(visiting);
    }
    if (failure) break;
  }
  await Promise.all(underWay);
  if (failure) throw failure.error;
}

interface Known {
  readonly url: URL;
  readonly note: LogoNote | undefined;
  /** Whether the picture of the note is in the folder. */
  readonly isThere: boolean;
}

export interface Circumstances {
  /** When this run began to save logos, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Whether all pictures are to be fetched again. */
  readonly refresh: boolean;
  /** How long a note of a missing picture counts, in milliseconds. */
  readonly missingCountsMs: number;
  readonly maxBytes: number;
}

/**
 * What to do about a logo: `keep` the picture that is there, `leave` one that could not be fetched a
 * while ago, since it is too early to ask again, or `fetch` it.
 */
function decide(
  { url, note, isThere }: Known,
  { startedAtMs, refresh, missingCountsMs, maxBytes }: Circumstances,
): 'keep' | 'leave' | 'fetch' {
  const { saved, missing, atMs = 0 } = note ?? {};
  if (refresh) return 'fetch';
  if (isThere && saved?.mark === markOf(url)) return 'keep';
  if (missing?.mark !== triedMarkOf(url, maxBytes) || mayBeGone(missing.reason)) return 'fetch';
  // A note from the future was dated by a clock that was wrong by at least as much.
  return Math.abs(startedAtMs - atMs) < missingCountsMs ? 'leave' : 'fetch';
}

/** Whether a reason may be gone by tomorrow. A private address or SVG may have been allowed since. */
function mayBeGone(reason: string): boolean {
  return isHostTrouble(reason) || PASSING.test(reason);
}

const PASSING = /^(?:http_(?:408|5\d\d)|host_out|not_written|private_address|svg_left_out)$/;

/** Identifies a URL briefly. */
function markOf(url: URL): string {
  return createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
}

/** Identifies what was tried: with a larger size limit, the same URL is another try. */
function triedMarkOf(url: URL, maxBytes: number): string {
  return `${markOf(url)}:${maxBytes}`;
}
