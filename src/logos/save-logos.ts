import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import type { LogoNote, LogoNotes } from '../store/logo-notes.ts';
import type { AllowedHost } from './allowed-hosts.ts';
import { type Circumstances, decide, markOf, triedMarkOf, UNTRIED } from './decide.ts';
import type { PictureFetcher } from './fetch-picture.ts';
import { type HostTurns, NOT_ASKED } from './host-turns.ts';
import { findLogoUrl } from './logo-url.ts';
import type { PictureFolder } from './picture-folder.ts';

export interface SaveLogosOptions extends Circumstances {
  /** All domains that have an answer, each once. */
  readonly domains: () => AsyncIterable<readonly string[]>;
  /** The answer of a domain, as JSON; undefined when there is none. */
  readonly answerOf: (domain: string) => string | undefined;
  /** What the answer says of the logo. */
  readonly valueOf: (answer: JsonObject) => unknown;
  readonly notes: LogoNotes;
  readonly folder: PictureFolder;
  readonly fetcher: PictureFetcher;
  readonly turns: HostTurns;
  readonly allowed: readonly AllowedHost[];
  /** Once it fires, nothing more is fetched; what is not there is noted as not asked. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDone: (counts: LogoCounts) => void;
}

/** Domains with an answer, by what became of their logo. */
export interface LogoCounts {
  /** Fetched in this run. */
  readonly saved: number;
  /** Was there. */
  readonly kept: number;
  /** Could not be had, or not anew. */
  readonly missing: number;
  /** Those, by why. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** So many are decided about or wait for their turn at the same time. */
const WINDOW = 256;

/**
 * Sees to it that each domain with an answer has its logo in the folder, and a note of it. What could
 * not be had because a host was in trouble is tried last: else the same few would keep a host that is
 * slow to all of them from ever being asked for the others.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, `UNUSABLE_STORE`; nothing that a host does
 */
export async function saveLogos(options: SaveLogosOptions): Promise<LogoCounts> {
  const { domains, answerOf, valueOf, notes, folder, fetcher, turns, signal } = options;
  const counts = createCounts(options.onDone);
  let isLastPass = false;
  let deferred = 0;

  async function visit(domain: string): Promise<void> {
    const answer = findJsonObject(answerOf(domain) ?? '');
    if (!answer) return;
    const found = findLogoUrl(valueOf(answer), options.allowed);
    const note = notes.find(domain);
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
      // What it came to when it was asked for says more, and keeps its place behind the others.
      if (decision === 'fetch_again' && UNTRIED.has(fetched.reason)) {
        return counts.miss(note?.missing?.reason ?? '');
      }
      const mark = triedMarkOf(url, options.maxBytes);
      return await miss(domain, { reason: fetched.reason, mark }, isThere ? note : undefined);
    }
    const file = await folder.save(domain, fetched);
    const saved = { file, sizeBytes: fetched.bytes.length, mark: markOf(url) };
    await notes.put(domain, { saved, atMs: options.now() });
    counts.save();
  }

  /** What was saved before stays. */
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

/** Visits all, some at the same time, and waits for the last. Throws what went wrong first. */
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
  const now = (): LogoCounts => ({ saved, kept, missing, reasons: { ...reasons } });
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
