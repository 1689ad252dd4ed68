import type { Outcome } from '../brand/outcome.ts';
import { BrandfillError, EXIT } from '../common/errors.ts';
import { countOf, formatCount, formatSize } from '../common/format.ts';
import {
  DELETE_OPTIONS,
  GET_OPTIONS,
  type JSON_FLAGS,
  PRUNE_OPTIONS,
  STORE_OPTIONS,
  type StoreChoice,
  type StoreOptionNaming,
} from '../options/command-options.ts';
import type { Options, OptionsOf, SettingsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { checkOptions, libraryNaming, type OptionKind } from '../options/read-options.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { decodeOutcome } from '../store/entries.ts';
import { formatOutcomeLine } from '../store/outcome-line.ts';
import type { Deleted, Pruned, StoreStats } from '../store/stats.ts';
import { endpointIdsIn, keyOf, type StoreTables } from '../store/tables.ts';
import { countStore, deleteDomains, pruneTables } from '../store/upkeep.ts';
import { print, type RunCommand, say } from './command.ts';
import { withOpenedStore } from './opened-store.ts';

/**
 * Counts what is in a store.
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

/** Options of a pruning. */
export interface PruneStoreOptions extends OptionsOf<typeof PRUNE_OPTIONS> {
  /** The age above which outcomes are removed: a text such as `'180d'`, or milliseconds. */
  readonly olderThan: string | number;
}

/**
 * Removes old outcomes. Later outcomes use the freed space; the file
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
 * Deletes all that the store has of some domains: outcomes, and notes on logos. Later outcomes use the freed space; the file does not shrink.
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
  readonly declared: Options;
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
    const key = keyOf(endpointId, domain);
    const value = table.getBinaryFast(key);
    return value && decodeOutcome(key, value);
  });
  if (!answer || !failure) return answer ?? failure;
  return failure.fetchedAtMs > answer.fetchedAtMs ? failure : answer;
}

/** `brandfill store stats` */
export const runStats: RunCommand<typeof JSON_FLAGS> = async ({ options, flags }) => {
  const stats = await readStoreStats(options, flagOf);
  print(...(flags.json ? [JSON.stringify(stats)] : describeStore(stats)));
  return EXIT.ok;
};

/** `brandfill store get` */
export const runGet: RunCommand = async ({ words: [domain = ''], options }) => {
  const lines = await findStored({ ...options, domain }, flagOf);
  if (lines.length > 0) {
    print(...lines);
    return EXIT.ok;
  }
  say(`There is no outcome of ${domain} in the store.`);
  return EXIT.someFailed;
};

/** `brandfill store prune` */
export const runPrune: RunCommand = async ({ options }) => {
  sayRemoved(await pruneStore(options as unknown as PruneStoreOptions, flagOf), options);
  return EXIT.ok;
};

/** `brandfill store delete` */
export const runDelete: RunCommand = async ({ words: domains, options }) => {
  const deleted = await deleteStored({ ...options, domains }, flagOf);
  for (const domain of deleted.unknown) say(`There is nothing of ${domain} in the store.`);
  sayRemoved(deleted, options);
  return deleted.unknown.length > 0 ? EXIT.someFailed : EXIT.ok;
};

function sayRemoved(
  { answers, failures, logos }: Pruned,
  { dryRun = false }: { readonly dryRun?: boolean },
): void {
  const what = [`${countOf(answers, 'answer')}, ${countOf(failures, 'failure')}`];
  if (logos > 0) what.push(`${countOf(logos, 'note')} of logos, whose files stay`);
  const all = what.join(', ');
  say(
    dryRun
      ? `To be removed: ${all}.`
      : `Removed: ${all}. Their space is reused for new outcomes; the file does not shrink.`,
  );
}

/** Describes the contents of a store for people, in lines. */
function describeStore(stats: StoreStats): readonly string[] {
  const { folder, version, sizeBytes, statuses, apis, ages, logos } = stats;
  const { oldestAtMs, newestAtMs } = stats;
  const total = sumOf(statuses);
  const lines = [
    `Store ${folder}, version ${version}: ${formatSize(sizeBytes)} on the disk`,
    `${countOf(total, 'domain')}${describeStatuses(statuses)}`,
  ];
  for (const { api, name, statuses: ofApi } of apis) {
    lines.push(
      `  ${name ?? 'API'} (${api})  ${countOf(sumOf(ofApi), 'domain')}${describeStatuses(ofApi)}`,
    );
  }
  if (total > 0) lines.push('Asked about');
  let fromDays = 0;
  for (const { underDays, outcomes } of ages) {
    const when =
      underDays === undefined
        ? `${fromDays} days ago and before`
        : fromDays === 0
          ? 'less than a day ago'
          : `${fromDays} to ${underDays} days ago`;
    if (outcomes > 0) lines.push(`  ${when.padEnd(24)}${formatCount(outcomes)}`);
    fromDays = underDays ?? fromDays;
  }
  if (oldestAtMs !== undefined && newestAtMs !== undefined) {
    lines.push(`  the oldest at ${time(oldestAtMs)}, the newest at ${time(newestAtMs)}`);
  }
  if (logos > 0) lines.push(`${countOf(logos, 'logo')} saved`);
  return lines;
}

function describeStatuses(statuses: StoreStats['statuses']): string {
  const parts = Object.entries(statuses)
    .filter(([, outcomes]) => outcomes > 0)
    .map(([status, outcomes]) => `${formatCount(outcomes)} ${status.replace('_', ' ')}`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}

function sumOf(statuses: StoreStats['statuses']): number {
  return Object.values(statuses).reduce((sum, outcomes) => sum + outcomes, 0);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
