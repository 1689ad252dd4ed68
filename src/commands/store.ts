import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { BrandfillError, describeSystemError, EXIT, systemErrorCode } from '../common/errors.ts';
import { countOf, formatCount, formatSize } from '../common/format.ts';
import { findEndpointIds, nameApi } from '../options/api.ts';
import { anyDuration, baseUrl, flag, profile } from '../options/kinds.ts';
import { option, pick, refusal, under } from '../options/option.ts';
import { OPTIONS } from '../options/options.ts';
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
import { defineCommand, print, say } from './command.ts';

// The commands that look after a store.

const STORE_OPTIONS = pick(OPTIONS, 'store');

/**
 * Opens a store, and closes it when the work is done.
 *
 * @throws BrandfillError `UNUSABLE_STORE`, `STORE_IN_USE`
 */
async function withStore<R>(
  folder: string,
  work: (database: StoreDatabase) => R | Promise<R>,
  mayMake = false,
): Promise<R> {
  if (!mayMake && !isStoreIn(folder)) {
    throw new BrandfillError(
      'UNUSABLE_STORE',
      `Cannot open the store ${folder}: there is none; name its folder with --store.`,
    );
  }
  const database = await openDatabase(folder, { needsRoom: mayMake });
  try {
    return await work(database);
  } catch (error) {
    throw orDamage(folder, error);
  } finally {
    await database.close();
  }
}

/** @throws BrandfillError `INVALID_SETTING` when there is no domain in a text */
function domainIn(text: string): string {
  const found = normalizeDomain(text);
  if ('domain' in found) return found.domain;
  throw refusal(
    `Cannot look for '${text.slice(0, 80)}': there is no domain in it (${found.invalid}).`,
  );
}

const STATS_OPTIONS = {
  ...STORE_OPTIONS,
  ...under('What is shown', { json: option(flag(), { help: 'print JSON' }) }),
};

/** `brandfill store stats` */
export const stats = defineCommand(STATS_OPTIONS, async ({ settings: { store, json } }) => {
  const counted = await withStore(store, (database) => countStore(database));
  print(...(json ? [JSON.stringify(counted)] : describeStats(counted)));
  return EXIT.ok;
});

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
export const get = defineCommand(STORE_OPTIONS, async ({ words: [text = ''], settings }) => {
  const lines = await withStore(settings.store, (database) => findLines(database, domainIn(text)));
  if (lines.length > 0) {
    print(...lines);
    return EXIT.ok;
  }
  say(`There is no outcome of ${text} in the store.`);
  return EXIT.someFailed;
});

const PRUNE_OPTIONS = {
  ...STORE_OPTIONS,
  ...under('Answers that are kept', {
    olderThan: option(anyDuration(), {
      help: 'remove outcomes older than this, such as 180d',
    }),
    dryRun: option(flag(), { help: 'count only; remove nothing' }),
  }),
};

/** `brandfill store prune` */
export const prune = defineCommand(PRUNE_OPTIONS, async ({ settings }) => {
  const { store, olderThan, dryRun } = settings;
  if (olderThan === undefined) {
    throw refusal('Cannot prune without an age: give --older-than, such as 180d.');
  }
  const pruned = await withStore(store, (database) => pruneStore(database, olderThan, dryRun));
  const ofReports = pruned.reports === 0 ? [] : [`${countOf(pruned.reports, 'list')} of changes`];
  sayRemoved(pruned, dryRun, ofReports);
  return EXIT.ok;
});

/** `brandfill store delete` */
export const remove = defineCommand(STORE_OPTIONS, async ({ words, settings }) => {
  // All are read first: a mistake in the last one must not leave half of the work done.
  const domains = words.map(domainIn);
  const deleted = await withStore(settings.store, (database) => deleteDomains(database, domains));
  for (const domain of deleted.unknown) say(`There is nothing of ${domain} in the store.`);
  sayRemoved(deleted);
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
export const exportAll = defineCommand(STORE_OPTIONS, async ({ settings }) => {
  const { stdout } = process;
  let count = 0;
  let end: Error | undefined; // standard output itself does not keep its error
  const note = (error?: Error | null): void => {
    end ??= error ?? undefined;
  };
  await withStore(settings.store, async (database) => {
    for (const entries of readEntries(database)) {
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
});

const IMPORT_OPTIONS = {
  ...STORE_OPTIONS,
  // The environment does not choose among APIs here.
  ...under('The API', {
    api: option(profile(), { help: 'import all outcomes for the API of this profile' }),
    baseUrl: option(baseUrl(), {
      help: 'import all outcomes for this API (default: the one that each line names)',
    }),
    params: OPTIONS.params,
  }),
};

/** `brandfill store import` */
export const importFrom = defineCommand(IMPORT_OPTIONS, async (call) => {
  const { words, settings, profile: ofApi } = call;
  const batches = readOutcomes(words[0] ?? '');
  const endpointId = findEndpointIds(settings, ofApi)?.id;
  // The first ones are read before a store is made for them.
  let batch = await batches.next();
  const put = async (database: StoreDatabase): Promise<void> => {
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
  };
  await withStore(settings.store, put, true);
  return EXIT.ok;
});

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
