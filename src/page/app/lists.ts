import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { domainToUnicode } from 'node:url';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';
import { chooseDomainColumn } from '../../collector/choose-column.ts';
import { extensionBeside, failuresEnding } from '../../collector/output/output-paths.ts';
import { BrandfillError } from '../../common/errors.ts';
import { PRIVATE } from '../../common/files.ts';
import { shortenTo } from '../../common/text.ts';
import type { DomainColumn } from '../../rows/columns/domain-column.ts';
import { LIST_FORMATS, type ListFormat } from '../../rows/list-formats.ts';
import { openList } from '../../rows/open-list.ts';
import { type RowFormat, splitExtension } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Tried } from '../../run/trial.ts';
import { isMarked } from '../../store/home.ts';
import { describeColumn, describeStop } from '../../watch/describe.ts';
import { adviseOn } from '../../watch/reasons.ts';
import { type RunView, viewInWords } from '../../watch/run-view.ts';
import { PHASES } from '../../watch/words.ts';
import { isOver, lost } from '../board.ts';
import { type Connections, type Env, jobOnPage, type SavedConnection } from './connections.ts';
import type { AppFolder } from './folder.ts';
import type { Library } from './library.ts';
import { onPage } from './words.ts';

/** How a list is to be read. What is left out is found out. */
export const readingRequest = z.object({
  sheet: z.string().max(1_000).optional(),
  /** The column with the addresses, by name. */
  column: z.string().max(10_000).optional(),
  noHeader: z.boolean().optional(),
});

/** Columns to add, by name without the prefix; null for the usual ones. */
export const fieldsRequest = z.object({
  fields: z
    .array(
      z.object({
        name: z.string().trim().min(1).max(1_000),
        expression: z.string().min(1).max(10_000),
      }),
    )
    .min(1)
    .max(200)
    .refine((fields) => new Set(fields.map(({ name }) => name)).size === fields.length, {
      error: 'two columns have one name',
    })
    .nullable(),
});

type Reading = z.infer<typeof readingRequest>;
type Fields = z.infer<typeof fieldsRequest>['fields'];

/** A list as it was understood, and what became of it. */
export interface ListView {
  readonly id: string;
  /** The name of the file that was chosen. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly uploadedAtMs: number;
  readonly reading: Reading;
  readonly kind: ListFormat['kind'];
  /** How the names of its outputs end. */
  readonly extension: string;
  /** For people, such as `CSV, semicolon-separated`. */
  readonly format: string;
  /** Of a workbook; the first one is in use unless `sheet` says another. */
  readonly sheets: readonly string[];
  readonly sheet?: string | undefined;
  readonly columns: readonly string[];
  readonly firstRows: readonly ShownRow[];
  /** Missing when no column could be found: `problem` says so, and somebody has to choose one. */
  readonly column?: (DomainColumn & { readonly words: string }) | undefined;
  readonly problem?: string | undefined;
  /** The columns that were chosen for this list, or for the last one at the same API. */
  readonly fields: Fields;
  readonly run?: ListRun | undefined;
}

/** The last run of a list. */
export interface ListRun {
  readonly connection: SavedConnection;
  readonly maxCalls?: number | undefined;
  /** As it was last kept: before the first call, and at its end. */
  readonly view: RunView;
}

const FOLDER = 'lists';
const RECORD = 'list.json';
/** Somebody waits. */
const FOR_SAMPLE = { sample: 3, retries: 2, maxWait: '10s', noWait: true };

export interface ListsOptions {
  readonly folder: AppFolder;
  readonly connections: Connections;
  readonly env: Env;
  readonly library: Library;
  readonly onChange: () => void;
}

export type Lists = Awaited<ReturnType<typeof openLists>>;

/** The lists that were given to the app. */
export async function openLists({ folder, connections, env, library, onChange }: ListsOptions) {
  const known = new Map<string, ListView>();
  for (const id of (await readdir(folder.at(FOLDER))).filter(isId)) {
    const list = folder.readJson(FOLDER, id, RECORD) as ListView | undefined;
    // Its process may have been killed.
    const run =
      list?.run && !isOver(list.run.view)
        ? { ...list.run, view: viewInWords(lost(list.run.view), onPage) }
        : list?.run;
    if (list) known.set(id, { ...list, run });
    else if (isMarked(folder.path)) await folder.remove(FOLDER, id); // it was never whole
  }

  const find = (id: string): ListView => {
    const list = known.get(id);
    if (!list) throw new HTTPException(404, { message: 'There is no such list any more.' });
    return list;
  };
  const placeOf = (list: Pick<ListView, 'id' | 'name'>, signal: AbortSignal): ListPlace => ({
    path: folder.at(FOLDER, list.id, list.name),
    spoolFolder: folder.at('spool'),
    signal,
  });

  async function keep(list: ListView): Promise<ListView> {
    try {
      await folder.writeJson(list, FOLDER, list.id, RECORD);
    } finally {
      known.set(list.id, list);
      onChange();
    }
    return list;
  }

  /** What was touched last comes first. */
  const latestFirst = (): readonly ListView[] =>
    [...known.values()].sort((one, other) => touchedAtMs(other) - touchedAtMs(one));

  /** The options of `enrich` that say how a list is read, and what is made of it. */
  function optionsOf(id: string) {
    const { name, column, problem, reading, sheet, fields } = find(id);
    if (!column) throw new HTTPException(422, { message: problem ?? NO_COLUMN });
    return {
      input: folder.at(FOLDER, id, name),
      sheet,
      domainColumn: column.name,
      noHeader: reading.noHeader,
      ...(fields && {
        fields: Object.fromEntries(fields.map(({ name, expression }) => [name, expression])),
      }),
    };
  }

  /** Where a run writes. */
  function outputsOf(id: string): { readonly out: string; readonly failures: string } {
    const { name, kind, extension } = find(id);
    const { stem } = splitExtension(name);
    return {
      out: folder.at(FOLDER, id, `${stem}.enriched${extension}`),
      failures: folder.at(
        FOLDER,
        id,
        `${stem}.failures${failuresEnding(extension, LIST_FORMATS[kind])}`,
      ),
    };
  }

  return {
    /** All of them, in short. */
    entries: () =>
      latestFirst().map(({ id, name, sizeBytes, uploadedAtMs, run }) => {
        return {
          id,
          name,
          sizeBytes,
          uploadedAtMs,
          lastRun: run && (run.view.headline ?? PHASES[run.view.phase]),
        };
      }),
    find,
    optionsOf,
    outputsOf,
    /** A list with what is there of its results. */
    show: (id: string) => {
      const { out, failures } = outputsOf(id);
      return { ...find(id), hasResult: existsSync(out), hasFailures: existsSync(failures) };
    },
    /** Takes a list in, and finds out what is in it. */
    add: async (given: string, bytes: Readable, signal: AbortSignal) => {
      const entry = { id: createId(), name: cleanName(given) };
      await folder.make(FOLDER, entry.id);
      const place = placeOf(entry, signal);
      try {
        await receive(bytes, place.path);
        const { size: sizeBytes } = await stat(place.path);
        if (sizeBytes === 0) throw new HTTPException(422, { message: 'The file is empty.' });
        const about = { ...entry, sizeBytes, uploadedAtMs: Date.now() };
        const title = connections.current?.title;
        const before = latestFirst().find(({ run }) => run?.connection.title === title);
        return await keep({
          ...about,
          ...(await understand(place, {})),
          fields: before?.fields ?? null,
        });
      } catch (error) {
        known.delete(entry.id);
        await folder.remove(FOLDER, entry.id);
        throw error;
      }
    },
    /** Reads a list in another way; if that cannot be, it is read as before. */
    read: async (id: string, reading: Reading, signal: AbortSignal) => {
      const understood = await understand(placeOf(find(id), signal), reading);
      await keep({ ...find(id), ...understood }); // its run may have ended meanwhile
    },
    /** What a run would do. Reads the whole list. */
    plan: async (id: string, signal: AbortSignal) => {
      const notices: string[] = [];
      const onEvent = (event: { type: string; message?: string; level?: string }): void => {
        if (event.type === 'notice' && event.level !== 'info')
          notices.push(onPage(event.message ?? ''));
      };
      const { input, ...reading } = optionsOf(id);
      const job = jobOnPage({ ...(await connections.optionsOf()), ...reading, noWait: true }, env);
      return { ...(await library.planJob(input, job, { signal, onEvent })), notices };
    },
    /** Real answers for a sample of the list, and what all of it would find, take and cost. */
    sample: async (id: string, signal: AbortSignal) => {
      const { input, fields: _, ...reading } = optionsOf(id);
      const given = { ...(await connections.optionsOf()), ...reading, ...FOR_SAMPLE };
      const { tried, view } = await library.sampleJob(input, jobOnPage(given, env), { signal });
      return {
        domains: tried.map((one) => ({
          domain: domainToUnicode(one.domain) || one.domain,
          status: one.status,
          message: messageOf(one),
        })),
        calls: view.calls,
        whole: view.whole,
        fields: fieldsOf(tried),
        problem: view.stopped
          ? onPage(describeStop(view.stopped))
          : tried.length === 0
            ? 'No row holds a web address: is it the right column?'
            : tried.some(({ status }) => status === 'found')
              ? undefined
              : 'None of these companies was found, so there is nothing to choose from. All that the API answers in the run is added.',
      };
    },
    choose: async (id: string, fields: Fields) => await keep({ ...find(id), fields }),
    /** Keeps what is known of a run. */
    keepRun: async (id: string, run: ListRun) => await keep({ ...find(id), run }),
    /** The first rows of the result, as the file has them, by their numbers in the list. */
    rows: async (id: string, signal: AbortSignal) => {
      const list = find(id);
      const place = placeOf(list, signal);
      const given = await withList(place, list.reading, (source, format) =>
        readFirst(source, format, RESULT_ROWS, false),
      );
      const made = { ...place, path: outputsOf(id).out };
      return await withList(made, { sheet: list.sheet }, async (source, format) => ({
        columns: format.columns,
        first: firstColumns(list, format.columns),
        rows: (await readFirst(source, format, RESULT_ROWS, false)).map(({ number, cells }, at) => {
          return { number: given[at]?.number ?? number, cells };
        }),
      }));
    },
    /** Removes a list with its results. */
    remove: async (id: string): Promise<void> => {
      known.delete(find(id).id);
      onChange();
      await folder.remove(FOLDER, id);
    },
  };
}

/** Takes all that comes even where it cannot be kept: whoever is still sending would not see why. */
async function receive(bytes: Readable, path: string): Promise<void> {
  const chunks = bytes.iterator({ destroyOnReturn: false });
  try {
    await writeFile(path, chunks, { mode: PRIVATE.mode, flag: 'wx', flush: true });
  } catch (error) {
    await finished(bytes.resume()).catch(() => {}); // who sends has gone
    throw error;
  }
}

function touchedAtMs({ uploadedAtMs, run }: ListView): number {
  return run ? Date.parse(run.view.startedAt) : uploadedAtMs;
}

/** A new id of a list. Only such ids become parts of paths. */
function createId(): string {
  return randomBytes(6).toString('hex');
}

function isId(name: string): boolean {
  return /^[0-9a-f]{12}$/.test(name);
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

interface ListPlace {
  readonly path: string;
  readonly spoolFolder: string;
  readonly signal: AbortSignal;
}

/** Opens a list as it is to be read, for some work. */
async function withList<T>(
  { path, spoolFolder, signal }: ListPlace,
  { sheet, noHeader }: Reading,
  work: (source: Source, format: RowFormat) => Promise<T>,
): Promise<T> {
  const opening = { prefix: 'brand_', noHeader, spoolFolder, signal, sheet };
  const list = await openList(path, opening);
  try {
    return await work(list.source, list.format);
  } finally {
    await list.close();
  }
}

const FIRST_ROWS = 8;
const RESULT_ROWS = 100;
const LONGEST_CELL = 500;

/** A row as its file has it, with the number that an editor or Excel shows. */
export interface ShownRow {
  readonly number: number;
  readonly cells: readonly string[];
}

/** What most people look for in a result, in this order, by the ends of names. */
const MOST_FIRST = 5;
const LOOKED_FOR = [/_name$/, /_industry|_categor/, /_city$/, /_logo|_icon|_image/];

/** The columns of a result that are shown first: how a row is known in the list, and what was learned. */
function firstColumns({ columns: own, column }: ListView, all: readonly string[]): number[] {
  const others = [...own.keys()].filter((at) => at !== column?.index);
  const name = others.find((at) => /name|company|firma/i.test(own[at] ?? '')) ?? others[0];
  const known = [name ?? [], column?.index ?? []].flat();
  const added = [...all.keys()].slice(own.length);
  const status = added.filter((at) => all[at]?.endsWith('_status'));
  const found = LOOKED_FOR.flatMap((end) => added.find((at) => end.test(all[at] ?? '')) ?? []);
  const learned = found.length > 1 ? found : added.slice(0, MOST_FIRST);
  return [...new Set([...known, ...learned, ...status.slice(0, 1)])];
}

/** The first rows of a file, mostly without blank ones. */
async function readFirst(
  source: Source,
  format: RowFormat,
  most: number,
  skipsBlank = true,
): Promise<readonly ShownRow[]> {
  const columns = format.columns.map((name, index) => ({ name, index }));
  const [first = { name: '', index: 0 }] = columns;
  const rows: ShownRow[] = [];
  for await (const batch of format.scan(source, first, columns)) {
    for (const { fields, isBlank, line, others = [] } of batch) {
      if (fields === 0 || (skipsBlank && isBlank)) continue;
      rows.push({ number: line, cells: others.map((text) => text.slice(0, LONGEST_CELL)) });
      if (rows.length === most) return rows;
    }
  }
  return rows;
}

/** Finds out what is in a list. */
async function understand(place: ListPlace, reading: Reading) {
  return await withList(place, reading, async (source, format) => {
    const { workbook, columns } = format;
    const { column, problem } = findColumn(source, format, reading);
    return {
      reading,
      kind: format.notation.kind,
      extension: extensionBeside(splitExtension(source.name).extension, format),
      format: format.description,
      sheets: workbook?.sheets ?? [],
      sheet: workbook?.sheet,
      columns,
      column: column && { ...column, words: describeColumn(column) },
      problem,
      firstRows: await readFirst(source, format, FIRST_ROWS),
    };
  });
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

/** What came of a domain, in a sentence or two. */
function messageOf({ said, ...tried }: Tried): string {
  const advice = onPage(adviseOn(tried));
  return said === undefined ? advice : `${advice} It says: '${said}'.`;
}

/** The columns that answers make, each with its value in every answer; the rest of them has no way. */
function fieldsOf(tried: readonly Tried[]) {
  const all = tried.flatMap(({ columns }) => columns);
  const ways = new Map(
    all.flatMap(({ name, expression }) => (expression === undefined ? [] : [[expression, name]])),
  );
  return [...ways].map(([expression, name]) => ({
    name: name.replace(/^brand_/, ''),
    expression,
    values: tried.map(({ columns }) =>
      textOf(columns.find((column) => column.expression === expression)?.value),
    ),
  }));
}

const LONGEST_VALUE = 160;

/** The text of a value of an answer, for a cell of the page. */
function textOf(value: unknown = ''): string {
  if (value === null) return '';
  return shortenTo(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE);
}
