import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { BrandfillError, describeSystemError, EXIT, systemErrorCode } from '../common/errors.ts';
import { countOf, formatCount, formatSize } from '../common/format.ts';
import { findEndpointIds, nameApi, readWithProfile } from '../options/api.ts';
import {
  DELETE_OPTIONS,
  GET_OPTIONS,
  IMPORT_OPTIONS,
  type JSON_FLAGS,
  PRUNE_OPTIONS,
  STORE_OPTIONS,
} from '../options/command-options.ts';
import type { SettingsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { isStoreIn, openDatabase, orDamage, type StoreDatabase } from '../store/database.ts';
import { noteApiName } from '../store/notes.ts';
import {
  type ApiStats,
  countStore,
  deleteDomains,
  findLines,
  formatOutcomeLine,
  parseOutcomeLine,
  pruneStore,
  putNewer,
  type Removed,
  readEntries,
  type StoreStats,
  type TravellingOutcome,
} from '../store/upkeep.ts';
import { print, type RunCommand, say } from './command.ts';

// The commands that look after a store.

interface OpenedStore<T> {
  readonly database: StoreDatabase;
  readonly settings: T;
  /** The API that was chosen. */
  readonly endpointId: string | undefined;
}

/**
 * Reads the options, opens the store, and closes it when the work is done.
 *
 * @throws BrandfillError `INVALID_SETTING`, `UNUSABLE_STORE`, `STORE_IN_USE`
 */
async function withStore<D extends typeof STORE_OPTIONS, R>(
  declared: D,
  given: Readonly<Record<string, unknown>>,
  work: (opened: OpenedStore<SettingsOf<D>>) => Promise<R>,
  mayMake = false,
): Promise<R> {
  const sources = { given, describe: flagOf };
  const { settings, profile } = readWithProfile('store', declared, sources);
  const endpointId = findEndpointIds(settings, profile, flagOf)?.id;
  const { store: folder } = settings as SettingsOf<typeof STORE_OPTIONS>;
  if (!mayMake && !isStoreIn(folder)) {
    throw new BrandfillError(
      'UNUSABLE_STORE',
      `Cannot open the store ${folder}: there is none; name its folder with --store.`,
    );
  }
  const database = await openDatabase(folder, { needsRoom: mayMake });
  try {
    return await work({ database, settings, endpointId });
  } catch (error) {
    throw orDamage(folder, error);
  } finally {
    await database.close();
  }
}

/** @throws BrandfillError `INVALID_SETTING` when there is no domain in a text */
function domainIn(text: string, registrable = false): string {
  const found = normalizeDomain(text, { registrable });
  if ('domain' in found) return found.domain;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot look for '${text.slice(0, 80)}': there is no domain in it (${found.invalid}).`,
  );
}

/** `brandfill store stats` */
export const runStats: RunCommand<typeof JSON_FLAGS> = async ({ options, flags }) => {
  const stats = await withStore(STORE_OPTIONS, options, async ({ database, endpointId }) =>
    countStore(database, endpointId),
  );
  print(...(flags.json ? [JSON.stringify(stats)] : describeStats(stats)));
  return EXIT.ok;
};

function describeStats({ folder, version, sizeBytes, apis }: StoreStats): readonly string[] {
  return [
    `Store ${folder}, version ${version}: ${formatSize(sizeBytes)} on the disk`,
    ...(apis.length === 0 ? ['No outcomes'] : apis.flatMap(describeApi)),
  ];
}

function describeApi({ api, name, statuses, oldestAtMs, newestAtMs }: ApiStats): string[] {
  const all = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(statuses)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${formatCount(count)} ${status.replace('_', ' ')}`);
  const time = (ms: number): string => new Date(ms).toISOString();
  return [
    `${name ?? 'API'} (${api})`,
    `  ${countOf(all, 'domain')}: ${parts.join(', ')}`,
    `  asked between ${time(oldestAtMs)} and ${time(newestAtMs)}`,
  ];
}

/** `brandfill store get` */
export const runGet: RunCommand = async ({ words: [text = ''], options }) => {
  const lines = await withStore(GET_OPTIONS, options, async (opened) =>
    findLines(opened.database, domainIn(text, opened.settings.registrable), opened.endpointId),
  );
  if (lines.length > 0) {
    print(...lines);
    return EXIT.ok;
  }
  say(`There is no outcome of ${text} in the store.`);
  return EXIT.someFailed;
};

/** `brandfill store prune` */
export const runPrune: RunCommand = async ({ options }) =>
  await withStore(PRUNE_OPTIONS, options, async ({ database, settings, endpointId }) => {
    const { olderThan, dryRun } = settings;
    if (olderThan === undefined) {
      throw new BrandfillError(
        'INVALID_SETTING',
        'Cannot prune without an age: give --older-than, such as 180d.',
      );
    }
    const pruned = await pruneStore(database, olderThan, { endpointId, dryRun });
    const ofReports = pruned.reports === 0 ? [] : [`${countOf(pruned.reports, 'list')} of changes`];
    sayRemoved(pruned, dryRun, ofReports);
    return EXIT.ok;
  });

/** `brandfill store delete` */
export const runDelete: RunCommand = async ({ words, options }) =>
  await withStore(DELETE_OPTIONS, options, async ({ database, settings, endpointId }) => {
    const { registrable, dryRun } = settings;
    // All are read first: a mistake in the last one must not leave half of the work done.
    const domains = words.map((text) => domainIn(text, registrable));
    const deleted = await deleteDomains(database, domains, { endpointId, dryRun });
    for (const domain of deleted.unknown) say(`There is nothing of ${domain} in the store.`);
    sayRemoved(deleted, dryRun);
    return deleted.unknown.length > 0 ? EXIT.someFailed : EXIT.ok;
  });

function sayRemoved(
  { answers, failures, logos }: Removed,
  dryRun = false,
  others: readonly string[] = [],
): void {
  const what = [countOf(answers, 'answer'), countOf(failures, 'failure'), ...others];
  if (logos > 0) what.push(`${countOf(logos, 'note')} of logos, whose files stay`);
  const all = what.join(', ');
  say(
    dryRun
      ? `To be removed: ${all}.`
      : `Removed: ${all}. Their space is reused for new outcomes; the file does not shrink.`,
  );
}

/** `brandfill store export` */
export const runExport: RunCommand = async ({ options }) => {
  const { stdout } = process;
  let count = 0;
  let end: Error | undefined; // standard output itself does not keep its error
  const note = (error?: Error | null): void => {
    end ??= error ?? undefined;
  };
  await withStore(STORE_OPTIONS, options, async ({ database, endpointId }) => {
    for (const entries of readEntries(database, endpointId)) {
      const lines = entries.flatMap(({ key, read }) => {
        const outcome = read();
        return outcome ? [`${formatOutcomeLine(key, outcome)}\n`] : [];
      });
      if (end) break;
      count += lines.length;
      if (lines.length > 0 && !stdout.write(lines.join(''), note))
        await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {});
    }
  });
  note(await new Promise<Error | null | undefined>((resolve) => stdout.write('', resolve)));
  if (!end) say(`${countOf(count, 'outcome')} exported.`);
  // Its reader, such as `head`, has closed it. Any other error is reported where the command ends.
  else if (systemErrorCode(end) === 'EPIPE')
    say('Not all outcomes were exported: standard output was closed before the end.');
  return EXIT.ok;
};

/** `brandfill store import` */
export const runImport: RunCommand = async ({ words: [input = ''], options }) => {
  const batches = readOutcomes(input);
  // A file that is not one is refused before there is a store.
  let batch = await batches.next();
  const put = async (opened: OpenedStore<SettingsOf<typeof IMPORT_OPTIONS>>) => {
    const { database, settings, endpointId } = opened;
    if (endpointId !== undefined) await noteApiName(database, endpointId, nameApi(settings));
    let [read, imported] = [0, 0];
    for (; !batch.done; batch = await batches.next()) {
      read += batch.value.length;
      imported += await putNewer(database, batch.value, endpointId);
    }
    await database.flush();
    say(
      `${countOf(imported, 'outcome')} imported, ${formatCount(read - imported)} were already there and at least as new.`,
    );
    return EXIT.ok;
  };
  return await withStore(IMPORT_OPTIONS, options, put, true);
};

const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/** @throws BrandfillError `UNREADABLE_INPUT` at a line that holds no outcome */
async function* readOutcomes(input: string): AsyncGenerator<readonly TravellingOutcome[]> {
  const name = input === '-' ? 'standard input' : input;
  let [line, characters] = [0, 0];
  let batch: TravellingOutcome[] = [];
  const refuse = (what: string, why: string): never => {
    throw new BrandfillError('UNREADABLE_INPUT', `Cannot ${what} ${name}: ${why}.`);
  };
  const file = input === '-' ? process.stdin : createReadStream(input);
  try {
    if ('fd' in file && input !== '-') await once(file, 'open');
    for await (const text of createInterface({ input: file, crlfDelay: Infinity })) {
      line += 1;
      if (text.trim() === '') continue;
      const parsed = parseOutcomeLine(text);
      if (typeof parsed === 'string')
        refuse(
          'import',
          `line ${line} is no outcome (${parsed}); give a file that brandfill store export has written`,
        );
      else batch.push(parsed);
      characters += text.length;
      if (batch.length < BATCH && characters < BATCH_CHARACTERS) continue;
      yield batch;
      batch = [];
      characters = 0;
    }
  } catch (error) {
    if (error instanceof BrandfillError) throw error;
    refuse('read the outcomes from', describeSystemError(error));
  } finally {
    file.destroy();
  }
  yield batch;
}
