import { once } from 'node:events';
import {
  BrandfillError,
  describeSystemError,
  EXIT,
  refusal,
  systemErrorCode,
} from '../../common/errors.ts';
import { openToRead } from '../../common/files.ts';
import { countOf, formatCount, formatSize } from '../../common/format.ts';
import { printable } from '../../common/text.ts';
import { anyDuration, flag } from '../../options/kinds.ts';
import { option, required, under } from '../../options/option.ts';
import { STORE_OPTIONS } from '../../options/options.ts';
import { normalizeDomain } from '../../rows/domain/domain.ts';
import { linesOf } from '../../rows/source.ts';
import { openDatabase, type StoreDatabase } from '../../store/database.ts';
import { orDamage, refusal as unusable } from '../../store/failures.ts';
import { isStoreIn } from '../../store/store-files.ts';
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
} from '../../store/upkeep.ts';
import { defineCommand, print, say } from './command.ts';

// The commands that look after a store.

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
  if (!mayMake && !isStoreIn(folder))
    throw unusable(folder, 'there is none', 'name its folder with --store');
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
});

function describeStats({ folder, version, sizeBytes, apis }: StoreStats): readonly string[] {
  return [
    `Store ${folder}, version ${version}: ${formatSize(sizeBytes)} on the disk`,
    ...(apis.length === 0 ? ['No outcomes'] : apis.flatMap(describeApi)),
  ];
}

function describeApi({ api, name, statuses }: ApiStats): string[] {
  const all = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(statuses)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${formatCount(count)} ${status.replace('_', ' ')}`);
  return [`${name ?? 'API'} (${api})`, `  ${countOf(all, 'domain')}: ${parts.join(', ')}`];
}

/** `brandfill store get` */
export const get = defineCommand(STORE_OPTIONS, async ({ words: [text = ''], settings }) => {
  const lines = await withStore(settings.store, (database) => findLines(database, domainIn(text)));
  if (lines.length > 0) return print(...lines);
  say(`There is no outcome of ${text} in the store.`);
  return EXIT.someFailed;
});

const PRUNE_OPTIONS = {
  ...STORE_OPTIONS,
  ...under('Answers that are kept', {
    olderThan: required(
      option(anyDuration(), { help: 'remove outcomes older than this, such as 180d' }),
    ),
  }),
};

/** `brandfill store prune` */
export const prune = defineCommand(PRUNE_OPTIONS, async ({ settings }) => {
  const { store, olderThan } = settings;
  const pruned = await withStore(store, (database) => pruneStore(database, olderThan));
  const ofReports = pruned.reports === 0 ? [] : [`${countOf(pruned.reports, 'list')} of changes`];
  sayRemoved(pruned, ofReports);
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

function sayRemoved({ answers, failures, logos }: Removed, others: readonly string[] = []): void {
  const what = [countOf(answers, 'answer'), countOf(failures, 'failure'), ...others];
  if (logos > 0) what.push(`${countOf(logos, 'note')} of logos, whose files stay`);
  say(
    `Removed: ${what.join(', ')}. Their space is reused for new outcomes; the file does not shrink.`,
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
    for (const { key, read } of readEntries(database)) {
      const outcome = read();
      if (!outcome) continue;
      if (end) break;
      count += 1;
      const line = formatOutcomeLine(key, outcome);
      if (!stdout.write(`${stdout.isTTY ? printable(line) : line}\n`, note))
        await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {});
    }
  });
  note(await new Promise<Error | null | undefined>((resolve) => stdout.write('', resolve)));
  if (!end) say(`${countOf(count, 'outcome')} exported.`);
  // Its reader, such as `head`, has closed it. Any other error is reported where the command ends.
  else if (systemErrorCode(end) === 'EPIPE')
    say('Not all outcomes were exported: standard output was closed before the end.');
});

/** `brandfill store import` */
export const importFrom = defineCommand(STORE_OPTIONS, async ({ words: [file = ''], settings }) => {
  const batches = readOutcomes(file);
  // The first ones are read before a store is made for them.
  let batch = await batches.next();
  const put = async (database: StoreDatabase): Promise<void> => {
    let [read, imported] = [0, 0];
    for (; !batch.done; batch = await batches.next()) {
      read += batch.value.length;
      imported += await putNewer(database, batch.value);
    }
    await database.flush();
    say(
      `${countOf(imported, 'outcome')} imported, ${formatCount(read - imported)} were already there and at least as new.`,
    );
  };
  await withStore(settings.store, put, true);
});

const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/** @throws BrandfillError `UNREADABLE_INPUT` at a line that holds no outcome */
async function* readOutcomes(input: string): AsyncGenerator<readonly TravellingOutcome[]> {
  const name = input === '-' ? 'standard input' : input;
  const refuse = (what: string): never => {
    throw new BrandfillError('UNREADABLE_INPUT', `Cannot ${what}.`);
  };
  let [line, characters] = [0, 0];
  let batch: TravellingOutcome[] = [];
  try {
    const file = input === '-' ? process.stdin : (await openToRead(input)).createReadStream();
    for await (const lines of linesOf(file, name)) {
      for (const text of lines.map(String)) {
        line += 1;
        characters += text.length;
        if (text.trim() === '') continue;
        const parsed = parseOutcomeLine(text);
        if (typeof parsed !== 'string') batch.push(parsed);
        else {
          refuse(
            `import ${name}: line ${line} is no outcome (${parsed}); give a file that brandfill store export has written`,
          );
        }
      }
      if (batch.length < BATCH && characters < BATCH_CHARACTERS) continue;
      yield batch;
      batch = [];
      characters = 0;
    }
  } catch (error) {
    if (error instanceof BrandfillError) throw error;
    refuse(`read the outcomes from ${name}: ${describeSystemError(error)}`);
  }
  yield batch;
}
