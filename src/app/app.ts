import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Closable } from '../common/lifetime.ts';
import { readVersion } from '../version.ts';
import type { AppState, RowsPage } from '../web/app/contract.ts';
import type { AppModel } from '../web/app/routes.ts';
import { describeAgain, type RunToRepeat } from './again.ts';
import { openConnections } from './connection.ts';
import { type AppFolder, AppRefusal } from './folder.ts';
import { openLists } from './lists.ts';
import { openResultTable, type ResultTable } from './result-rows.ts';
import { openRuns } from './runs.ts';
import { refusalOf } from './words.ts';

export interface OpenAppOptions {
  readonly folder: AppFolder;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Tables of results that stay open: one for each tab that somebody is likely to have. */
const MOST_TABLES = 4;

/** Opens everything that the page shows and does, without the page. */
export async function openApp({ folder, env }: OpenAppOptions): Promise<AppModel & Closable> {
  const listeners = new Set<() => void>();
  const onChange = (): void => {
    for (const listener of listeners) listener();
  };
  const connections = openConnections({ folder, env, onChange });
  const lists = await openLists({ folder, connections, env, onChange });
  const runs = await openRuns({ folder, connections, lists, env, onChange });
  const tables = createTables();
  const closing = new AbortController();

  async function openTable(id: string): Promise<ResultTable> {
    const result = runs.fileOf(id, 'result');
    if (result === undefined) {
      throw new AppRefusal('NOT_FOUND', 'There is no result yet.');
    }
    const { list, request } = runs.record(id);
    const view = lists.entries().some((entry) => entry.id === list.id)
      ? lists.find(list.id)
      : undefined;
    if (!view) {
      throw new AppRefusal(
        'NOT_FOUND',
        'The list of this run was deleted, so its rows cannot be shown. The result can still be downloaded.',
      );
    }
    const { sheet } = lists.optionsOf(list.id, {});
    return await openResultTable({
      result,
      failures: runs.fileOf(id, 'failures'),
      sheet,
      own: view.columns,
      filled: (request.choice ?? view.choice).fills.map(({ column }) => column),
      domainColumn: view.column?.index ?? 0,
      spoolFolder: folder.make('spool'),
      signal: closing.signal,
    });
  }

  function repeatOf(id: string): RunToRepeat {
    const { list, request, connection, kind } = runs.record(id);
    const jobFile = folder.at('jobs', `${stemOf(list.name)}-${id.slice(0, 4)}.yaml`);
    const stem = folder.at('jobs', stemOf(list.name));
    const ending = kind === 'xlsx' ? 'xlsx' : kind;
    return {
      connection,
      keyVariable: connections.keyVariableOf(connection),
      list: lists.optionsOf(list.id, request),
      out: `${stem}.enriched.${ending}`,
      failures: `${stem}.failures.${ending}`,
      store: folder.at(connection.kind === 'sandbox' ? 'rehearsal' : 'store'),
      jobFile,
      isWritten: existsSync(jobFile),
    };
  }

  return {
    state: (): AppState => ({
      version: readVersion(),
      folder: folder.path,
      connection: connections.show(),
      profiles: connections.profiles,
      lists: lists.entries(),
      runs: runs.all(),
    }),
    board: () => runs.board(),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    connections,
    lists: {
      ...lists,
      addSample: async (signal) => await lists.addSample(sampleFile(), signal),
      remove: async (id) => {
        if (runs.isListNeeded(id)) {
          throw new AppRefusal('NOT_NOW', 'A run still needs this list: stop it first.');
        }
        await lists.remove(id);
      },
    },
    runs: {
      ...runs,
      mend: async (id, request) => {
        await tables.close(id);
        return await runs.mend(id, request);
      },
      remove: async (id) => {
        await tables.close(id);
        await runs.remove(id);
      },
      rows: async (id, request): Promise<RowsPage> => {
        const { endedAtMs } = runs.record(id);
        const table = await tables.open(id, endedAtMs, async () => await openTable(id));
        return await table.page(request);
      },
      again: (id) => describeAgain(repeatOf(id)),
      writeJob: async (id, at) => {
        const again = describeAgain(repeatOf(id), at);
        folder.make('jobs');
        const { jobFile } = repeatOf(id);
        await folder.writeText(again.job, jobFile);
        return describeAgain(repeatOf(id), at);
      },
    },
    explain: (error) => {
      const { code, message } = refusalOf(error, folder.path);
      return { code, message };
    },
    close: async () => {
      closing.abort();
      await runs.close();
      await tables.closeAll();
      await connections.close();
    },
  };
}

function stemOf(name: string): string {
  return name.replace(/(\.[A-Za-z0-9]{1,6}){1,2}$/, '').replaceAll(/[^\p{L}\p{N}._-]+/gu, '-');
}

/** `samples` of the package: beside `dist`, or beside `src` when run from the sources. */
function sampleFile(): string {
  const places = ['../samples', '../../samples'].map((path) =>
    fileURLToPath(new URL(`${path}/crm-export.xlsx`, import.meta.url)),
  );
  const found = places.find((path) => existsSync(path));
  if (found === undefined) {
    throw new AppRefusal('NOT_FOUND', 'The sample is not part of this installation.');
  }
  return found;
}

interface Tables {
  /** @param version of the result; another one is read anew */
  open(
    id: string,
    version: number | undefined,
    make: () => Promise<ResultTable>,
  ): Promise<ResultTable>;
  close(id: string): Promise<void>;
  closeAll(): Promise<void>;
}

/** Keeps the tables that were looked at last. */
function createTables(): Tables {
  const opened = new Map<
    string,
    { readonly version: number | undefined; readonly table: Promise<ResultTable> }
  >();

  async function close(id: string): Promise<void> {
    const known = opened.get(id);
    opened.delete(id);
    await known?.table.then(
      async (table) => await table.close(),
      () => {}, // it was never open
    );
  }

  return {
    open: async (id, version, make) => {
      const known = opened.get(id);
      if (known?.version === version && known) return await known.table;
      await close(id);
      const table = make();
      opened.set(id, { version, table });
      const [oldest] = opened.keys();
      if (opened.size > MOST_TABLES && oldest !== undefined) await close(oldest);
      try {
        return await table;
      } catch (error) {
        opened.delete(id);
        throw error;
      }
    },
    close,
    closeAll: async () => {
      for (const id of opened.keys()) await close(id);
    },
  };
}
