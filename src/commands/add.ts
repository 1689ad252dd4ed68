import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import {
  assertColumnsThere,
  chooseDomainColumn,
  refuseDoubtful,
} from '../collector/choose-column.ts';
import { type InvalidRow, makePlan } from '../collector/plan.ts';
import { BrandfillError, EXIT } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { createCallbackGuard, createCloser } from '../common/lifetime.ts';
import { findEndpointIds, readWithProfile } from '../options/api.ts';
import { type ADD_FLAGS, ADD_OPTIONS, type AddSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOrArgument } from '../options/options.ts';
import { libraryNaming, type OptionKinds } from '../options/read-options.ts';
import { toQueueError } from '../queue/redis-errors.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { createDomainReader, type DomainReader } from '../rows/domain/domain-reader.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import { describeInput, inOneLine } from '../watch/describe.ts';
import { createReadingReporter } from '../watch/events.ts';
import { type RunCommand, say, untilInterrupted } from './command.ts';

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
  /** The queue that has them: that of the API. */
  readonly api: string | undefined;
  readonly isInterrupted: boolean;
}

/** How many lookups are sent to a worker together. */
const CHUNK = 50;
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
  const api = findEndpointIds(settings, describe, profile)?.queueName;
  const { queue } = settings;
  if (queue === undefined && !dryRun) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot add lookups without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
    );
  }
  if (api === undefined && !dryRun) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot add lookups without the API that is to be asked, which has a queue of its own: give ${describe('api')} or ${describe('baseUrl')}.`,
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
    onNotice(inOneLine(describeInput({ type: 'opened', ...opened })));
    for (const message of format.notices ?? []) onNotice(message);
    const domains = new Map<string, number>();
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
  domains: ReadonlyMap<string, number>,
  settings: AddSettings & { readonly queue: string; readonly ref: string },
  { api, signal, onNotice }: AddContext,
): Promise<Pick<AddSummary, 'lookups' | 'alreadyWaiting'>> {
  const { queue, ref, interactive = false, acceptEviction = false } = settings;
  const { openQueueServer, openProducer } = await import('../queue/index.ts');
  const closer = createCloser();
  let lookups = 0;
  let alreadyWaiting = 0;
  try {
    const redis = closer.add(await openQueueServer({ url: queue, acceptEviction, onNotice }));
    const producer = closer.add(
      openProducer({ redis, queue: api ?? '', ref, isInteractive: interactive, onNotice }),
    );
    if (await producer.isPaused()) {
      onNotice(`The queue '${api}' is paused: these lookups wait until somebody resumes it.`);
    }
    const all = [...domains.keys()];
    const size = CHUNK * CHUNKS_PER_BATCH;
    for (let at = 0; at < all.length; at += size) {
      const batch = all.slice(at, at + size);
      const added = await producer.add(cut(batch, CHUNK), signal);
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
  readonly domains: Map<string, number>;
  /** Ends the reading early, with the signal's reason. */
  readonly signal: AbortSignal;
}

const MOST_SHOWN = 5;

/** Reads all rows and gathers their domains. Nothing is sent before the whole list was readable. */
export async function listDomains(options: ListDomainsOptions): Promise<ListedDomains> {
  const { planned } = await makePlan({
    ...options,
    look: () => 'due',
    index: { append: async () => {} },
    mostExamples: MOST_SHOWN,
  });
  const { rows, uniqueDomains, invalidRows, invalidExamples: firstInvalid } = planned;
  const duplicateRows = rows - invalidRows - uniqueDomains;
  return { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid };
}

/** `brandfill add` */
export const runAdd: RunCommand<typeof ADD_FLAGS> = async ({ words, options, flags, context }) =>
  await untilInterrupted(context.endAtOnce, async (signal) => {
    const { dryRun = false, json = false } = flags;
    const [input = ''] = words;
    const summary = await add({ ...options, input, dryRun, signal, onNotice: say }, flagOrArgument);
    describeAdded(summary, dryRun).forEach((line) => say(line));
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    if (summary.isInterrupted) return EXIT.interrupted;
    // As for a run that finds nothing: a list of nothing but invalid rows is hardly the one that was meant.
    return summary.rows > 0 && summary.uniqueDomains === 0 ? EXIT.someFailed : EXIT.ok;
  });

function describeAdded(summary: AddSummary, isDryRun: boolean): readonly string[] {
  const { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid } = summary;
  const { lookups, alreadyWaiting, notAdded, ref } = summary;
  const unshown = invalidRows - firstInvalid.length;
  const lines = [
    ...firstInvalid.map(
      ({ row, sheetRow, line, reason, cell }) =>
        `${sheetRow === undefined ? (line === undefined ? `Row ${formatCount(row)}` : `Line ${line}`) : `Sheet row ${sheetRow}`} has no domain (${reason})${cell === '' ? '' : `: '${cell}'`}`,
    ),
    unshown > 0 && `${formatCount(unshown)} more without a domain`,
    `${countOf(rows, 'row')}: ${countOf(uniqueDomains, 'domain')}, ${formatCount(duplicateRows)} repeated, ${formatCount(invalidRows)} invalid`,
    isDryRun
      ? `${countOf(lookups, 'lookup')} would be put on the queue.`
      : `${countOf(lookups, 'lookup')} put on the queue, with the reference '${ref}'.`,
    alreadyWaiting > 0 &&
      `${formatCount(alreadyWaiting)} waited there already and were not added twice.`,
    notAdded > 0 &&
      `Interrupted: ${formatCount(notAdded)} were not added; run the same command again to add them.`,
  ];
  return lines.filter((line) => line !== false);
}
