import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { Closable } from '../common/lifetime.ts';
import { flagOf } from '../options/options.ts';
import { readVersion } from '../version.ts';
import type { Again, AppState, RowsPage } from '../web/app/contract.ts';
import type { AppModel } from '../web/app/routes.ts';
import { openConnections, type SavedConnection } from './connection.ts';
import { type AppFolder, AppRefusal } from './folder.ts';
import { type ListOptions, openLists } from './lists.ts';
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

/** What a run was, as the command line has to know it. */
interface RunToRepeat {
  readonly connection: SavedConnection;
  readonly keyVariable: string | undefined;
  readonly list: ListOptions;
  readonly out: string;
  readonly failures: string;
  readonly store: string;
  /** Where the job file is, or would be. */
  readonly jobFile: string;
  readonly isWritten: boolean;
}

/** The ways to do a run again: now in a terminal, and every night. */
function describeAgain(run: RunToRepeat, at = '02:00'): Again {
  const [, hour = '', minute = ''] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(at) ?? [];
  if (minute === '') {
    throw new AppRefusal('INVALID_SETTING', 'Give the time as hours and minutes, such as 02:00.');
  }
  const { jobFile, isWritten, keyVariable } = run;
  const cron = `${Number(minute)} ${Number(hour)} * * *`;
  const path = quote(jobFile);
  const key = keyVariable === undefined ? '' : `${keyVariable}=… `;
  return {
    command: commandOf(run),
    keyVariable,
    job: jobOf(run, cron),
    jobFile: isWritten ? jobFile : undefined,
    schedules: [
      {
        title: 'On Linux or macOS: crontab -e, and add this line',
        text: `${cron} ${key}npx --yes brandfill run ${path} --progress none`,
      },
      {
        title: 'On Windows: in a terminal',
        text: `schtasks /Create /SC DAILY /ST ${hour.padStart(2, '0')}:${minute} /TN Brandfill /TR "npx --yes brandfill run ${jobFile.replaceAll('"', '')}"`,
      },
      {
        title: 'On a server with Redis',
        text: `${key}npx brandfill schedule ${path} --queue redis://localhost:6379/0`,
      },
    ],
  };
}

type Setting = readonly [key: string, value: unknown];

function settingsOf({ connection, list, out, failures, store }: RunToRepeat): readonly Setting[] {
  const { profile, baseUrl, auth, price, rate } = connection;
  const { input: _, ...reading } = list;
  const all: readonly Setting[] = [
    ['api', profile],
    ['baseUrl', baseUrl],
    ['auth', auth === 'none' ? undefined : auth],
    ...Object.entries(reading),
    ['price', price],
    ['rate', rate],
    ['out', out],
    ['failures', failures],
    ['store', store],
  ];
  return all.filter(([, value]) => value !== undefined && value !== false);
}

function commandOf(run: RunToRepeat): string {
  const flags = settingsOf(run).flatMap(([key, value]) => flagsOf(key, value));
  return ['npx brandfill enrich', quote(run.list.input), ...flags, '--yes'].join(' ');
}

function flagsOf(key: string, value: unknown): readonly string[] {
  const flag = flagOf(key);
  if (value === true) return [flag];
  if (typeof value !== 'object' || value === null) return [flag, quote(String(value))];
  const pairs = Object.entries(value as Record<string, string>).map(
    ([name, expression]) => `${name}=${expression}`,
  );
  return key === 'fields'
    ? [flag, quote(pairs.join(','))]
    : pairs.flatMap((pair) => [flag, quote(pair)]);
}

/** A word of a shell, whatever is in it. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function jobOf(run: RunToRepeat, cron: string): string {
  const values = Object.fromEntries(
    settingsOf(run).map(([key, value]) => [key, escapeVariables(value)] as const),
  );
  const { keyVariable } = run;
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const content = stringify({
    input: escapeVariables(run.list.input),
    ...values,
    ...(keyVariable !== undefined && keyVariable !== 'BRANDFILL_API_KEY'
      ? { apiKeyEnv: keyVariable }
      : {}),
    yes: true,
    schedule: { cron, timezone },
  });
  return `${HEAD}${content}`;
}

const HEAD = `# Made by brandfill app. What each key means is told in docs/job-files.md.
# A newer list can take the place of input, or input can name it. Cells that were corrected in the page
# are corrected in its result, not in input.
`;

/** In job files, `${…}` stands for a variable. */
function escapeVariables(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, escapeVariables(inner)]),
  );
}
