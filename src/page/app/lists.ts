import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { failuresEnding } from '../../collector/output/output-paths.ts';
import { PRIVATE } from '../../common/files.ts';
import type { DomainColumn } from '../../rows/columns/domain-column.ts';
import { LIST_FORMATS, type ListFormat } from '../../rows/list-formats.ts';
import { splitExtension } from '../../rows/row-format.ts';
import { isMarked } from '../../store/home.ts';
import { type RunView, viewInWords } from '../../watch/run-view.ts';
import { PHASES } from '../../watch/words.ts';
import { refused } from '../access.ts';
import { isOver, lost } from '../board.ts';
import type { Connections, SavedConnection } from './connections.ts';
import type { AppFolder } from './folder.ts';
import { type ListPlace, NO_COLUMN, type Reading, type ShownRow, understand } from './read-list.ts';
import { onPage } from './words.ts';

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
interface ListsOptions {
  readonly folder: AppFolder;
  readonly connections: Pick<Connections, 'current'>;
  readonly onChange: () => void;
}

export type Lists = Awaited<ReturnType<typeof openLists>>;

/** What is known of the lists in a folder. */
async function openRecords(folder: AppFolder, onChange: () => void) {
  const known = new Map<string, ListView>();
  for (const id of (await readdir(folder.at(FOLDER))).filter((name) => ID.test(name))) {
    const list = folder.readJson(FOLDER, id, RECORD) as ListView | undefined;
    // Its process may have been killed.
    const run =
      list?.run && !isOver(list.run.view)
        ? { ...list.run, view: viewInWords(lost(list.run.view), onPage) }
        : list?.run;
    if (list) known.set(id, { ...list, run });
    else if (isMarked(folder.path)) await folder.remove(FOLDER, id); // it was never whole
  }
  return {
    find: (id: string): ListView => {
      const list = known.get(id);
      if (!list) throw refused(404, 'There is no such list any more.');
      return list;
    },
    keep: async (list: ListView): Promise<ListView> => {
      try {
        await folder.writeJson(list, FOLDER, list.id, RECORD);
      } finally {
        known.set(list.id, list);
        onChange();
      }
      return list;
    },
    remove: async (id: string): Promise<void> => {
      if (known.delete(id)) onChange();
      await folder.remove(FOLDER, id);
    },
    /** What was touched last comes first. */
    latestFirst: (): readonly ListView[] =>
      [...known.values()].sort((one, other) => touchedAtMs(other) - touchedAtMs(one)),
  };
}

/** The lists that were given to the app. */
export async function openLists({ folder, connections, onChange }: ListsOptions) {
  const { find, keep, remove, latestFirst } = await openRecords(folder, onChange);
  const placeOf = (list: Pick<ListView, 'id' | 'name'>, signal: AbortSignal): ListPlace => ({
    path: folder.at(FOLDER, list.id, list.name),
    spoolFolder: folder.at('spool'),
    signal,
  });

  /** The options of `enrich` that say how a list is read, and what is made of it. */
  function optionsOf(id: string) {
    const { name, column, problem, reading, sheet, fields } = find(id);
    if (!column) throw refused(422, problem ?? NO_COLUMN);
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
      latestFirst().map(({ id, name, sizeBytes, uploadedAtMs, run }) => ({
        id,
        name,
        sizeBytes,
        uploadedAtMs,
        lastRun: run && (run.view.headline ?? PHASES[run.view.phase]),
      })),
    find,
    placeOf,
    optionsOf,
    outputsOf,
    /** A list with what is there of its results. */
    show: (id: string) => {
      const { out, failures } = outputsOf(id);
      return { ...find(id), hasResult: existsSync(out), hasFailures: existsSync(failures) };
    },
    /** Takes a list in, and finds out what is in it. */
    add: async (given: string, bytes: Readable, signal: AbortSignal) => {
      const entry = { id: randomBytes(6).toString('hex'), name: cleanName(given) };
      await folder.make(FOLDER, entry.id);
      const place = placeOf(entry, signal);
      try {
        await receive(bytes, place.path);
        const { size: sizeBytes } = await stat(place.path);
        if (sizeBytes === 0) throw refused(422, 'The file is empty.');
        const about = { ...entry, sizeBytes, uploadedAtMs: Date.now() };
        const title = connections.current?.title;
        const before = latestFirst().find(({ run }) => run?.connection.title === title);
        return await keep({
          ...about,
          ...(await understand(place, {})),
          fields: before?.fields ?? null,
        });
      } catch (error) {
        await remove(entry.id);
        throw error;
      }
    },
    /** Reads a list in another way; if that cannot be, it is read as before. */
    read: async (id: string, reading: Reading, signal: AbortSignal) => {
      const understood = await understand(placeOf(find(id), signal), reading);
      await keep({ ...find(id), ...understood }); // its run may have ended meanwhile
    },
    choose: async (id: string, fields: Fields) => await keep({ ...find(id), fields }),
    /** Keeps what is known of a run. */
    keepRun: async (id: string, run: ListRun) => await keep({ ...find(id), run }),
    /** Removes a list with its results. */
    remove: async (id: string): Promise<void> => await remove(find(id).id),
  };
}

/**
 * Takes all that comes even where it cannot be kept: whoever is still sending would not see why.
 */
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

/** The id of a list. Only such ids become parts of paths. */
const ID = /^[0-9a-f]{12}$/;

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
