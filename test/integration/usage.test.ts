import { describe, expect, it } from 'vitest';
import { runHere } from './support/command.ts';
import { openFolder, openList } from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

const ENRICH = ['enrich', 'list.csv'];
const TO = ['--base-url', 'http://127.0.0.1:9'];
const ASKED = [...ENRICH, ...TO];
const LOGIN = 'http://user:s3cret@example.com';

describe('a usage error', () => {
  it.each<[readonly string[], RegExp]>([
    [ENRICH, /base URL.*--base-url.*BRANDFILL_BASE_URL/],
    [['enrich', ''], /^brandfill: Cannot use <input>: expected XLSX, CSV/],
    [['add', 'list.csv'], /--queue.*BRANDFILL_QUEUE/],
    [['add', 'list.csv', '--queue', 'redis://127.0.0.1:1'], /without --base-url/],
    [['add', ''], /^brandfill: Cannot use <input>: expected XLSX, CSV/],
    [[...ENRICH, '--speed', '9'], /--speed/],
    [['enrch', 'list.csv'], /enrch/],
    [['enrich', 'none.csv', ...TO], /none\.csv.*no such file/],
    [['enrich', '/tmp', ...TO], /\/tmp.*folder/],
    [[...ASKED, '--domain-column', 'web'], /Cannot find the column 'web' in list.*name, domain/],
    [[...ASKED, '--out'], /--out/],
    [[...ASKED, 'second.csv'], /argument/],
    [[...ENRICH, '--base-url', LOGIN], /it holds a user name or password/],
    [[...ENRICH, '--base-url', `${LOGIN}:99999`], /--base-url/],
    [[...ASKED, '--auth', 'bearer'], /BRANDFILL_API_KEY/],
    [[...ASKED, '--api-key', 's3cret'], /BRANDFILL_API_KEY.*--api-key-file/],
    [[...ASKED, '--queue', 'localhost', '--dry-run'], /--queue.*redis:\/\//],
    [[...ASKED, '--out', '-', '--json'], /--json/],
    [[...ASKED, '--out', 'o.csv', '--failures', './o.csv'], /o\.csv/],
    [[...ASKED, '--where', 'no=1'], /'no'/],
    [[...ASKED, '--fill', 'town=city'], /Cannot find the column 'town' in list\.csv/],
    [[...ASKED, '--out', 'o.jsonl'], /o\.jsonl.*CSV/],
    [['sandbox', '--key', 'x'], /give --auth .*--key/],
    [['sandbox', '--limit-kind', 'fixed-window'], /without a limit: give --limit too/],
    [['sandbox', '--latency', '20ms-7s-9s'], /--latency.*received '7s-9s'/],
  ])('ends with 2 and one sentence, and no credential is repeated: %j', async (args, expected) => {
    const folder = openList();
    const ended = await runHere(args, { cwd: folder.path });
    expectRefusal(ended, expected);
    expect(ended.stderr).not.toContain('s3cret');
    expect(folder.names()).toEqual(['list.csv']);
  });

  it('names the variable where what it says is wrong', async () => {
    const env = { BRANDFILL_AUTH: 'password' };
    expectRefusal(await runHere(ASKED, { cwd: openList().path, env }), /BRANDFILL_AUTH/);
  });

  it.each<[readonly string[], string]>([
    [['enrich'], 'brandfill enrich --help'],
    [[...ENRICH, '--speed', '9'], 'brandfill enrich --help'],
    [['store', 'get'], 'brandfill store get --help'],
    [['store', 'list'], 'brandfill store --help'],
    [['enrch'], 'brandfill --help'],
  ])('points to the help that has what is missing: %j', async (args, help) => {
    const { stderr } = await runHere(args, { cwd: openFolder().path });
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`(see ${help})`);
  });

  it('is no command at all, and shows the help', async () => {
    const ended = await runHere([], { cwd: openFolder().path });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('Usage: brandfill');
  });
});
