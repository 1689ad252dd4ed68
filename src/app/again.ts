import { stringify } from 'yaml';
import { flagOf } from '../options/options.ts';
import type { Again } from '../web/app/contract.ts';
import type { SavedConnection } from './connection.ts';
import { AppRefusal } from './folder.ts';
import type { ListOptions } from './lists.ts';

/** What a run was, as the command line has to know it. */
export interface RunToRepeat {
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
export function describeAgain(run: RunToRepeat, at = '02:00'): Again {
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
