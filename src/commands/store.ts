import { once } from 'node:events';
import type { Outcome } from '../brand/outcome.ts';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { BrandfillError, systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';
import {
  DELETE_OPTIONS,
  EXPORT_OPTIONS,
  GET_OPTIONS,
  PRUNE_OPTIONS,
  STORE_OPTIONS,
  type StoreChoice,
  type StoreOptionNaming,
} from '../options/command-options.ts';
import type { Declarations, OptionsOf, SettingsOf } from '../options/declaration.ts';
import { checkOptions, libraryNaming, type OptionKind } from '../options/read-options.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { countStore } from '../store/count-store.ts';
import { decodeOutcome, readEntries } from '../store/entries.ts';
import { formatOutcomeLine } from '../store/outcome-line.ts';
import { deleteDomains, pruneTables } from '../store/removal.ts';
import type { Deleted, Pruned, StoreStats } from '../store/stats.ts';
import { endpointIdsIn, keyOf, type StoreTables } from '../store/tables.ts';
import { withOpenedStore } from './opened-store.ts';

/**
 * Counts what is in a store, even while runs use it.
 *
 * @throws BrandfillError when an option or the store cannot be used, as do all functions here
 */
export async function readStoreStats(
  options: StoreChoice = {},
  naming?: StoreOptionNaming,
): Promise<StoreStats> {
  check(options, { of: 'readStoreStats', declared: STORE_OPTIONS, naming });
  const task = { options, declared: STORE_OPTIONS, naming, isToRead: true };
  return await withOpenedStore(task, async ({ tables, settings, endpointId }) =>
    countStore(tables, { folder: settings.store, endpointId, nowMs: Date.now() }),
  );
}

/** Which outcome to get. */
export interface GetStoredOptions extends OptionsOf<typeof GET_OPTIONS> {
  /** Anything that a row's cell may hold: a domain, a URL, an e-mail address. */
  readonly domain: string;
}

/**
 * Finds the latest outcome of a domain, for each API in the store that has one, as lines of JSON in
 * the form of {@link exportStore}.
 */
export async function findStored(
  given: GetStoredOptions,
  naming?: StoreOptionNaming,
): Promise<readonly string[]> {
  check(given, {
    of: 'findStored',
    declared: GET_OPTIONS,
    others: { domain: 'checkedElsewhere' },
    naming,
  });
  const { domain: text, ...options } = given;
  if (typeof text !== 'string') {
    throw new BrandfillError(
      'INVALID_SETTING',
      "Cannot look for nothing: give the domain as text in 'domain'.",
    );
  }
  const task = { options, declared: GET_OPTIONS, naming, isToRead: true };
  return await withOpenedStore(task, async ({ tables, settings, endpointId }) => {
    const domain = domainIn(text, settings);
    const ids = endpointId === undefined ? endpointIdsIn(tables) : [endpointId];
    return ids.flatMap((id) => {
      const outcome = latestOf(tables, id, domain);
      return outcome ? [formatOutcomeLine(id, outcome)] : [];
    });
  });
}

/** Which outcomes to export. */
export interface ExportOptions extends Omit<OptionsOf<typeof EXPORT_OPTIONS>, 'out'> {}

/**
 * Passes on the outcomes of a store, each as a line of JSON without a line end. A failure that is
 * newer than the answer of its domain is passed on too.
 *
 * @param write called for each batch of lines, and awaited
 * @returns the number of outcomes
 */
export async function exportStore(
  options: ExportOptions,
  write: (lines: readonly string[]) => Promise<void>,
  naming?: StoreOptionNaming,
): Promise<number> {
  const { out: _, ...declared } = EXPORT_OPTIONS;
  check(options, { of: 'exportStore', declared, naming });
  const task = { options, declared: EXPORT_OPTIONS, naming, isToRead: true };
  return await withOpenedStore(task, async ({ tables, settings: { status }, endpointId }) => {
    let count = 0;
    for (const entries of readEntries(tables, { endpointId, status })) {
      const lines = entries.flatMap(({ endpointId: id, read }) => {
        const outcome = read();
        return outcome ? [formatOutcomeLine(id, outcome)] : [];
      });
      count += lines.length;
      if (lines.length > 0) await write(lines);
    }
    return count;
  });
}

/** Options of a pruning. */
export interface PruneStoreOptions extends OptionsOf<typeof PRUNE_OPTIONS> {
  /** The age above which outcomes are removed: a text such as `'180d'`, or milliseconds. */
  readonly olderThan: string | number;
}

/**
 * Removes old outcomes, even while runs use the store. Later outcomes use the freed space; the file
 * does not shrink.
 */
export async function pruneStore(
  options: PruneStoreOptions,
  naming: StoreOptionNaming = libraryNaming,
): Promise<Pruned> {
  check(options, { of: 'pruneStore', declared: PRUNE_OPTIONS, naming });
  const task = { options, declared: PRUNE_OPTIONS, naming };
  return await withOpenedStore(task, async ({ tables, settings, endpointId }) => {
    const { olderThan, dryRun = false } = settings;
    if (olderThan === undefined) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot prune without an age: give ${naming('olderThan')}, such as 180d.`,
      );
    }
    const age = { olderThanMs: olderThan, nowMs: Date.now() };
    return await pruneTables(tables, { ...age, endpointId, dryRun });
  });
}

/** What to delete. */
export interface DeleteStoredOptions extends OptionsOf<typeof DELETE_OPTIONS> {
  /** Each is anything that a row's cell may hold: a domain, a URL, an e-mail address. */
  readonly domains: readonly string[];
}

/**
 * Deletes all that the store has of some domains, even while runs use it: outcomes, and notes on
 * left-over domains and on logos. Later outcomes use the freed space; the file does not shrink.
 */
export async function deleteStored(
  given: DeleteStoredOptions,
  naming?: StoreOptionNaming,
): Promise<Deleted> {
  check(given, {
    of: 'deleteStored',
    declared: DELETE_OPTIONS,
    others: { domains: 'texts' },
    naming,
  });
  const { domains: texts, ...options } = given;
  // A program without types may leave them out.
  if (!Array.isArray(texts) || texts.length === 0) {
    throw new BrandfillError(
      'INVALID_SETTING',
      "Cannot delete nothing: give the domains as a list of texts in 'domains'.",
    );
  }
  const task = { options, declared: DELETE_OPTIONS, naming };
  return await withOpenedStore(task, async ({ tables, settings, endpointId }) => {
    // All are read first: a mistake in the last one must not leave half of the work done.
    const domains = texts.map((text: string) => domainIn(text, settings));
    return await deleteDomains(tables, { domains, endpointId, dryRun: settings.dryRun ?? false });
  });
}

/** @throws BrandfillError `INVALID_SETTING` when there is none */
function domainIn(
  text: string,
  { registrable = false }: Pick<SettingsOf<typeof GET_OPTIONS>, 'registrable'>,
): string {
  const found = normalizeDomain(text, { registrable });
  if ('domain' in found) return found.domain;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot look for '${text.slice(0, 80)}': there is no domain in it (${found.invalid}).`,
  );
}

interface Known {
  readonly of: string;
  readonly declared: Declarations;
  readonly others?: Readonly<Record<string, OptionKind>>;
  readonly naming: StoreOptionNaming | undefined;
}

function check(
  options: object,
  { of, declared, others = {}, naming = libraryNaming }: Known,
): void {
  checkOptions(options, {
    of,
    declared,
    others,
    describe: naming,
  });
}

function latestOf(
  { answers, failures }: StoreTables,
  endpointId: string,
  domain: string,
): Outcome | undefined {
  const [answer, failure] = [answers, failures].map((table) => {
    const value = table.getBinaryFast(keyOf(endpointId, domain));
    return value && decodeOutcome(domain, value);
  });
  if (!answer || !failure) return answer ?? failure;
  return failure.fetchedAtMs > answer.fetchedAtMs ? failure : answer;
}

/**
 * Opens the output of an export: standard output, or a file as for the rows of a run.
 *
 * @param path undefined or `-` for standard output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as do all methods of the output
 */
export async function openExportOutput(path: string | undefined): Promise<ExportOutput> {
  if (path === undefined || path === '-') return openStandardOutput();
  return { ...(await openOutputFile(path)), isCut: () => false };
}

export interface ExportOutput extends OutputFile {
  /** Whether its reader, such as `head`, closed it before everything was written. */
  isCut(): boolean;
}

function openStandardOutput(): ExportOutput {
  let isCut = false;
  const noteCut = (error: Error | null | undefined): void => {
    // Standard output itself does not keep its error.
    isCut ||= systemErrorCode(error) === 'EPIPE';
  };
  return {
    isCut: () => isCut,
    write: async (text) => {
      const { stdout } = process;
      // A reader that has read enough closes the pipe, and there is nothing to wait for.
      if (stdout.destroyed || stdout.write(text, noteCut)) return;
      const over = new AbortController();
      const ways = ['drain', 'close'].map((event) => once(stdout, event, { signal: over.signal }));
      await Promise.race(ways).catch(() => {});
      over.abort(); // removes the listener for the other event
    },
    finish: async () => {
      const { stdout } = process;
      const last = await new Promise<Error | null | undefined>((resolve) =>
        stdout.write('', resolve),
      );
      const error = stdout.errored ?? last;
      if (!error || systemErrorCode(error) === 'EPIPE') return;
      throw unwritableStandardOutput(error);
    },
    commit: async () => {},
    discard: async () => {},
  };
}
