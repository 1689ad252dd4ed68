import { describe, expect, it } from 'vitest';
import { run } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
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
    expectUsageError(await run(args, { cwd: folder.path }), expected);
    expect(folder.names()).toEqual(['list.csv']);
  });

  it.each<[readonly string[], string]>([
    [['enrich'], 'brandfill enrich --help'],
    [['enrich', 'list.csv', '--speed', '9'], 'brandfill enrich --help'],
    [['store', 'get'], 'brandfill store get --help'],
    [['store', 'list'], 'brandfill store --help'],
    [['enrch'], 'brandfill --help'],
  ])('points to the help that has what is missing: %j', async (args, help) => {
    const { stderr } = await run(args, { cwd: openFolder().path });
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`(see ${help})`);
  });

  it('is no command at all, and shows the help', async () => {
    const ended = await run([], { cwd: openFolder().path });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('Usage: brandfill');
  });
});
