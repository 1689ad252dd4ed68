import { type ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { openApi, openServer } from './support/api.ts';
import { type Ended, type Running, run, start } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';

const LIST = 'domain\nacme.com\n';

interface Pair {
  readonly folder: Folder;
  readonly requests: readonly unknown[];
  /** Starts a run that is under way, in the midst of its call. */
  hold(...args: string[]): Promise<Running>;
  /** Runs to its end. */
  run(...args: string[]): Promise<Ended>;
  /** Lets calls be answered, from now on also those to come. */
  answer(): void;
}

/** Two lists in a folder, and an API that answers when it is told to. */
async function openPair(): Promise<Pair> {
  const held: ServerResponse[] = [];
  let answers = false;
  const body = '{"name":"Acme"}';
  const api = await openServer((_, response) => {
    if (answers) response.end(body);
    else held.push(response);
  });
  const folder = openFolder();
  folder.write('a.csv', LIST);
  folder.write('b.csv', 'domain\nexample.org\n');
  const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
  return {
    folder,
    requests: api.requests,
    hold: async (...args) => {
      const running = await start(args, { ...options, stdin: LIST });
      await vi.waitUntil(() => held.length > 0, { timeout: 60_000 });
      return running;
    },
    // Only standard input takes a process of its own.
    run: (...args) =>
      args.includes('-') ? run(args, { ...options, stdin: LIST }) : runHere(args, options),
    answer: () => {
      answers = true;
      for (const response of held.splice(0)) response.end(body);
    },
  };
}

/** Who is there first ends well, and no lock is left. */
async function expectRefused(
  pair: Pair,
  { first, second, file }: { first: Running; second: Ended; file: RegExp },
): Promise<void> {
  const { source } = file;
  expect(second.stderr).toMatch(
    new RegExp(
      `^brandfill: Cannot write ${source}: another run has it \\(process ${first.process.pid} on .+\\);`,
      'm',
    ),
  );
  expect(second.code).toBe(2);
  expect(pair.requests).toHaveLength(1);
  pair.answer();
  expect((await first.ended).code).toBe(0);
  expect(pair.folder.names().filter((name) => /\.(lock|part)$/.test(name))).toEqual([]);
}

const A = ['enrich', 'a.csv', '--out', 'a.out.csv', '--failures', 'a.bad.csv'];
const B = ['enrich', 'b.csv', '--out', 'b.out.csv', '--failures', 'b.bad.csv'];

describe('a run that wants a file of another one ends before its first call', () => {
  it.each([
    ['the same output', ['--out', 'a.out.csv'], /a\.out\.csv/],
    ['the output of the other for its failures', ['--failures', 'a.out.csv'], /a\.out\.csv/],
    ['the changes of the other for its failures', ['--failures', 'told.csv'], /told\.csv/],
  ])('%s', async (_, more, file) => {
    const pair = await openPair();
    const first = await pair.hold(...A, '--changes', 'told.csv');
    const second = await pair.run(...B, ...more);
    await expectRefused(pair, { first, second, file });
    expect(pair.folder.read('a.out.csv')).toContain('acme.com');
    expect(pair.folder.read('told.csv')).toContain('acme.com');
    expect(pair.folder.names()).not.toContain('b.out.csv');
    expect(await pair.run(...B, ...more)).toMatchObject({ code: 0 });
  });

  it('the failures that a merge replaces', async () => {
    const pair = await openPair();
    pair.folder.write('b.csv', 'domain\nn/a\n');
    expect(await pair.run(...B)).toMatchObject({ code: 3 });
    const before = ['b.out.csv', 'b.bad.csv'].map((name) => pair.folder.read(name));
    const first = await pair.hold('enrich', 'a.csv', '--failures', 'b.bad.csv');
    const second = await pair.run('enrich', 'b.bad.csv', '--merge', 'b.out.csv');
    expect(['b.out.csv', 'b.bad.csv'].map((name) => pair.folder.read(name))).toEqual(before);
    await expectRefused(pair, { first, second, file: /b\.bad\.csv/ });
  });

  it('what was told last by a job, though its files are called otherwise now', async () => {
    const pair = await openPair();
    const job = (name: string): string =>
      `input: ${name}.csv\nout: ${name}.out.csv\nchanges: ${name}.told.csv\n`;
    pair.folder.write('job.yaml', job('a'));
    const first = await pair.hold('run', 'job.yaml');
    pair.folder.write('job.yaml', job('b'));
    const second = await pair.run('run', 'job.yaml');
    expect(second.stderr).toContain('or choose another --changes.');
    await expectRefused(pair, { first, second, file: /\S+\.manifest/ });
    expect(pair.folder.names()).not.toContain('b.told.csv');
  });

  it('the failures of standard input, which have one name in a folder', async () => {
    const pair = await openPair();
    const first = await pair.hold('enrich', '-');
    const second = await pair.run('enrich', '-');
    await expectRefused(pair, { first, second, file: /stdin\.failures\.csv/ });
  });
});

it('a killed run keeps nobody from any of its files', async () => {
  const pair = await openPair();
  const first = await pair.hold(...A, '--changes', 'told.csv');
  first.process.kill('SIGKILL');
  await first.ended;
  expect(pair.folder.names().filter((name) => name.endsWith('.lock'))).toHaveLength(3);
  pair.answer();
  expect(await pair.run(...A, '--changes', 'told.csv')).toMatchObject({ code: 0 });
  expect(pair.folder.names()).toEqual(['a.bad.csv', 'a.csv', 'a.out.csv', 'b.csv', 'told.csv']);
  expect(pair.folder.read('told.csv')).toContain('acme.com');
});

it('the second Ctrl-C leaves no lock', async () => {
  const api = await openApi({ latencyMs: 30_000 });
  const folder = openList('domain\nacme.com\n');
  const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
  const first = await start(['enrich', 'list.csv', '--timeout', '1min'], options);
  await first.shows('Plan:');
  first.process.kill('SIGINT');
  await first.shows('Interrupted');
  first.process.kill('SIGINT');
  expect((await first.ended).code).toBe(130);
  expect(folder.names()).toEqual(['list.csv']);
});
