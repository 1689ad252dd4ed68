import { chmod, copyFile, open, readdir, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { chooseDomainColumn } from '../../collector/choose-column.ts';
import { plan } from '../../commands/enrich.ts';
import { tryDomain } from '../../commands/try.ts';
import { BrandfillError } from '../../common/errors.ts';
import { freeBytes, PRIVATE } from '../../common/files.ts';
import type { DomainColumn } from '../../rows/columns/domain-column.ts';
import { shorten } from '../../rows/columns/names.ts';
import { createDomainReader } from '../../rows/domain/domain-reader.ts';
import { openList } from '../../rows/list-input.ts';
import { openRows } from '../../rows/open-rows.ts';
import type { RowFormat } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Trial } from '../../run/trial.ts';
import { findReason } from '../../watch/words.ts';
import {
  type Connections,
  costFor,
  costOfTrials,
  messageOf,
  nameSetting,
  quietEnv,
  shownDomain,
  textOfValue,
} from './connections.ts';
import { type AppFolder, AppRefusal, createId, isId, refusalOf } from './folder.ts';

/** How a list is to be read. What is left out is found out. */
export const readingRequest = z.object({
  sheet: z.string().max(1_000).optional(),
  /** The column with the addresses, by name. */
  column: z.string().max(10_000).optional(),
  noHeader: z.boolean().optional(),
  skipLines: z.int().min(0).max(1_000).optional(),
});

/** What a run is to do with a list. */
export const runRequest = z.object({
  /** Columns to add, by name without the prefix; null for the usual ones. */
  fields: z
    .array(z.object({ name: z.string().max(1_000), expression: z.string().min(1).max(10_000) }))
    .max(200)
    .nullable()
    .optional(),
  maxCalls: z.int().positive().optional(),
  /** In the units that the profile bills in. */
  maxCost: z.number().positive().optional(),
});

type Reading = z.infer<typeof readingRequest>;
export type RunRequest = z.infer<typeof runRequest>;
type Fields = NonNullable<RunRequest['fields']> | null;

/** A list as it was understood. */
export interface ListView {
  readonly id: string;
  /** The name of the file that was chosen. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly uploadedAtMs: number;
  readonly reading: Reading;
  readonly kind: RowFormat['kind'];
  /** For people, such as `CSV, semicolon-separated`. */
  readonly format: string;
  /** Of a workbook: its sheets; one is in use. */
  readonly sheets: readonly { readonly name: string; readonly isUsed: boolean }[];
  /** The line, or the row of the sheet, with the names of columns; missing if there is none. */
  readonly headerRow?: number | undefined;
  readonly columns: readonly string[];
  readonly firstRows: readonly ShownRow[];
  /** Missing when no column could be found: `problem` says so, and somebody has to choose one. */
  readonly column?: Pick<DomainColumn, 'index' | 'name'> & {
    readonly why: string;
    readonly isDoubtful: boolean;
  };
  readonly problem?: string | undefined;
  readonly notices: readonly string[];
  /** The columns that were chosen for this list, or the last one, before. */
  readonly fields: Fields;
}

const FOLDER = 'lists';
const RECORD = 'list.json';
const CHOICES = 'choices.json';
const MOST_SAMPLES = 3;

export interface ListsOptions {
  readonly folder: AppFolder;
  readonly connections: Connections;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onChange: () => void;
}

export type Lists = Awaited<ReturnType<typeof openLists>>;

/** The lists that were given to the app. */
export async function openLists({ folder, connections, env, onChange }: ListsOptions) {
  const known = new Map<string, ListView>();
  for (const id of (await readdir(folder.at(FOLDER))).filter(isId)) {
    const record = folder.readJson(FOLDER, id, RECORD) as ListView | undefined;
    if (record) known.set(id, record);
    else await folder.remove(FOLDER, id); // it was never whole
  }

  const find = (id: string): ListView => {
    const list = known.get(id);
    if (!list) throw new AppRefusal('NOT_FOUND', 'There is no such list any more.');
    return list;
  };
  const placeOf = (list: Pick<ListView, 'id' | 'name'>, signal: AbortSignal): ListPlace => ({
    path: folder.at(FOLDER, list.id, list.name),
    spoolFolder: folder.at('spool'),
    signal,
  });

  async function keep(list: ListView): Promise<ListView> {
    await folder.writeJson(list, FOLDER, list.id, RECORD);
    known.set(list.id, list);
    onChange();
    return list;
  }

  async function take(
    given: string,
    write: (path: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListView> {
    const entry = { id: createId(), name: cleanName(given) };
    folder.make(FOLDER, entry.id);
    const place = placeOf(entry, signal);
    try {
      await write(place.path);
      const { size: sizeBytes } = await stat(place.path);
      const found = await understand(place, {});
      const fields = lastFields();
      return await keep({ ...entry, sizeBytes, uploadedAtMs: Date.now(), ...found, fields });
    } catch (error) {
      await folder.remove(FOLDER, entry.id);
      throw refusalOf(error, folder.path);
    }
  }

  const apiName = (): string => connections.current?.profile ?? connections.current?.baseUrl ?? '';

  /** What was chosen last at this API. */
  function lastFields(): Fields {
    const choices = (folder.readJson(CHOICES) ?? {}) as Readonly<Record<string, Fields>>;
    return choices[apiName()] ?? null;
  }

  /** The options of `enrich` that say how a list is read, and what is made of it. */
  function optionsOf(id: string, request: RunRequest) {
    const list = find(id);
    if (!list.column) {
      const choose = 'Choose the column with the web addresses: click it in the table.';
      throw new AppRefusal('NO_COLUMN', list.problem ?? choose);
    }
    const fields = checkFields(request.fields === undefined ? list.fields : request.fields);
    const { sheet, noHeader, skipLines } = list.reading;
    return {
      input: folder.at(FOLDER, id, list.name),
      sheet: sheet ?? list.sheets.find(({ isUsed }) => isUsed)?.name,
      domainColumn: list.column.name,
      noHeader,
      skipLines,
      ...(fields && {
        fields: Object.fromEntries(fields.map(({ name, expression }) => [name, expression])),
      }),
      maxCalls: request.maxCalls,
      maxCost: request.maxCost,
    };
  }

  async function explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw refusalOf(error, folder.path);
    }
  }

  return {
    entries: () =>
      [...known.values()]
        .map(({ id, name, sizeBytes, uploadedAtMs }) => ({ id, name, sizeBytes, uploadedAtMs }))
        .sort((one, other) => other.uploadedAtMs - one.uploadedAtMs),
    find,
    has: (id: string): boolean => known.has(id),
    optionsOf,
    /** Takes a file in, and finds out how to read it. One that cannot be read is not kept. */
    add: async (
      name: string,
      bytes: Readable,
      sizeBytes: number | undefined,
      signal: AbortSignal,
    ) => {
      if (sizeBytes === 0) {
        throw new AppRefusal('UNREADABLE_INPUT', 'The file is empty. Choose one with rows in it.');
      }
      const hasRoom = sizeBytes === undefined || sizeBytes < freeBytes(folder.path);
      return await take(name, async (path) => await receive(bytes, path, hasRoom), signal);
    },
    /** Takes a copy of the sample in. */
    addSample: async (file: string, signal: AbortSignal) =>
      await take(
        basename(file),
        async (path) => {
          await copyFile(file, path);
          await chmod(path, PRIVATE.mode);
        },
        signal,
      ),
    /** Reads a list in another way; if that cannot be, it is read as before. */
    read: async (id: string, reading: Reading, signal: AbortSignal) =>
      await explained(async () => {
        const list = find(id);
        return await keep({ ...list, ...(await understand(placeOf(list, signal), reading)) });
      }),
    /** What a run would do. Reads the whole list. */
    plan: async (id: string, request: RunRequest, signal: AbortSignal) =>
      await explained(async () => {
        const api = await connections.optionsOf();
        const notices: string[] = [];
        const options = { ...api, ...optionsOf(id, request), signal };
        const onEvent = (event: { type: string; message?: string; level?: string }): void => {
          if (event.type === 'notice' && event.level !== 'info') notices.push(event.message ?? '');
        };
        const around = { env: quietEnv(env), mostExamples: 40 };
        const made = await plan({ ...options, onEvent }, nameSetting, around);
        const { rows, uniqueDomains, invalidRows, freshDomains, lookups, calls, bill } = made;
        return {
          rows,
          companies: uniqueDomains,
          duplicates: rows - invalidRows - uniqueDomains,
          fresh: freshDomains,
          invalid: invalidRows,
          invalidReasons: Object.entries(made.invalidByReason)
            .sort(([, one], [, other]) => other - one)
            .map(([reason, count]) => ({
              count,
              words: findReason(reason)?.short ?? reason,
              examples: made.invalidExamples
                .filter((example) => example.reason === reason && example.cell !== '')
                .slice(0, 3)
                .map(({ cell }) => cell),
            })),
          lookups,
          calls,
          cost: costFor(api.price, calls, bill),
          durationMs: made.estimate?.durationMs,
          ratePerSecond: made.estimate?.limitPerSecond,
          notices,
        };
      }),
    /** Real answers for some domains of the list. Makes calls. */
    sample: async (id: string, signal: AbortSignal) =>
      await explained(async () => {
        const { price, ...api } = await connections.optionsOf();
        const list = find(id);
        const domains = await domainsToSample(placeOf(list, signal), list);
        const trials: Trial[] = [];
        for (const domain of domains) {
          const trial = await tryDomain({ ...api, domain, signal }, nameSetting, quietEnv(env));
          trials.push(trial);
          if (trial.stopped) break;
        }
        const stopped = trials.find((trial) => trial.stopped);
        const nothing = trials.some(({ status }) => status === 'found')
          ? undefined
          : 'The API knows none of these companies, so there is nothing to choose from. All that it answers is kept.';
        const noDomain =
          domains.length === 0
            ? 'The first rows hold no web address: is it the right column?'
            : undefined;
        return {
          domains: trials.map((trial) => ({
            domain: shownDomain(trial.domain),
            status: trial.status,
            message: messageOf(trial),
          })),
          calls: trials.reduce((sum, { calls }) => sum + calls, 0),
          cost: costOfTrials(trials, price),
          fields: fieldsOf(trials),
          problem: stopped ? messageOf(stopped) : (noDomain ?? nothing),
        };
      }),
    /** Keeps what was chosen for this list, and for the next one at this API. */
    choose: async (id: string, fields: Fields): Promise<void> => {
      const checked = checkFields(fields);
      const choices = (folder.readJson(CHOICES) ?? {}) as Readonly<Record<string, Fields>>;
      await folder.writeJson({ ...choices, [apiName()]: checked }, CHOICES);
      await keep({ ...find(id), fields: checked });
    },
    remove: async (id: string): Promise<void> => {
      find(id);
      await folder.remove(FOLDER, id);
      known.delete(id);
      onChange();
    },
  };
}

/**
 * Writes what comes to a file. It is taken to its end even where it cannot be kept: whoever is still
 * sending would not see the answer.
 */
async function receive(bytes: Readable, path: string, hasRoom: boolean): Promise<void> {
  const handle = await open(path, 'wx', PRIVATE.mode);
  let failure: unknown = hasRoom ? undefined : Object.assign(new Error(), { code: 'ENOSPC' });
  try {
    for await (const chunk of bytes) {
      if (failure !== undefined) continue;
      await handle.writeFile(chunk as Uint8Array).catch((error: unknown) => {
        failure = error;
      });
    }
    if (failure === undefined) await handle.sync();
  } finally {
    await handle.close();
  }
  if (failure !== undefined) throw failure as Error;
}

/** What came over HTTP may be anything. */
function checkFields(fields: Fields): Fields {
  if (!fields || fields.length === 0) return null;
  const named = fields.map(({ name, expression }) => ({ name: name.trim(), expression }));
  const names = named.map(({ name }) => name);
  const double = names.find((name, at) => names.indexOf(name) !== at);
  if (names.includes('')) {
    throw new AppRefusal('INVALID_SETTING', 'Give each column that you keep a name.');
  }
  if (double !== undefined) {
    const message = `Two columns are called “${shorten(double)}”: rename one of them.`;
    throw new AppRefusal('INVALID_SETTING', message);
  }
  return named;
}

/** The name of a file, as it was chosen, without what could lead elsewhere. */
function cleanName(given: string): string {
  const base = given.replaceAll(/[\\/]/g, ' ').replaceAll(/[\p{Cc}\p{Cf}]/gu, '');
  const name = base.replace(/^[.\s]+/, '').trim() || 'list';
  const [, stem = name, extension = ''] = /^(.*?)((?:\.[A-Za-z0-9]{1,6}){0,2})$/.exec(name) ?? [];
  let short = stem;
  while (Buffer.byteLength(short) > 120) short = short.slice(0, -1);
  const whole = `${short.replace(/[\ud800-\udbff]$/, '')}${extension}`;
  return whole.normalize('NFKC').toLowerCase() === RECORD ? `list ${whole}` : whole;
}

export interface ListPlace {
  readonly path: string;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/** Opens a list as it is to be read. The source has to be closed. */
export async function openAs(
  { path, spoolFolder, signal }: ListPlace,
  { sheet, noHeader, skipLines }: Reading,
): Promise<{ readonly source: Source; readonly format: RowFormat }> {
  const source = await openList(path, { spoolFolder, signal, sheet });
  try {
    return { source, format: openRows(source, { prefix: 'brand_', noHeader, skipLines }) };
  } catch (error) {
    await source.close();
    throw error;
  }
}

const FIRST_ROWS = 8;
const LONGEST_CELL = 500;

/** A row as its file has it, with the number that an editor or Excel shows. */
export interface ShownRow {
  readonly number: number;
  readonly cells: readonly string[];
}

/** The first rows of a file, without blank ones. */
export async function readFirst(
  source: Source,
  format: RowFormat,
  most: number,
): Promise<readonly ShownRow[]> {
  const columns = format.columns.map((name, index) => ({ name, index }));
  const [first = { name: '', index: 0 }] = columns;
  const rows: ShownRow[] = [];
  for await (const batch of format.scan(source, first, columns)) {
    for (const { fields, isBlank, line, others = [] } of batch) {
      if (fields === 0 || isBlank) continue;
      rows.push({ number: line, cells: others.map((text) => text.slice(0, LONGEST_CELL)) });
      if (rows.length === most) return rows;
    }
  }
  return rows;
}

/** Finds out what is in a list. */
async function understand(place: ListPlace, reading: Reading) {
  const { source, format } = await openAs(place, reading);
  try {
    const { workbook, columns, kind } = format;
    const { column, problem } = findColumn(source, format, reading);
    const line = reading.noHeader ? undefined : (reading.skipLines ?? 0) + 1;
    const found = {
      reading,
      kind,
      format: format.description,
      sheets: (workbook?.sheets ?? []).map((name) => ({
        name,
        isUsed: name === workbook?.sheet,
      })),
      headerRow: workbook ? workbook.headerRow : kind === 'csv' ? line : undefined,
      columns,
      ...(column && { column: describeColumn(column) }),
      problem,
      notices: [...(format.notices ?? [])],
    };
    return { ...found, firstRows: await readFirst(source, format, FIRST_ROWS) };
  } finally {
    await source.close();
  }
}

function findColumn(
  source: Source,
  format: RowFormat,
  { column: named }: Reading,
): { readonly column?: DomainColumn; readonly problem?: string } {
  try {
    const column = chooseDomainColumn(source, format, named);
    return column.index >= 0 ? { column } : { problem: NO_COLUMN };
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    return { problem: error.code === 'UNREADABLE_INPUT' ? NO_HEADER : NO_COLUMN };
  }
}

const NO_COLUMN =
  'No column was found whose cells hold web addresses. Click the column that does. If there is none, this list cannot be looked up: add a column with the web address of each company.';
const NO_HEADER =
  'The first line seems to be a row already, and no names of columns. Say that the list has no header, or click the column with the web addresses if these are its names.';

function describeColumn({ index, name, by, example, isDoubtful = false }: DomainColumn) {
  const such = example === undefined ? '' : `, such as “${shorten(example)}”`;
  const why = {
    option: 'You chose it.',
    name: `Its name says so${such === '' ? '' : `, and its cells hold web addresses${such}`}.`,
    content: `Its cells hold web addresses${such}.`,
  }[by];
  return { index, name, why, isDoubtful };
}

/** The first different domains of a list. */
async function domainsToSample(
  place: ListPlace,
  { reading, column }: ListView,
): Promise<readonly string[]> {
  if (!column) return [];
  const { source, format } = await openAs(place, reading);
  try {
    const read = createDomainReader({ column });
    const found = format.sampleRows.map((cells) => read(cells[column.index] ?? ''));
    const domains = found.flatMap((one) => ('domain' in one ? [one.domain] : []));
    return [...new Set(domains)].slice(0, MOST_SAMPLES);
  } finally {
    await source.close();
  }
}

/** The columns that answers make, each with its value in every answer; the rest of them has no way. */
function fieldsOf(trials: readonly Trial[]) {
  const all = trials.flatMap(({ columns }) => columns);
  const ways = new Map(
    all.flatMap(({ name, expression }) => (expression === undefined ? [] : [[expression, name]])),
  );
  return [...ways].map(([expression, name]) => ({
    name: name.replace(/^brand_/, ''),
    expression,
    values: trials.map(({ columns }) =>
      textOfValue(columns.find((column) => column.expression === expression)?.value),
    ),
  }));
}
