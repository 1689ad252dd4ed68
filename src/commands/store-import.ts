import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BrandfillError, describeSystemError, EXIT } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { nameApi } from '../options/api.ts';
import {
  IMPORT_OPTIONS,
  type StoreChoice,
  type StoreOptionNaming,
} from '../options/command-options.ts';
import { flagOf } from '../options/options.ts';
import { checkOptions, libraryNaming } from '../options/read-options.ts';
import { parseOutcomeLine } from '../store/outcome-line.ts';
import { noteApiName } from '../store/tables.ts';
import { type IncomingOutcome, putNewer } from '../store/upkeep.ts';
import { type RunCommand, say } from './command.ts';
import { withOpenedStore } from './opened-store.ts';

/**
 * Options of an import. With `baseUrl`, all outcomes are imported for that API, whichever API they
 * name.
 */
export interface ImportOptions extends StoreChoice {
  /** A file that was exported, compressed if its name ends in `.gz`; `-` is standard input. */
  readonly input: string;
}

/** The result of an import. */
export interface Imported {
  /** Outcomes that the store did not have, or had an older version of. */
  readonly imported: number;
  /** Outcomes that are not newer than the store's. */
  readonly kept: number;
}

const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Imports outcomes that `brandfill store export` has written into a store, which is created if it
 * does not exist. An outcome replaces only an older one, so importing a file twice changes nothing.
 *
 * @throws BrandfillError when an option, the file, a line of it, or the store cannot be used. What
 *   comes before that line is imported
 */
export async function importStore(
  given: ImportOptions,
  naming: StoreOptionNaming = libraryNaming,
): Promise<Imported> {
  checkOptions(given, {
    of: 'importStore',
    declared: IMPORT_OPTIONS,
    others: { input: 'file' },
    describe: naming,
  });
  const { input, ...options } = given;
  const name = input === '-' ? 'standard input' : input;
  const stream = await openText(input, name);
  const batches = batchesOf(stream, name);
  const task = { options, declared: IMPORT_OPTIONS, naming, mayMake: true };
  try {
    // A file that is not one is refused before there is a store.
    let batch = await batches.next();
    return await withOpenedStore(task, async ({ tables, settings, endpointId }) => {
      if (endpointId !== undefined) await noteApiName(tables, endpointId, nameApi(settings));
      let read = 0;
      let imported = 0;
      for (; !batch.done; batch = await batches.next()) {
        read += batch.value.length;
        imported += await putNewer(tables, batch.value, endpointId);
      }
      await tables.flush();
      return { imported, kept: read - imported };
    });
  } finally {
    await batches.return(undefined); // not all lines may have been read
    stream.destroy();
  }
}

async function openText(input: string, name: string): Promise<NodeJS.ReadStream | Text> {
  if (input === '-') return process.stdin.setEncoding('utf8');
  const handle = await open(input).catch((error: unknown) => refuse(name, error));
  const file = handle.createReadStream();
  if (!/\.gz$/i.test(input)) return file.setEncoding('utf8');
  // The pipeline passes its errors on to the reader.
  return pipeline(file, createGunzip(), () => {}).setEncoding('utf8');
}

type Text = AsyncIterable<unknown> & { destroy(): unknown };

function refuse(name: string, error: unknown): never {
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read the outcomes from ${name}: ${describeSystemError(error)}.`,
    { cause: error },
  );
}

async function* batchesOf(stream: Text, name: string): AsyncGenerator<readonly IncomingOutcome[]> {
  let line = 0;
  let characters = 0;
  let batch: IncomingOutcome[] = [];
  for await (const text of linesOf(stream, name)) {
    line += 1;
    if (text.trim() === '') continue;
    const parsed = parseOutcomeLine(text);
    if (typeof parsed === 'string') {
      throw new BrandfillError(
        'UNREADABLE_INPUT',
        `Cannot import ${name}: line ${line} is no outcome (${parsed}); give a file that brandfill store export has written.`,
      );
    }
    batch.push(parsed);
    characters += text.length;
    if (batch.length < BATCH && characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  yield batch;
}

async function* linesOf(stream: Text, name: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const text of stream) {
      const lines = (rest + String(text)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    refuse(name, error);
  }
  yield rest;
}

/** `brandfill store import` */
export const runImport: RunCommand = async ({ words: [input = ''], options }) => {
  const { imported, kept } = await importStore({ ...options, input }, flagOf);
  say(
    `${countOf(imported, 'outcome')} imported, ${formatCount(kept)} were already there and at least as new.`,
  );
  return EXIT.ok;
};
