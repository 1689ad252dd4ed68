import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { reportError } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';

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
    ['a parameter without =', [...api, '--param', 'lang'], /--param.*NAME=VALUE/],
    ['the parameter domain', [...api, '--param', 'domain=x.com'], /domain/],
    ['a credential as header', [...api, '--header', 'Authorization=Bearer x'], /--auth/],
    ['a header that is none', [...api, '--header', 'a b=c'], /--header/],
    ['no calls at once', [...api, '--concurrency', '0'], /--concurrency.*whole number/],
    ['a word for a number', [...api, '--concurrency', 'many'], /--concurrency.*many/],
    ['half a retry', [...api, '--retries', '1.5'], /--retries/],
    ['less than no retries', [...api, '--retries', '-1'], /--retries/],
    ['a rate without unit', [...api, '--rate', '10'], /--rate.*20\/s/],
    ['no rate at all', [...api, '--rate', '0/s'], /--rate/],
    ['a duration without unit', [...api, '--timeout', '60'], /--timeout.*60s/],
    ['no time for a call', [...api, '--timeout', '0'], /--timeout/],
    ['an odd duration', [...api, '--fresh', 'soon'], /--fresh.*soon/],
    [
      'a queue that is no URL',
      [...api, '--queue', 'localhost', '--dry-run'],
      /--queue.*redis:\/\//,
    ],
    [
      'several workers in a run',
      [...api, '--workers', '4'],
      /: brandfill worker\), received '4'\.$/,
    ],
    ['no calls in all', [...api, '--max-calls', '0'], /--max-calls/],
    ['an odd style of progress', [...api, '--progress', 'loud'], /--progress/],
    ['fields without a name', [...api, '--fields', '=name'], /--fields.*NAME=EXPR/],
    ['fields without an expression', [...api, '--fields', 'name'], /--fields/],
    ['fields that end in a comma', [...api, '--fields', 'a=b,'], /--fields/],
    ['fields that are no JMESPath', [...api, '--fields', 'a=b..c'], /--fields.*'a'/],
    ['an unknown function in fields', [...api, '--fields', 'a=uper(name)'], /--fields.*uper/],
    ['a function with too many arguments', [...api, '--fields', 'a=length(a, b)'], /--fields/],
    [
      'both outputs in one file',
      [...api, '--out', '/tmp/o.csv', '--failures', '/tmp/./o.csv'],
      /o\.csv/,
    ],
    ['failures on standard output', [...api, '--failures', '-'], /--failures/],
    ['rows and summary on standard output', [...api, '--out', '-', '--json'], /--json/],
    ['an output without a name', [...api, '--out', ''], /--out/],
    ['a JSONL name for CSV', [...api, '--out', '/tmp/o.jsonl'], /o\.jsonl.*CSV/],
  ])('says in one sentence what is wrong: %s', async (_, flags, expected) => {
    expectSentence(await enrichWith(flags), expected);
  });

  it.each([
    ['in an auth', ['--auth', 'sk-s3cret', ...api]],
    ['in a parameter', ['--param', 's3cret', ...api]],
    ['in a header', ['--header', 's3cret', ...api]],
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
