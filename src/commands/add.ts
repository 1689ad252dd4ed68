import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { BrandfillError } from '../common/errors.ts';
import { createCallbackGuard, createCloser } from '../common/lifetime.ts';
import { findEndpointIds, readWithProfile } from '../options/api.ts';
import { ADD_OPTIONS, type AddSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { libraryNaming, type OptionKinds } from '../options/read-options.ts';
import {
  assertColumnsThere,
  chooseDomainColumn,
  refuseDoubtful,
} from '../producer/choose-column.ts';
import { createDistinctDomains, type DistinctDomains } from '../producer/distinct-domains.ts';
import { type InvalidRow, makePlan } from '../producer/plan.ts';
import { toQueueError } from '../queue/bullmq/server/refusals.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { createDomainReader, type DomainReader } from '../rows/domain/domain-reader.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { describeInput } from '../watch/describe.ts';
import { createReadingReporter } from '../watch/events.ts';

/** Options for adding a list to a queue. */
export interface AddOptions extends OptionsOf<typeof ADD_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  readonly input: ListInput;
  /** Whether to read and count only. @default false */
  readonly dryRun?: boolean | undefined;
  /** Stops between two batches. Lookups that are on the queue already stay there. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** The result of adding a list. */
export interface AddSummary extends ListedDomains {
  /** Lookups that were put on the queue, or would be in a dry run. */
  readonly lookups: number;
  /** Lookups that were on the queue already, because the same list was added before. */
  readonly alreadyWaiting: number;
  /** Lookups of which it is unknown whether they are on the queue, because of an interruption. */
  readonly notAdded: number;
  readonly ref: string;
  /** The API that is meant, as workers name it at their start. */
  readonly api: string | undefined;
  readonly isInterrupted: boolean;
}

/** How many chunks are sent to Redis at a time. */
const CHUNKS_PER_BATCH = 100;
/** No columns are added here, so their names cannot clash with the list's. */
const PREFIX_OF_NO_COLUMN = 'brand_';

/**
 * Puts the domains of a list on a queue on Redis, each once, for workers to look up. The outcomes
 * go to the collector of the queue. Nothing is put there before the whole list was read. Adding the
 * same list again while it waits adds nothing.
 *
 * @throws BrandfillError when an option, the list or the queue cannot be used; the error that
 *   `onNotice` threw
 *
 * @example
 * ```ts
 * const { lookups } = await add({ input: 'accounts.csv', queue: 'redis://localhost:6379/0' });
 * ```
 */
export async function add(
  options: AddOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<AddSummary> {
  const known = { of: 'add', declared: ADD_OPTIONS, others: OTHERS, describe };
  const { settings, profile } = readWithProfile(options, known);
  const { input, dryRun = false, signal, onNotice = () => {} } = options;
  const api = findEndpointIds(settings, describe, profile)?.queueId;
  const { queue } = settings;
  if (queue === undefined && !dryRun) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot add lookups without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
    );
  }
  const callbackGuard = createCallbackGuard([signal]);
  const context = { api, onNotice: callbackGuard.guard(onNotice), signal: callbackGuard.signal };
  const summary = await addList(input, { ...settings, queue: dryRun ? undefined : queue }, context);
  callbackGuard.throwIfFailed();
  return summary;
}

const OTHERS: OptionKinds<BesideSettings> = {
  input: 'list',
  dryRun: 'flag',
  signal: 'signal',
  onNotice: 'function',
};

interface AddContext {
  readonly api: string | undefined;
  readonly signal: AbortSignal;
  readonly onNotice: (message: string) => void;
}

async function addList(
  input: ListInput,
  settings: AddSettings,
  context: AddContext,
): Promise<AddSummary> {
  const { sheet, domainColumn, encoding, noHeader, skipLines, queue } = settings;
  const { api, signal, onNotice } = context;
  const { onRead } = createReadingReporter({ onNotice });
  const closer = createCloser();
  try {
    const source = closer.add(
      await openList(input, { spoolFolder: tmpdir(), signal, encoding, sheet, onRead }),
    );
    const format = openRows(source, { prefix: PREFIX_OF_NO_COLUMN, noHeader, skipLines });
    const column = chooseDomainColumn(source, format, domainColumn);
    if (column.isDoubtful && queue !== undefined) throw refuseDoubtful(column, source);
    const opened = { input: source.name, format: format.description, column } as const;
    onNotice(describeInput({ type: 'opened', ...opened }));
    for (const message of [...(source.notices ?? []), ...(format.notices ?? [])]) onNotice(message);
    const domains = closer.add(await createDistinctDomains(tmpdir()));
    const readDomain = createDomainReader({ ...settings, column });
    const listed = await listDomains({ source, format, column, readDomain, domains, signal });
    if (!source.isOfObjects) assertColumnsThere(source, format, [column]);
    const ref = settings.ref ?? basename(source.name);
    const totals =
      queue === undefined
        ? { lookups: listed.uniqueDomains, alreadyWaiting: 0 }
        : await putOnQueue(domains, { ...settings, queue, ref }, context);
    const notAdded = listed.uniqueDomains - totals.lookups - totals.alreadyWaiting;
    return { ...listed, ...totals, notAdded, ref, api, isInterrupted: notAdded > 0 };
  } finally {
    await closer.close();
  }
}

async function putOnQueue(
  domains: DistinctDomains,
  settings: AddSettings & { readonly queue: string; readonly ref: string },
  { api, signal, onNotice }: AddContext,
): Promise<Pick<AddSummary, 'lookups' | 'alreadyWaiting'>> {
  const { queue, chunk, ref, interactive = false, acceptEviction = false } = settings;
  const { areBackfillsPaused, openQueueServer, openBulkLookups } = await import(
    '../queue/bullmq/index.ts'
  );
  const closer = createCloser();
  let lookups = 0;
  let alreadyWaiting = 0;
  try {
    const redis = closer.add(await openQueueServer({ url: queue, acceptEviction, onNotice }));
    if (await areBackfillsPaused(redis.client)) {
      onNotice(
        'Backfills are paused: these lookups wait until somebody resumes them in the dashboard.',
      );
    }
    const bulk = closer.add(
      openBulkLookups({ redis, ref, api, isInteractive: interactive, onNotice }),
    );
    const batches = cutIntoLists(domains.read(), chunk * CHUNKS_PER_BATCH);
    for await (const batch of batches) {
      const added = await bulk.add(cut(batch, chunk), signal);
      lookups += added;
      alreadyWaiting += batch.length - added;
    }
  } catch (error) {
    if (!signal.aborted) throw toQueueError(error);
  } finally {
    await closer.close();
  }
  return { lookups, alreadyWaiting };
}

function cut(domains: readonly string[], size: number): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < domains.length; at += size) chunks.push(domains.slice(at, at + size));
  return chunks;
}

/** The domains of a list. */
export interface ListedDomains {
  /** Rows in the list. */
  readonly rows: number;
  /** Different domains in them. */
  readonly uniqueDomains: number;
  /** Rows whose domain an earlier row has. */
  readonly duplicateRows: number;
  /** Rows without a domain. */
  readonly invalidRows: number;
  /** Some of these rows. */
  readonly firstInvalid: readonly InvalidRow[];
}

export interface ListDomainsOptions {
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Reads the domain in a cell of that column. */
  readonly readDomain: DomainReader;
  /** Receives the domains of all rows. */
  readonly domains: DistinctDomains;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

const MOST_SHOWN = 5;

/** Reads all rows and gathers their domains. Nothing is sent before the whole list was readable. */
export async function listDomains(options: ListDomainsOptions): Promise<ListedDomains> {
  const { domains, ...list } = options;
  const { planned } = await makePlan({
    ...list,
    look: () => 'due',
    index: {
      append: (rows) =>
        domains.add(rows.filter(({ kind }) => kind === 'due').map(({ text }) => text)),
      end: async () => {},
    },
    mostExamples: MOST_SHOWN,
  });
  const { rows, invalidRows, invalidExamples: firstInvalid } = planned;
  const uniqueDomains = await domains.settle();
  const duplicateRows = rows - invalidRows - uniqueDomains;
  return { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid };
}

/** Cuts batches of any size into lists of one size. The last list may be shorter. */
export async function* cutIntoLists<T>(
  batches: AsyncIterable<readonly T[]>,
  size: number,
): AsyncGenerator<readonly T[]> {
  let list: T[] = [];
  for await (const batch of batches) {
    for (const item of batch) {
      list.push(item);
      if (list.length < size) continue;
      yield list;
      list = [];
    }
  }
  if (list.length > 0) yield list;
}
