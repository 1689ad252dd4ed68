import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { createShapeReader } from '../brand/shape.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { nameApi } from '../options/api.ts';
import {
  IMPORT_OPTIONS,
  type StoreChoice,
  type StoreOptionNaming,
} from '../options/command-options.ts';
import { checkOptions, libraryNaming } from '../options/read-options.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import { type IncomingOutcome, putNewer } from '../store/entries.ts';
import { parseOutcomeLine } from '../store/outcome-line.ts';
import { noteApiName } from '../store/tables.ts';
import { type OpenStoreTask, withOpenedStore } from './opened-store.ts';

/**
 * Options of an import. With `baseUrl`, all outcomes are imported for that API, whichever API they
 * name.
 */
export interface ImportOptions extends StoreChoice {
  /** The file of outcomes, compressed if its name ends in `.gz`; `-` is standard input. */
  readonly input: string;
}

/** The result of an import. */
export interface Imported {
  /** Outcomes that the store did not have, or had an older version of. */
  readonly imported: number;
  /** Outcomes that are not newer than the store's. */
  readonly kept: number;
  /** Lines that hold no outcome. */
  readonly refused: number;
  /** The first of these lines. */
  readonly firstRefused: readonly RefusedLine[];
}

export interface RefusedLine {
  /** Its number in the file, from 1. */
  readonly line: number;
  /** The error in it. */
  readonly reason: string;
}

const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
const MOST_SHOWN = 20;
/** When none of this many lines is an outcome, the file is refused as the wrong one. */
const FIRST_LINES = 100;

/**
 * Imports exported outcomes into a store, which is created if it does not exist. An outcome
 * replaces only an older one, so importing a file twice changes nothing. Lines without an outcome
 * are skipped. A file that begins with a hundred of them is refused before the store is touched.
 *
 * @throws BrandfillError when an option, the file or the store cannot be used
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
  const task = { options, declared: IMPORT_OPTIONS, naming, mayMake: true };
  const lines = await openLines(input);
  try {
    return await importLines(await checkFirstLines(lines, input), task);
  } finally {
    await lines.return(undefined); // not all lines may have been read
  }
}

async function importLines(
  lines: AsyncIterable<string>,
  task: OpenStoreTask<typeof IMPORT_OPTIONS>,
): Promise<Imported> {
  return await withOpenedStore(task, async ({ tables, settings, endpointId }) => {
    if (endpointId !== undefined) await noteApiName(tables, endpointId, nameApi(settings));
    const readShape = createShapeReader();
    const firstRefused: RefusedLine[] = [];
    let batch: IncomingOutcome[] = [];
    let batchCharacters = 0;
    let line = 0;
    let read = 0;
    let imported = 0;
    let refused = 0;

    function parse(text: string): IncomingOutcome | string {
      const parsed = parseOutcomeLine(text);
      if (typeof parsed === 'string') return parsed;
      const id = endpointId ?? parsed.endpointId;
      if (id === undefined) return "'api' is missing, and no base URL is given";
      const found = normalizeDomain(parsed.outcome.domain, { registrable: false });
      if ('invalid' in found) return `'domain' is none (${found.invalid})`;
      const outcome = { ...parsed.outcome, domain: found.domain };
      return { endpointId: id, outcome, shape: readShape(outcome.json) };
    }

    async function write(): Promise<void> {
      read += batch.length;
      imported += await putNewer(tables, batch);
      batch = [];
      batchCharacters = 0;
    }

    for await (const text of lines) {
      line += 1;
      if (text.trim() === '') continue;
      const incoming = parse(text);
      if (typeof incoming === 'string') {
        refused += 1;
        if (firstRefused.length < MOST_SHOWN) firstRefused.push({ line, reason: incoming });
        continue;
      }
      batch.push(incoming);
      batchCharacters += incoming.outcome.json.length;
      if (batch.length >= BATCH || batchCharacters >= BATCH_CHARACTERS) await write();
    }
    await write();
    await tables.flush();
    return { imported, kept: read - imported, refused, firstRefused };
  });
}

/**
 * Passes all lines on once one of the first is found to be an outcome, or there are no more lines.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when the file is of another kind
 */
async function checkFirstLines(
  lines: AsyncGenerator<string>,
  input: string,
): Promise<AsyncIterable<string>> {
  const first: string[] = [];
  const reasons: string[] = [];
  let hasOutcome = false;
  while (!hasOutcome && reasons.length < FIRST_LINES) {
    const { done, value } = await lines.next();
    if (done) break;
    first.push(value);
    if (value.trim() === '') continue;
    const parsed = parseOutcomeLine(value);
    hasOutcome = typeof parsed !== 'string';
    if (typeof parsed === 'string') reasons.push(parsed);
  }
  if (!hasOutcome && reasons.length > 0) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot import ${input === '-' ? 'standard input' : input}: none of its ${reasons.length === FIRST_LINES ? `first ${FIRST_LINES} ` : ''}lines is an outcome (the first: ${reasons[0]}); give a file that brandfill store export has written.`,
    );
  }
  return (async function* () {
    yield* first;
    yield* lines;
  })();
}

/**
 * @throws BrandfillError `UNREADABLE_INPUT` before the store is touched, when there is no such file
 */
async function openLines(input: string): Promise<AsyncGenerator<string>> {
  const refuse = (error: unknown): never => {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read the outcomes from ${input === '-' ? 'standard input' : input}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  };
  const handle = input === '-' ? undefined : await open(input).catch(refuse);
  const file = handle?.createReadStream();
  // The pipeline passes its errors on to the reader.
  const unpacked = file && /\.gz$/i.test(input) && pipeline(file, createGunzip(), () => {});
  const stream = unpacked || file || process.stdin;
  stream.setEncoding('utf8');
  return (async function* () {
    // The pieces of a line that has not ended: joined with each chunk, a long one would take a time
    // that grows with the square of its length.
    let pieces: string[] = [];
    let isStart = true;
    try {
      for await (const text of stream) {
        const [first = '', ...others] = (isStart ? withoutMark(String(text)) : String(text)).split(
          '\n',
        );
        isStart = false;
        pieces.push(first);
        const last = others.pop();
        if (last === undefined) continue;
        yield pieces.join('');
        yield* others;
        pieces = [last];
      }
    } catch (error) {
      refuse(error);
    } finally {
      await handle?.close();
    }
    yield pieces.join('');
  })();
}

/** Removes a byte order mark, which an editor or a shell that redirects output may have added. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
