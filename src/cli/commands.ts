import type { ProcessContext, RunCommand } from '../commands/command.ts';
import type { Options } from '../options/option.ts';

/** All options, which take their time to load: help of the program need not wait for them. */
type Declared = typeof import('../options/command-options.ts');
/** The name of options of a command. */
type NameOfOptions = {
  [K in keyof Declared]: Declared[K] extends Options ? K : never;
}[keyof Declared];

/** A command, in the words of its help. */
export interface Command {
  /** Its name; that of a subcommand begins with the name of the other, as `store get` does. */
  readonly name: string;
  /** What follows the name, as commander writes it, and what it is. */
  readonly argument?: readonly [syntax: string, help: string];
  readonly description: string;
  /** Options that its function in the library has, too. */
  readonly options?: NameOfOptions;
  /** Options that only the command line has. */
  readonly flags?: NameOfOptions;
  /** Does it. Returns the exit code. */
  run(words: readonly string[], typed: Typed, context: ProcessContext): Promise<number>;
}

/** What was typed, by the names of options. */
export type Typed = Readonly<Record<string, unknown>>;

type Declaration<K extends NameOfOptions> = Omit<Command, 'run' | 'flags'> & {
  readonly flags?: K;
  /** Loads its code. */
  readonly load: () => Promise<RunCommand<Declared[K] & Options>>;
};

function defineCommand<K extends NameOfOptions = 'NO_FLAGS'>(declared: Declaration<K>): Command {
  const { load, ...command } = declared;
  return {
    ...command,
    run: async (words, typed, context) => {
      const { readTyped } = await import('./options.ts');
      const read = readTyped<Declared[K] & Options>(command, typed);
      const run = await load();
      return await run({ words, ...read, context });
    },
  };
}

const A_LIST = 'XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input';
const A_DOMAIN = 'a domain, or anything that a cell of a list may hold';

/** What exit codes mean, of whichever command. */
export const EXIT_CODES = {
  0: 'done, or told to stop',
  1: 'unexpected error: please report it',
  2: 'invalid option, or a file, store or queue that cannot be used; no output was changed',
  3: 'done, but something failed, is pending, keeps an older answer, or nothing was found',
  4: 'stopped early (credential refused, quota or bound used up, …); run it again to go on',
  130: 'interrupted; run it again to go on',
} as const;

/** Commands that have no code of their own, but others below them. */
export const GROUPS: Readonly<Record<string, string>> = {
  store: 'inspect and maintain the stored answers',
  api: 'profiles of APIs, for --api: how an API is asked and what its answers mean',
};

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  defineCommand({
    name: 'app',
    description: 'open a page in the browser that does all of this, for people without a terminal',
    options: 'APP_OPTIONS',
    flags: 'APP_FLAGS',
    load: async () => (await import('../commands/app.ts')).runApp,
  }),
  defineCommand({
    name: 'enrich',
    argument: ['<input>', A_LIST],
    description: 'look up every domain in a list, and write its rows back with the data found',
    options: 'ENRICH_OPTIONS',
    flags: 'RUN_FLAGS',
    load: async () => (await import('../commands/enrich.ts')).runEnrich,
  }),
  defineCommand({
    name: 'run',
    argument: ['<file>', 'job file, such as jobs/nightly-crm.yaml'],
    description: 'enrich a list as described in a job file; options override the file',
    options: 'RUN_OPTIONS',
    flags: 'RUN_FLAGS',
    load: async () => (await import('../commands/run.ts')).runFile,
  }),
  defineCommand({
    name: 'schedule',
    argument: [
      '[files...]',
      'job files, such as jobs/*.yaml; those without a schedule are skipped',
    ],
    description: 'run job files on their schedules, until told to stop; Redis keeps the schedules',
    options: 'SCHEDULE_OPTIONS',
    flags: 'SCHEDULE_FLAGS',
    load: async () => (await import('../commands/schedule.ts')).runSchedule,
  }),
  defineCommand({
    name: 'try',
    argument: ['<domain>', A_DOMAIN],
    description: 'look up one domain; show the answer and the columns made from it',
    options: 'TRY_OPTIONS',
    flags: 'TRY_FLAGS',
    load: async () => (await import('../commands/try.ts')).runTry,
  }),
  defineCommand({
    name: 'worker',
    description: 'make the lookups waiting on a queue, for any number of runs, until told to stop',
    options: 'WORKER_OPTIONS',
    flags: 'LOG_FLAGS',
    load: async () => (await import('../commands/worker.ts')).runWorker,
  }),
  defineCommand({
    name: 'add',
    argument: ['<input>', A_LIST],
    description: 'put the domains of a list on a queue; brandfill collect receives the outcomes',
    options: 'ADD_OPTIONS',
    flags: 'ADD_FLAGS',
    load: async () => (await import('../commands/add.ts')).runAdd,
  }),
  defineCommand({
    name: 'collect',
    description: 'write the outcomes of backfills from a queue to hourly files, until told to stop',
    options: 'COLLECT_OPTIONS',
    flags: 'LOG_FLAGS',
    load: async () => (await import('../commands/collect.ts')).runCollect,
  }),
  defineCommand({
    name: 'dashboard',
    description:
      'show the runs, workers and schedules of a queue on a web page, until told to stop',
    options: 'DASHBOARD_OPTIONS',
    flags: 'LOG_FLAGS',
    load: async () => (await import('../commands/dashboard.ts')).runDashboard,
  }),
  defineCommand({
    name: 'store stats',
    description: 'show what the store holds: APIs, outcomes, size',
    options: 'STORE_OPTIONS',
    flags: 'JSON_FLAGS',
    load: async () => (await import('../commands/store.ts')).runStats,
  }),
  defineCommand({
    name: 'store get',
    argument: ['<domain>', A_DOMAIN],
    description: 'print the latest outcome of a domain as JSON; one line for each API that has one',
    options: 'GET_OPTIONS',
    load: async () => (await import('../commands/store.ts')).runGet,
  }),
  defineCommand({
    name: 'store export',
    description: 'write all outcomes to standard output as JSON, one per line',
    options: 'STORE_OPTIONS',
    load: async () => (await import('../commands/store.ts')).runExport,
  }),
  defineCommand({
    name: 'store import',
    argument: ['<file>', 'file that store export has written; - is standard input'],
    description:
      'import exported outcomes; those in the store stay unless the imported one is newer',
    options: 'IMPORT_OPTIONS',
    load: async () => (await import('../commands/store.ts')).runImport,
  }),
  defineCommand({
    name: 'store prune',
    description: 'remove old outcomes; their space is reused, but the file does not shrink',
    options: 'PRUNE_OPTIONS',
    load: async () => (await import('../commands/store.ts')).runPrune,
  }),
  defineCommand({
    name: 'store delete',
    argument: ['<domain...>', A_DOMAIN],
    description: 'remove all that is stored of domains: outcomes, and notes about them',
    options: 'DELETE_OPTIONS',
    load: async () => (await import('../commands/store.ts')).runDelete,
  }),
  defineCommand({
    name: 'api list',
    description: 'list the profiles that come with Brandfill',
    flags: 'JSON_FLAGS',
    load: async () => (await import('../commands/api.ts')).listProfiles,
  }),
  defineCommand({
    name: 'api show',
    argument: ['<name>', 'name of a profile, or its file'],
    description: 'print a profile, to read it or to make your own of it',
    load: async () => (await import('../commands/api.ts')).showProfile,
  }),
  defineCommand({
    name: 'api check',
    argument: ['<file>', 'file of a profile, or its name'],
    description: 'check a profile: its keys and expressions, what its samples mean',
    load: async () => (await import('../commands/api.ts')).checkProfile,
  }),
  defineCommand({
    name: 'sandbox',
    description: 'run a stand-in for the API on this machine, for rehearsal, tests and benchmarks',
    flags: 'SANDBOX_FLAGS',
    load: async () => (await import('../commands/sandbox.ts')).runSandbox,
  }),
];
