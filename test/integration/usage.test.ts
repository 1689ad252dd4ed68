import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { reportError } from '../../src/commands/command.ts';
import { run } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { expectUsageError } from './support/usage-error.ts';

describe('a usage error', () => {
  it.each<[string, readonly string[], RegExp]>([
    ['no base URL', ['enrich', 'list.csv'], /base URL.*--base-url.*BRANDFILL_BASE_URL/],
    [
      'no list, as of a variable that is empty',
      ['enrich', ''],
      /^brandfill: Cannot use <input>: expected the path of a list/,
    ],
    ['nothing to add', ['add', ''], /^brandfill: Cannot use <input>: expected the path of a list/],
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
      /--limit.*expected a rate such as 20\/s/,
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
    ['auth without a credential', [...api, '--auth', 'bearer'], /BRANDFILL_API_KEY/],
    ['a credential', [...api, '--api-key', 's3cret'], /BRANDFILL_API_KEY.*--api-key-file/],
    ['no such key file', [...api, '--api-key-file', 'no.txt'], /no\.txt.*no such file/],
    [
      'a queue that is no URL',
      [...api, '--queue', 'localhost', '--dry-run'],
      /--queue.*redis:\/\//,
    ],
    ['fields that are no JMESPath', [...api, '--fields', 'a=b..c'], /--fields.*'a'/],
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
    // The list is read before its outputs are refused.
    .replace(/^\S+\n(?: {2}.*\n)+/, '')
    .replace(/\n {2}.*\n {2} *\^\n/, '\n')
    .split('\n')
    .filter((line) => !/^$|^\(see brandfill|^\S+ is CSV;/.test(line));
  expect(lines).toEqual([expect.stringMatching(/^brandfill: /)]);
  expect(lines[0]).toMatch(expected);
}
