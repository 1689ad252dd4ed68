import { expect } from 'vitest';
import { type TestRedis, useRedis } from '../../support/redis.ts';
import { openApi } from './api.ts';
import { run, runHere } from './command.ts';
import { openList } from './folder.ts';

// Commands load these when they run. Compiled before, that takes none of the time in which they are
// to answer.
await Promise.all([
  import('../../../src/cli/commands/enrich.ts'),
  import('../../../src/page/show-run.ts'),
  import('../../../src/queue/index.ts'),
  import('../../../src/cli/commands/worker.ts'),
]);

/** A password that no message may show. */
export const PASSWORD = 'hunter2/@:x';
/** The same, as it stands in a URL. */
export const ENCODED: string = encodeURIComponent(PASSWORD);

/** Starts a Redis with settings as on its command line. */
export async function redisWith(...settings: readonly string[]): Promise<TestRedis> {
  return await useRedis({ settings });
}

/** Host and port, as in a URL. */
export function hostOf({ port }: TestRedis): string {
  return `127.0.0.1:${port}`;
}

/** A worker of a queue. */
export function workerOf(url: string): readonly string[] {
  return ['worker', '--queue', url, '--base-url', 'http://127.0.0.1:9'];
}

/** Runs a worker that must refuse its queue in one sentence, without telling the password. */
export async function refusal(
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = openList(3);
  const ended = await runHere(workerOf(url), { cwd: folder.path, env });
  const said = ended.stderr.split('\n').filter((line) => line.startsWith('brandfill: '));
  expect.soft(ended).toMatchObject({ code: 2, signal: null, stdout: '' });
  expect.soft(said).toHaveLength(1);
  expect.soft(ended.stderr.trimEnd().split('\n').at(-1)).toBe(said[0]);
  expect.soft(ended.stderr).not.toMatch(/^\s+at /m);
  expect.soft(ended.stderr).not.toMatch(/hunter2/i);
  expect.soft(folder.names()).toEqual(['list.csv']);
  return said[0] ?? ended.stderr;
}

/** Enriches a list over a queue and without, and compares what came out. */
export async function expectSameBytes(
  queue: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = openList(60);
  const { url } = await openApi({ notFound: 0.2 });
  const outputs = (name: string) => ['--out', `${name}.csv`, '--failures', `${name}.failures.csv`];
  const args = (name: string) =>
    ['enrich', 'list.csv', '--base-url', url, '--store', name].concat(outputs(name));
  const options = { cwd: folder.path, env };
  const alone = await runHere(args('alone'), options);
  // What Node.js reads when it starts takes a process.
  const runs = 'NODE_EXTRA_CA_CERTS' in env ? run : runHere;
  const shared = await runs([...args('shared'), '--queue', queue], options);
  expect(alone.code).toBe(0);
  expect(shared.stderr).not.toContain('hunter2');
  expect(shared, shared.stderr).toMatchObject({ code: 0, stdout: '' });
  expect(folder.read('shared.csv')).toBe(folder.read('alone.csv'));
  expect(folder.read('shared.failures.csv')).toBe(folder.read('alone.failures.csv'));
}
