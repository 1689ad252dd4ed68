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
import { createCallbackGuard } from '../common/lifetime.ts';
import { findEndpointIds, readWithProfile } from '../options/api.ts';
import { type ADD_FLAGS, ADD_OPTIONS, type AddSettings } from '../options/command-options.ts';
import { callback, flag, list, signal } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf } from '../options/option.ts';
import { flagOrArgument } from '../options/options.ts';
import { createDomainReader } from '../rows/domain/domain-reader.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import { describeInput, inOneLine } from '../watch/describe.ts';
import { createReadingReporter } from '../watch/events.ts';
import { type RunCommand, say, untilInterrupted } from './command.ts';
import { type QueueService, queueUrlOf, withQueue } from './with-queue.ts';

const ADD = {
  ...ADD_OPTIONS,
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  input: list<ListInput>(),
  /** Whether to read and count only. @default false */
  dryRun: flag().optional(),
  /** Stops between two batches. Lookups that are on the queue already stay there. */
  signal: signal(),
  /** Called with notices, each worth a line. */
  onNotice: callback<(message: string) => void>(),
};

/** Options for adding a list to a queue. */
export interface AddOptions extends OptionsOf<typeof ADD> {}

/** The result of adding a list. */
export interface AddSummary {
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
/** How many lookups are sent to Redis at a time. */
const BATCH = 100 * CHUNK;
/** No columns are added here, so their names cannot clash with the list's. */
const PREFIX_OF_NO_COLUMN = 'brand_';
const MOST_SHOWN = 5;

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
  const { settings, profile } = readWithProfile('add', ADD, { given: options, describe });
  const { input, dryRun = false } = options;
  const api = findEndpointIds(settings, profile, describe)?.queueName;
  if (!dryRun) {
    queueUrlOf(settings, 'add lookups', describe); // said before a long list is read
    if (api === undefined) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot add lookups without the API that is to be asked, which has a queue of its own: give ${describe('api')} or ${describe('baseUrl')}.`,
      );
    }
  }
  const callbackGuard = createCallbackGuard([options.signal]);
  const { signal } = callbackGuard;
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const { domains, ...listed } = await readDomains(input, settings, { dryRun, signal, onNotice });
  const { ref = listed.name } = settings;
  let lookups = 0;
  let alreadyWaiting = 0;

  async function putOnQueue({ queue, redis, closer }: QueueService): Promise<void> {
    const { interactive = false } = settings;
    const producer = closer.add(
      queue.openProducer({ redis, queue: api ?? '', ref, isInteractive: interactive, onNotice }),
    );
    if (await producer.isPaused()) {
      onNotice(`The queue '${api}' is paused: these lookups wait until somebody resumes it.`);
    }
    for (let at = 0; at < domains.length; at += BATCH) {
      const batch = domains.slice(at, at + BATCH);
      const added = await producer.add(cut(batch, CHUNK), signal);
      lookups += added;
      alreadyWaiting += batch.length - added;
    }
  }

  const { rows, uniqueDomains, invalidRows, invalidExamples: firstInvalid } = listed.planned;
  if (dryRun) lookups = uniqueDomains;
  else {
    const service = { purpose: 'add lookups', settings, describe, onNotice };
    await withQueue(service, putOnQueue).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  callbackGuard.throwIfFailed();
  const duplicateRows = rows - invalidRows - uniqueDomains;
  const notAdded = uniqueDomains - lookups - alreadyWaiting;
  const counts = { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid };
  const isInterrupted = notAdded > 0;
  return { ...counts, lookups, alreadyWaiting, notAdded, ref, api, isInterrupted };
}

interface ReadingContext {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly onNotice: (message: string) => void;
}

/** Reads all rows. Nothing is sent before the whole list was readable. */
async function readDomains(
  input: ListInput,
  settings: AddSettings,
  { dryRun, signal, onNotice }: ReadingContext,
) {
  const { sheet, domainColumn, encoding, noHeader, skipLines } = settings;
  const { onRead } = createReadingReporter({ onNotice });
  const source = await openList(input, { spoolFolder: tmpdir(), signal, encoding, sheet, onRead });
  try {
    const format = openRows(source, { prefix: PREFIX_OF_NO_COLUMN, noHeader, skipLines });
    const column = chooseDomainColumn(source, format, domainColumn);
    if (column.isDoubtful && !dryRun) throw refuseDoubtful(column, source);
    const opened = { input: source.name, format: format.description, column } as const;
    onNotice(inOneLine(describeInput({ type: 'opened', ...opened })));
    for (const message of format.notices ?? []) onNotice(message);
    const domains = new Map<string, number>();
    const { planned } = await makePlan({
      source,
      format,
      column,
      readDomain: createDomainReader({ ...settings, column }),
      domains,
      signal,
      look: () => 'due',
      index: { append: async () => {} },
      mostExamples: MOST_SHOWN,
    });
    if (!source.isOfObjects) assertColumnsThere(source, format, [column]);
    return { planned, domains: [...domains.keys()], name: basename(source.name) };
  } finally {
    await source.close();
  }
}

function cut(domains: readonly string[], size: number): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < domains.length; at += size) chunks.push(domains.slice(at, at + size));
  return chunks;
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
