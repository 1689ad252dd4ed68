import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { reportError } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';
import {
  type AddOptions,
  add,
  type EnrichOptions,
  enrich,
  enrichRows,
  exportStore,
  type GetStoredOptions,
  type LoadJobOptions,
  loadJob,
  plan,
  pruneStore,
  type RunJobOptions,
  readStoreStats,
  runJob,
  type SandboxOptions,
  startSandbox,
  type TryOptions,
  tryDomain,
  type WorkOptions,
  work,
} from '../../src/index.ts';
import { useRedis } from '../support/redis.ts';
import { run } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { expectUsageError } from './support/usage-error.ts';

describe('a usage error', () => {
  it.each<[string, readonly string[], RegExp]>([
    ['no base URL', ['enrich', 'list.csv'], /base URL.*--base-url.*BRANDFILL_BASE_URL/],
    ['no list, as of a variable that is empty', ['enrich', ''], /without a list: give <input> the/],
    ['nothing to add', ['add', ''], /without a list: give <input> the/],
    ['an unknown flag', ['enrich', 'list.csv', '--speed', '9'], /--speed/],
    ['a key that nobody would ask for', ['sandbox', '--key', 'x'], /--key.*--auth bearer/],
    [
      'a kind of limit without a limit',
      ['sandbox', '--limit-kind', 'fixed-window'],
      /without a limit: give --limit too/,
    ],
    [
      'headers of a limit without a limit',
      ['sandbox', '--limit-headers', 'x-ratelimit'],
      /without a limit: give --limit too/,
    ],
    [
      'a limit without a unit',
      ['sandbox', '--limit', '20'],
      /--limit 20: give a rate such as 20\/s/,
    ],
    [
      'a rate of open calls',
      ['sandbox', '--limit', '20/s', '--limit-kind', 'concurrent'],
      /the number of calls that may be open/,
    ],
    [
      'a range of three latencies',
      // Without its limit, the kind of limit ends a sandbox that takes the latency.
      ['sandbox', '--latency', '20ms-7s-9s', '--limit-kind', 'fixed-window'],
      /--latency.*expected a duration such as .*received '7s-9s'/,
    ],
    ['an unknown command', ['enrch', 'list.csv'], /enrch/],
  ])('ends with 2 and one sentence: %s', async (_, args, expected) => {
    const folder = openList();
    const runs = args[0] === 'sandbox' ? run : runHere; // it listens to signals to its end
    expectUsageError(await runs(args, { cwd: folder.path }), expected);
    expect(folder.names()).toEqual(['list.csv']);
  });

  it.each<[readonly string[], string]>([
    [['enrich'], 'brandfill enrich --help'],
    [['enrich', 'list.csv', '--speed', '9'], 'brandfill enrich --help'],
    [['store', 'get'], 'brandfill store get --help'],
    [['store', 'list'], 'brandfill store --help'],
    [['enrch'], 'brandfill --help'],
  ])('points to the help that has what is missing: %j', async (args, help) => {
    const { stderr } = await runHere(args, { cwd: openFolder().path });
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`(see ${help})`);
  });

  it('is no command at all, and shows the help', async () => {
    const ended = await run([], { cwd: openFolder().path });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('Usage: brandfill');
  });
});

describe('a usage error', () => {
  const api = ['--base-url', 'http://127.0.0.1:9', '--retries', '0'];
  it.each<[string, readonly string[], RegExp]>([
    ['a flag without its value', [...api, '--out'], /--out/],
    ['two inputs', ['second.csv', ...api], /argument/],
    ['no URL', ['--base-url', 'example'], /--base-url.*example/],
    ['a URL that is not of the web', ['--base-url', 'ftp://example.com'], /http or https/],
    ['the path of the API in the URL', ['--base-url', 'http://x.com/v1/brand'], /\/v1\/brand/],
    ['a query in the base URL', ['--base-url', 'http://x.com/?a=1'], /--param/],
    ['an unknown scheme of auth', [...api, '--auth', 'oauth'], /--auth.*bearer/],
    ['auth without a credential', [...api, '--auth', 'bearer'], /BRANDFILL_API_KEY/],
    ['a credential', [...api, '--api-key', 's3cret'], /BRANDFILL_API_KEY.*--api-key-file/],
    ['no such key file', [...api, '--api-key-file', 'no.txt'], /no\.txt.*no such file/],
    ['the parameter domain', [...api, '--param', 'domain=x.com'], /domain/],
    ['a rate without unit', [...api, '--rate', '10'], /--rate.*20\/s/],
    ['a duration without unit', [...api, '--timeout', '60'], /--timeout.*60s/],
    [
      'a queue that is no URL',
      [...api, '--queue', 'localhost', '--dry-run'],
      /--queue.*redis:\/\//,
    ],
    ['an odd style of progress', [...api, '--progress', 'loud'], /--progress/],
    ['fields without a name', [...api, '--fields', '=name'], /--fields.*NAME=EXPR/],
    ['fields that are no JMESPath', [...api, '--fields', 'a=b..c'], /--fields.*'a'/],
    ['an unknown function in fields', [...api, '--fields', 'a=uper(name)'], /--fields.*uper/],
    [
      'both outputs in one file',
      [...api, '--out', '/tmp/o.csv', '--failures', '/tmp/./o.csv'],
      /o\.csv/,
    ],
    ['failures on standard output', [...api, '--failures', '-'], /--failures/],
    ['rows and summary on standard output', [...api, '--out', '-', '--json'], /--json/],
    ['a JSONL name for CSV', [...api, '--out', '/tmp/o.jsonl'], /o\.jsonl.*CSV/],
  ])('says in one sentence what is wrong: %s', async (_, flags, expected) => {
    expectSentence(await enrichWith(flags), expected);
  });

  it.each([
    ['in an option that there is not', ['--api-key', 's3cret']],
    ['in a base URL', ['--base-url', 'http://user:s3cret@example.com']],
    ['in a base URL that is none', ['--base-url', 'http://user:s3cret@example.com:99999']],
  ])('does not repeat a credential that is in the wrong place: %s', async (_, flags) => {
    const ended = await enrichWith(flags);
    expectSentence(ended, /./);
    expect(ended.stderr).not.toContain('s3cret');
  });
});

interface Ended {
  readonly code: number;
  readonly stderr: string;
}

/** Runs `enrich` on a small list in this process, and makes sure that it leaves nothing behind. */
async function enrichWith(flags: readonly string[]): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'brandfill-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'list.csv'), 'domain\nacme.com\n');
  for (const name of ['BASE_URL', 'AUTH', 'API_KEY', 'STORE']) {
    vi.stubEnv(`BRANDFILL_${name}`, undefined);
  }
  vi.stubEnv('BRANDFILL_STORE', join(folder, 'store'));
  let stderr = '';
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  const ended = await tryCommand(['enrich', join(folder, 'list.csv'), ...flags]);
  write.mockRestore();
  vi.unstubAllEnvs();
  expect(readdirSync(folder)).toEqual(['list.csv']);
  return { code: ended, stderr };
}

async function tryCommand(args: readonly string[]): Promise<number> {
  try {
    const program = createProgram({ finish: () => {}, endAtOnce: () => {}, reportTo: () => {} });
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return error instanceof CommanderError ? 2 : reportError(error);
  }
}

/** One sentence at the end, with the place of an expression below it, and at most a hint where help is. */
function expectSentence({ code, stderr }: Ended, expected: RegExp): void {
  expect(code).toBe(2);
  const lines = stderr
    .replace(/\n {2}.*\n {2} *\^\n/, '\n')
    .split('\n')
    .filter((line) => !/^$|^\(see brandfill|^\S+ is CSV;/.test(line));
  expect(lines).toEqual([expect.stringMatching(/^brandfill: /)]);
  expect(lines[0]).toMatch(expected);
}

/** All that need not be given, given as undefined, as by a program that has no value for it. */
type None<T> = { [K in keyof T as undefined extends T[K] ? K : never]: undefined };

/** Has each option that it is asked for. */
function none<T>(...keys: readonly (keyof None<T>)[]): None<T> {
  return Object.fromEntries(keys.map((key) => [key, undefined])) as None<T>;
}

it('an option that is undefined is none, in types and at work', async () => {
  const folder = openList('domain\nacme.com\n');
  folder.write('job.yaml', 'input: list.csv\n');
  const sandbox = await startSandbox(none<SandboxOptions>('port', 'seed', 'limit', 'latencyMs'));
  const [input, store] = [folder.at('list.csv'), folder.at('store')];
  const given = { baseUrl: sandbox.url, store };
  const nothing = none<EnrichOptions>('apiKey', 'signal', 'onEvent', 'maxCalls', 'fresh', 'params');
  expect(await plan({ ...nothing, ...given, input })).toMatchObject({ lookups: 1 });
  expect(await enrich({ ...nothing, ...given, input })).toMatchObject({ calls: 1 });
  const rows = enrichRows({ ...nothing, ...given, input: [{ domain: 'acme.com' }] });
  expect(await rows.next()).toMatchObject({ value: { brand_status: 'found' } });
  await rows.return?.(undefined as never);
  const nothingTried = none<TryOptions>('headers', 'timeout', 'onEvent');
  const tried = await tryDomain({ ...nothingTried, ...given, domain: 'acme.com' });
  expect(tried.status).toBe('found');
  expect(await readStoreStats({ ...none<GetStoredOptions>('baseUrl'), store })).toMatchObject({
    statuses: { found: 1 },
  });
  expect(await exportStore({ status: undefined, store }, async () => {})).toBe(1);
  await pruneStore({ olderThan: '1d', dryRun: undefined, store });

  const file = folder.at('job.yaml');
  await loadJob(file, none<LoadJobOptions>('overrides', 'env', 'now', 'naming'));
  const overrides = { ...nothing, ...given };
  const ended = await runJob(file, { ...none<RunJobOptions>('runId', 'confirm'), overrides });
  expect(ended).toMatchObject({ exitCode: 0 });

  const { url: queue } = await useRedis();
  await add({ ...none<AddOptions>('chunk', 'ref', 'signal', 'onNotice'), input, queue });
  const signal = AbortSignal.abort();
  const nothingDone = none<WorkOptions>('drain', 'concurrency', 'onNotice', 'rate');
  const { calls } = await work({ ...nothingDone, baseUrl: sandbox.url, queue, signal });
  expect(calls).toBe(0);
  await sandbox.close();
});
