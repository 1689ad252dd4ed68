import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { run, runHere } from './support/command.ts';
import { openList } from './support/folder.ts';

describe.skipIf(process.platform !== 'linux')('a process that may have', () => {
  it('few descriptors makes fewer calls at once, and says so', async () => {
    const folder = openList(400);
    const api = await openApi({ latencyMs: 20 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '200'];
    const ended = await run(args, { cwd: folder.path, ulimit: '-n 128' });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/at most \d+ calls go out at once, not 200/);
    expect(api.stats().calls).toBe(400);
  });

  it('too little address space ends before its first call', async () => {
    const args = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9'];
    const ended = await run(args, { cwd: openList(3).path, ulimit: '-v 3145728' });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('too little address space');
  });
});

it.each([
  ['a credential', ['enrich', 'list.csv', '--api-key-file', 'long'], 'too long'],
  ['a job file', ['run', 'long'], 'longer than a megabyte'],
])('%s: a file that was given in its place is not read to its end', async (_, args, why) => {
  const folder = openList(3);
  folder.write('long', 'x'.repeat(2_000_000));
  const place = { cwd: folder.path };
  const ended = await runHere([...args, '--base-url', 'http://127.0.0.1:9'], place);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
});
