import { LIST_FILE } from '../rows/list-formats.ts';
import type { Command } from './commands/command.ts';

/** A command, in the words of its help. Its code and options are loaded when it is called. */
export interface ListedCommand {
  /** Its name; that of a subcommand begins with the name of the other, as `store get` does. */
  readonly name: string;
  /** What follows the name, as commander writes it, and what it is. */
  readonly argument?: readonly [syntax: string, help: string];
  readonly description: string;
  /** Two command lines, each without `brandfill`. */
  readonly examples: readonly [string, string];
  /** None where there are only commands below it. */
  readonly load?: () => Promise<Command>;
}

const A_DOMAIN = 'a domain, or anything that a cell of a list may hold';

/** What exit codes mean, of whichever command. */
export const EXIT_CODES = {
  0: 'done, or a service that was stopped',
  1: 'unexpected error: please report it',
  2: 'invalid option, or a file, store or queue that cannot be used; no output was changed',
  3: 'done, but something failed, is pending, keeps an older answer, or nothing was found',
  4: 'stopped early (credential refused, quota or bound used up, …); run it again to go on',
  130: 'interrupted; run it again to go on',
} as const;

/** Of the command line as a whole. */
export const EXAMPLES: readonly string[] = [
  'enrich accounts.csv --api brandfetch --dry-run',
  'help enrich',
];

/** All commands, in the order of the help. */
export const COMMANDS: readonly ListedCommand[] = [
  {
    name: 'app',
    description: 'open a page in the browser that does all of this, for people without a terminal',
    examples: ['app', 'app --dir /srv/lists --listen 0.0.0.0:8090'],
    load: async () => (await import('./commands/app.ts')).app,
  },
  {
    name: 'enrich',
    argument: ['<input>', LIST_FILE],
    description: 'look up every domain in a list, and write its rows back with the data found',
    examples: [
      'enrich accounts.csv --base-url https://api.example.com --auth bearer --dry-run',
      "enrich leads.xlsx --api brandfetch --fields 'name=name,city=location.city'",
    ],
    load: async () => (await import('./commands/enrich.ts')).enrichCommand,
  },
  {
    name: 'run',
    argument: ['<file>', 'job file, such as jobs/nightly-crm.yaml'],
    description: 'enrich a list as described in a job file; options override the file',
    examples: ['run jobs/nightly-crm.yaml', 'run jobs/nightly-crm.yaml --dry-run'],
    load: async () => (await import('./commands/run.ts')).run,
  },
  {
    name: 'schedule',
    argument: [
      '[files...]',
      'job files, such as jobs/*.yaml; those without a schedule are skipped',
    ],
    description: 'run job files on their schedules, until stopped; Redis keeps the schedules',
    examples: [
      'schedule jobs/*.yaml --queue redis://localhost:6379/0',
      'schedule --list --queue redis://localhost:6379/0',
    ],
    load: async () => (await import('./commands/schedule.ts')).schedule,
  },
  {
    name: 'try',
    argument: ['<domain>', A_DOMAIN],
    description: 'look up one domain; show the answer and the columns made from it',
    examples: [
      'try acme.com --base-url https://api.example.com --auth bearer',
      'try acme.com --api brandfetch --explain',
    ],
    load: async () => (await import('./commands/try.ts')).tryCommand,
  },
  {
    name: 'worker',
    description: 'make the lookups waiting on a queue, for any number of runs, until stopped',
    examples: [
      'worker --queue redis://localhost:6379/0 --api brandfetch',
      'worker --queue redis://localhost:6379/0 --base-url https://api.example.com --rate 50/s',
    ],
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  {
    name: 'add',
    argument: ['<input>', LIST_FILE],
    description: 'put the domains of a list on a queue; brandfill collect receives the outcomes',
    examples: [
      'add backlog.csv --queue redis://localhost:6379/0 --api brandfetch',
      'add new.jsonl --queue redis://localhost:6379/0 --base-url https://api.example.com',
    ],
    load: async () => (await import('./commands/add.ts')).add,
  },
  {
    name: 'collect',
    description: 'write the outcomes of backfills from a queue to hourly files, until stopped',
    examples: [
      'collect --queue redis://localhost:6379/0 --out-dir out',
      'collect --queue redis://localhost:6379/0 --out-dir out --log-format json',
    ],
    load: async () => (await import('./commands/collect.ts')).collect,
  },
  {
    name: 'dashboard',
    description: 'show the runs, workers and schedules of a queue on a web page, until stopped',
    examples: [
      'dashboard --queue redis://localhost:6379/0',
      'dashboard --queue redis://localhost:6379/0 --listen 0.0.0.0:8081',
    ],
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  {
    name: 'store',
    description: 'inspect and maintain the stored answers',
    examples: ['store stats', 'store export > answers.jsonl'],
  },
  {
    name: 'store stats',
    description: 'show what the store holds: APIs, outcomes, size',
    examples: ['store stats', 'store stats --store /var/lib/brandfill --json'],
    load: async () => (await import('./commands/store.ts')).stats,
  },
  {
    name: 'store get',
    argument: ['<domain>', A_DOMAIN],
    description: 'print the latest outcome of a domain as JSON; one line for each API that has one',
    examples: [
      'store get acme.com',
      'store get https://www.acme.com/about --store /var/lib/brandfill',
    ],
    load: async () => (await import('./commands/store.ts')).get,
  },
  {
    name: 'store export',
    description: 'write all outcomes to standard output as JSON, one per line',
    examples: [
      'store export > answers.jsonl',
      'store export --store /var/lib/brandfill | gzip > answers.jsonl.gz',
    ],
    load: async () => (await import('./commands/store.ts')).exportAll,
  },
  {
    name: 'store import',
    argument: ['<file>', 'file that store export has written; - is standard input'],
    description:
      'import exported outcomes; those in the store stay unless the imported one is newer',
    examples: ['store import answers.jsonl', 'store import - < answers.jsonl'],
    load: async () => (await import('./commands/store.ts')).importFrom,
  },
  {
    name: 'store prune',
    description: 'remove old outcomes; their space is reused, but the file does not shrink',
    examples: [
      'store prune --older-than 180d',
      'store prune --older-than 2y --store /var/lib/brandfill',
    ],
    load: async () => (await import('./commands/store.ts')).prune,
  },
  {
    name: 'store delete',
    argument: ['<domain...>', A_DOMAIN],
    description: 'remove all that is stored of domains: outcomes, and notes about them',
    examples: [
      'store delete acme.com',
      'store delete acme.com globex.com --store /var/lib/brandfill',
    ],
    load: async () => (await import('./commands/store.ts')).remove,
  },
  {
    name: 'api',
    description: 'profiles of APIs, for --api: how an API is asked and what its answers mean',
    examples: ['api list', 'api show brandfetch > acme.yaml'],
  },
  {
    name: 'api list',
    description: 'list the profiles that come with Brandfill',
    examples: ['api list', 'api list | grep logo'],
    load: async () => (await import('./commands/api.ts')).list,
  },
  {
    name: 'api show',
    argument: ['<name>', 'name of a profile, or its file'],
    description: 'print a profile, to read it or to make your own of it',
    examples: ['api show brandfetch', 'api show brandfetch > acme.yaml'],
    load: async () => (await import('./commands/api.ts')).show,
  },
  {
    name: 'api check',
    argument: ['<file>', 'file of a profile, or its name'],
    description: 'check a profile: its keys and expressions, what its samples mean',
    examples: ['api check ./acme.yaml', 'api check brandfetch'],
    load: async () => (await import('./commands/api.ts')).check,
  },
  {
    name: 'sandbox',
    description: 'run a stand-in for the API on this machine, for rehearsal, tests and benchmarks',
    examples: [
      'sandbox --limit 50/s --errors 2% --not-found 10%',
      'sandbox --port 0 --auth bearer --key rehearsal',
    ],
    load: async () => (await import('./commands/sandbox.ts')).sandbox,
  },
];
