import { chmod, copyFile, open, readdir, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { plan } from '../commands/enrich.ts';
import { tryDomain } from '../commands/try.ts';
import { BrandfillError } from '../common/errors.ts';
import { freeBytes, PRIVATE } from '../common/files.ts';
import { ENCODING } from '../options/kinds.ts';
import { chooseDomainColumn } from '../producer/choose-column.ts';
import type { DomainColumn } from '../rows/columns/domain-column.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain-reader.ts';
import { openList } from '../rows/list-input.ts';
import { openRows } from '../rows/open-rows.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';
import type {
  ColumnChoice,
  ColumnFound,
  ListEntry,
  ListView,
  PlanView,
  Preview,
  Reading,
  RunRequest,
  Samples,
} from '../web/app/contract.ts';
import { type Connections, costFor, nameSetting, quietEnv } from './connection.ts';
import {
  type AppFolder,
  AppRefusal,
  createId,
  isId,
  refusalOfDisk,
  refusalOfSpace,
} from './folder.ts';
import { previewOf, type SampledAnswer, treeOf } from './samples.ts';
import {
  plainly,
  refusalOf,
  shownDomain,
  wordsOfInvalid,
  wordsOfStatus,
  wordsOfStop,
} from './words.ts';

/** The lists that were given to the app. */
export interface Lists {
  /** The latest first. */
  entries(): readonly ListEntry[];
  /** @throws AppRefusal `NOT_FOUND` */
  find(id: string): ListView;
  /** The file of a list. */
  pathOf(id: string): string;
  /**
   * Takes a file in, and finds out how to read it. One that cannot be read is not kept.
   *
   * @throws AppRefusal
   */
  add(name: string, bytes: Readable, about: Uploaded): Promise<ListView>;
  /** Takes a copy of the sample in. */
  addSample(file: string, signal: AbortSignal): Promise<ListView>;
  /** Reads a list in another way. @throws AppRefusal; it is then read as before */
  read(id: string, reading: Reading, signal: AbortSignal): Promise<ListView>;
  plan(id: string, request: RunRequest, signal: AbortSignal): Promise<PlanView>;
  sample(id: string, count: number, signal: AbortSignal): Promise<Samples>;
  preview(id: string, choice: ColumnChoice): Promise<Preview>;
  /** Keeps what was chosen for this list, and for the next one of its kind. */
  choose(id: string, choice: ColumnChoice): Promise<void>;
  remove(id: string): Promise<void>;
  /** The options of `enrich` that say how a list is read, and what is made of it. */
  optionsOf(id: string, request: RunRequest): ListOptions;
}

export interface Uploaded {
  /** How long the file is said to be. */
  readonly sizeBytes: number | undefined;
  readonly signal: AbortSignal;
}

/** The options of `enrich` that a list and what was chosen for it make. */
export interface ListOptions {
  readonly input: string;
  readonly sheet?: string | undefined;
  readonly domainColumn?: string | undefined;
  readonly encoding?: string | undefined;
  readonly noHeader?: boolean | undefined;
  readonly skipLines?: number | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
  readonly fill?: Readonly<Record<string, string>> | undefined;
  readonly maxCalls?: number | undefined;
  readonly maxCost?: number | undefined;
}

export interface ListsOptions {
  readonly folder: AppFolder;
  readonly connections: Connections;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onChange: () => void;
}

const FOLDER = 'lists';
const RECORD = 'list.json';
const SAMPLES = 'samples.json';
const CHOICES = 'choices.json';
const EVERYTHING: ColumnChoice = { fields: null, fills: [] };
const MOST_SAMPLES = 3;
/** Rows without an address that a plan shows: some of each kind. */
const MOST_EXAMPLES = 40;
const EXAMPLES_OF_REASON = 3;

export async function openLists(options: ListsOptions): Promise<Lists> {
  const { folder, connections, env, onChange } = options;
  const known = new Map<string, ListView>();
  folder.make(FOLDER);
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
  const pathOf = (id: string): string => folder.at(FOLDER, id, find(id).name);
  const keep = async (list: ListView): Promise<ListView> => {
    await folder.writeJson(list, FOLDER, list.id, RECORD);
    known.set(list.id, list);
    onChange();
    return list;
  };
  const explain = (error: unknown): AppRefusal => refusalOf(error, folder.path);

  async function take(
    given: string,
    write: (path: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListView> {
    const id = createId();
    const name = cleanName(given);
    folder.make(FOLDER, id);
    const path = folder.at(FOLDER, id, name);
    try {
      try {
        await write(path);
      } catch (error) {
        throw error instanceof AppRefusal ? error : refusalOfDisk(error, folder.path);
      }
      const { size: sizeBytes } = await stat(path);
      const entry = { id, name, sizeBytes, uploadedAtMs: Date.now() };
      const spoolFolder = folder.make('spool');
      const found = await understand({ path, spoolFolder, signal }, {});
      return await keep({ ...entry, ...found, choice: choiceFor(found.columns) });
    } catch (error) {
      await folder.remove(FOLDER, id);
      throw explain(error);
    }
  }

  /** What was chosen last at this API, as far as it fits the columns. */
  function choiceFor(columns: readonly string[]): ColumnChoice {
    const choices = (folder.readJson(CHOICES) ?? {}) as Readonly<Record<string, ColumnChoice>>;
    const { fields, fills } = choices[choiceId(connections)] ?? EVERYTHING;
    return { fields, fills: fills.filter(({ column }) => columns.includes(column)) };
  }

  async function choose(id: string, choice: ColumnChoice): Promise<void> {
    const checked = checkChoice(choice, find(id));
    const choices = (folder.readJson(CHOICES) ?? {}) as Readonly<Record<string, ColumnChoice>>;
    await folder.writeJson({ ...choices, [choiceId(connections)]: checked }, CHOICES);
    await keep({ ...find(id), choice: checked });
  }

  function optionsOf(id: string, request: RunRequest): ListOptions {
    const list = find(id);
    if (!list.column) {
      throw new AppRefusal(
        'NO_COLUMN',
        list.problem ?? 'Choose the column with the web addresses: click it in the table.',
      );
    }
    const { fields, fills } = checkChoice(request.choice ?? list.choice, list);
    const { sheet, encoding, noHeader, skipLines } = list.reading;
    const usedSheet = list.sheets.find(({ isUsed }) => isUsed)?.name;
    const pairs = fills.map(({ column, expression }) => [column, expression] as const);
    return {
      input: pathOf(id),
      sheet: sheet ?? usedSheet,
      domainColumn: list.column.name,
      encoding,
      noHeader,
      skipLines,
      ...(fields && {
        fields: Object.fromEntries(fields.map(({ name, expression }) => [name, expression])),
      }),
      ...(pairs.length > 0 && { fill: Object.fromEntries(pairs) }),
      maxCalls: request.maxCalls,
      maxCost: request.maxCost,
    };
  }

  return {
    entries: () =>
      [...known.values()]
        .map(({ id, name, sizeBytes, uploadedAtMs }) => ({ id, name, sizeBytes, uploadedAtMs }))
        .sort((one, other) => other.uploadedAtMs - one.uploadedAtMs),
    find,
    pathOf,
    add: async (name, bytes, { sizeBytes, signal }) => {
      if (sizeBytes === 0) {
        throw new AppRefusal('UNREADABLE_INPUT', 'The file is empty. Choose one with rows in it.');
      }
      const hasRoom = sizeBytes === undefined || sizeBytes < freeBytes(folder.path);
      const refusal = hasRoom ? undefined : refusalOfSpace(folder.path);
      return await take(name, async (path) => await receive(bytes, path, refusal), signal);
    },
    addSample: async (file, signal) =>
      await take(
        basename(file),
        async (path) => {
          await copyFile(file, path);
          await chmod(path, PRIVATE.mode);
        },
        signal,
      ),
    read: async (id, reading, signal) => {
      const list = find(id);
      const place = { path: pathOf(id), spoolFolder: folder.make('spool'), signal };
      try {
        const found = await understand(place, reading);
        await rm(folder.at(FOLDER, id, SAMPLES), { force: true });
        const { fields, fills } = list.choice;
        const fitting = fills.filter(({ column }) => found.columns.includes(column));
        return await keep({ ...list, ...found, choice: { fields, fills: fitting } });
      } catch (error) {
        throw explain(error);
      }
    },
    plan: async (id, request, signal) => {
      const api = await connections.optionsOf(connections.current);
      try {
        const notices: string[] = [];
        const planned = await plan(
          {
            ...api,
            ...optionsOf(id, request),
            signal,
            onEvent: (event) => {
              if (event.type === 'notice' && event.level !== 'info') notices.push(event.message);
            },
          },
          nameSetting,
          { env: quietEnv(env), mostExamples: MOST_EXAMPLES },
        );
        const { rows, uniqueDomains, invalidRows, freshDomains, lookups, calls } = planned;
        const { bill, estimate } = planned;
        return {
          rows,
          companies: uniqueDomains,
          duplicates: rows - invalidRows - uniqueDomains,
          fresh: freshDomains,
          invalid: invalidRows,
          invalidReasons: Object.entries(planned.invalidByReason)
            .map(([reason, count]) => ({
              reason,
              count,
              words: wordsOfInvalid(reason),
              examples: planned.invalidExamples
                .filter((example) => example.reason === reason)
                .slice(0, EXAMPLES_OF_REASON)
                .map(({ row, cell }) => ({ row, cell })),
            }))
            .sort((one, other) => other.count - one.count),
          lookups,
          calls,
          cost: costFor(api, { calls, bill }),
          durationMs: estimate?.durationMs,
          ratePerSecond: estimate?.limitPerSecond,
          notices: notices.map((notice) => plainly(notice, folder.path)),
        };
      } catch (error) {
        throw explain(error);
      }
    },
    sample: async (id, count, signal) => {
      const api = await connections.optionsOf(connections.current);
      const list = find(id);
      optionsOf(id, {});
      const rows = await rowsToSample(
        { path: pathOf(id), spoolFolder: folder.make('spool'), signal },
        list,
        Math.min(MOST_SAMPLES, Math.max(1, count)),
      );
      const { price, ...options } = api;
      const answers: SampledAnswer[] = [];
      let problem =
        rows.length === 0
          ? 'The first rows hold no web address: is it the right column?'
          : undefined;
      let calls = 0;
      let charged = 0;
      const bills: { units: number; unit: string }[] = [];
      try {
        for (const { domain, cells } of rows) {
          const trial = await tryDomain({ ...options, domain, signal }, nameSetting, quietEnv(env));
          calls += trial.calls;
          charged += trial.calls - trial.throttled;
          bills.push(...trial.answers.flatMap(({ bill }) => bill ?? []));
          const { status, reason, answer, stopped, columns } = trial;
          const message = stopped ? wordsOfStop(stopped) : wordsOfStatus(status, reason);
          answers.push({ domain, cells, status, message, answer, columns });
          if (!stopped) continue;
          problem = message;
          break;
        }
      } catch (error) {
        throw explain(error);
      }
      await folder.writeJson(answers, FOLDER, id, SAMPLES);
      const isAnyFound = answers.some(({ status }) => status === 'found');
      if (!isAnyFound) {
        problem ??=
          'The API knows none of these companies, so there is nothing to choose from. All that it answers is kept.';
      }
      const unit = bills[0]?.unit;
      const bill = unit === undefined ? undefined : { unit, units: bills.reduce(sumUnits, 0) };
      return {
        domains: answers.map(({ domain, status, message }) => ({
          domain: shownDomain(domain),
          status,
          message,
        })),
        calls,
        cost: costFor({ price }, { calls: charged, bill }),
        tree: treeOf(answers),
        problem,
      };
    },
    preview: async (id, choice) => {
      const list = find(id);
      try {
        const answers = (folder.readJson(FOLDER, id, SAMPLES) ?? []) as readonly SampledAnswer[];
        const made = previewOf(list.columns, answers, checkChoice(choice, list));
        await choose(id, choice);
        return made;
      } catch (error) {
        throw explain(error);
      }
    },
    choose,
    remove: async (id) => {
      find(id);
      await folder.remove(FOLDER, id);
      known.delete(id);
      onChange();
    },
    optionsOf,
  };
}

/**
 * Writes what comes to a file. It is taken to its end even where it cannot be kept: whoever is still
 * sending would not see the answer.
 *
 * @param refusal why it cannot be kept, if that is known before
 */
async function receive(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  refusal: unknown,
): Promise<void> {
  const handle = await open(path, 'wx', PRIVATE.mode);
  let failure = refusal;
  try {
    for await (const chunk of bytes) {
      if (failure !== undefined) continue;
      await handle.writeFile(chunk).catch((error: unknown) => {
        failure = error;
      });
    }
    if (failure === undefined) await handle.sync();
  } finally {
    await handle.close();
  }
  if (failure !== undefined) throw failure as Error;
}

function sumUnits(sum: number, { units }: { readonly units: number }): number {
  return sum + units;
}

function choiceId({ current }: Connections): string {
  return current === undefined ? '' : (current.profile ?? current.baseUrl);
}

const MOST_FIELDS = 200;

/** What came over HTTP may be anything. */
function checkChoice(choice: ColumnChoice, { columns }: Pick<ListView, 'columns'>): ColumnChoice {
  const { fields, fills } = choice;
  const names = (fields ?? []).map(({ name }) => name.trim());
  const double = names.find((name, at) => names.indexOf(name) !== at);
  if (names.length > MOST_FIELDS) {
    throw new AppRefusal('INVALID_SETTING', `Choose at most ${MOST_FIELDS} columns.`);
  }
  if (names.includes('')) {
    throw new AppRefusal('INVALID_SETTING', 'Give each column that you keep a name.');
  }
  if (double !== undefined) {
    throw new AppRefusal(
      'INVALID_SETTING',
      `Two columns are called “${shorten(double)}”: rename one of them.`,
    );
  }
  const gone = fills.find(({ column }) => !columns.includes(column));
  if (gone) {
    throw new AppRefusal(
      'INVALID_SETTING',
      `There is no column “${shorten(gone.column)}” to fill.`,
    );
  }
  return {
    fields:
      fields && fields.length > 0
        ? fields.map(({ name, expression }) => ({ name: name.trim(), expression }))
        : null,
    fills: fills.map(({ column, expression }) => ({ column, expression })),
  };
}

/** The name of a file, as it was chosen, without what could lead elsewhere. */
function cleanName(given: string): string {
  const base = given
    .replaceAll(/[\\/]/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '')
    .trim();
  const name = base.replace(/^[.\s]+/, '') || 'list';
  const [, stem = name, extension = ''] = /^(.*?)((?:\.[A-Za-z0-9]{1,6}){0,2})$/.exec(name) ?? [];
  let short = stem;
  while (Buffer.byteLength(short) > 120) short = short.slice(0, -1);
  const whole = `${short.replace(/[\ud800-\udbff]$/, '')}${extension}`;
  return OWN_NAMES.has(whole.normalize('NFKC').toLowerCase()) ? `list ${whole}` : whole;
}

/** On many disks, names that differ only in case are one. */
const OWN_NAMES: ReadonlySet<string> = new Set([RECORD, SAMPLES]);

interface ListPlace {
  readonly path: string;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

interface OpenedList {
  readonly source: Source;
  readonly format: RowFormat;
}

async function openAs(
  { path, spoolFolder, signal }: ListPlace,
  { sheet, encoding, noHeader, skipLines }: Reading,
): Promise<OpenedList> {
  const parsed = encoding === undefined ? undefined : ENCODING.parse(encoding);
  const source = await openList(path, { spoolFolder, signal, encoding: parsed, sheet });
  try {
    const format = openRows(source, { prefix: 'brand_', noHeader, skipLines });
    return { source, format };
  } catch (error) {
    await source.close();
    throw error;
  }
}

const FIRST_ROWS = 8;
const LONGEST_CELL = 200;

/** Finds out what is in a list. */
async function understand(
  place: ListPlace,
  reading: Reading,
): Promise<Omit<ListView, keyof ListEntry | 'choice'>> {
  const { source, format } = await openAs(place, reading);
  try {
    const { workbook, columns, kind } = format;
    const { column, problem } = findColumn(source, format, reading);
    const notices = [
      ...(source.notices ?? []),
      ...(format.notices ?? []),
      ...(column ? (format.noticesOf?.(column) ?? []) : []),
    ];
    const folder = place.path.slice(0, -basename(place.path).length - 1);
    const headerRow = reading.noHeader ? undefined : (reading.skipLines ?? 0) + 1;
    return {
      reading,
      kind,
      format: format.description,
      encoding: source.encoding,
      encodingExample: source.encodingExample,
      sheets: (workbook?.parts.sheets ?? []).map(({ name }) => ({
        name,
        isUsed: name === workbook?.sheet.name,
      })),
      headerRow: workbook ? workbook.place.header.number : kind === 'csv' ? headerRow : undefined,
      columns,
      firstRows: format.sampleRows
        .slice(0, FIRST_ROWS)
        .map((row) => row.map((cell) => cell.slice(0, LONGEST_CELL))),
      column: column && describeColumn(column),
      problem: problem === undefined ? undefined : plainly(problem, folder),
      notices: notices.map((notice) => plainly(notice, folder)),
    };
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

function describeColumn({ index, name, by, example, isDoubtful }: DomainColumn): ColumnFound {
  const cells = example === undefined ? '' : `, such as “${shorten(example)}”`;
  const why = {
    option: 'You chose it.',
    name: `Its name says so${example === undefined ? '' : `, and its cells hold web addresses${cells}`}.`,
    content: `Its cells hold web addresses${cells}.`,
  }[by];
  const doubt = ' But its name speaks against it: click it, or the right one.';
  return {
    index,
    name,
    why: isDoubtful ? `${why}${doubt}` : why,
    isDoubtful: isDoubtful ?? false,
  };
}

/** The first rows with different domains. */
async function rowsToSample(
  place: ListPlace,
  { reading, column }: ListView,
  most: number,
): Promise<readonly { readonly domain: string; readonly cells: readonly string[] }[]> {
  if (!column) return [];
  const { source, format } = await openAs(place, reading);
  try {
    const read = createDomainReader({ column });
    const rows = new Map<string, readonly string[]>();
    for (const cells of format.sampleRows) {
      const found = read(cells[column.index] ?? '');
      if ('domain' in found && !rows.has(found.domain)) rows.set(found.domain, cells);
      if (rows.size === most) break;
    }
    return [...rows].map(([domain, cells]) => ({ domain, cells }));
  } finally {
    await source.close();
  }
}
