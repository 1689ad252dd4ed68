import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createReport,
  type FinishedRun,
  notify,
  postReport,
  reportVariables,
} from '../../src/commands/on-finish.ts';
import type { Summary } from '../../src/watch/summary.ts';
import { useConnectProxy } from '../support/connect-proxy.ts';
import { type TestServer, useHttpServer, useTcpServer } from '../support/servers.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const SUMMARY: Summary = {
  runId: '0123456789ab',
  rows: 5,
  statuses: {
    found: 2,
    stale: 0,
    not_found: 1,
    rejected: 0,
    failed: 1,
    pending: 0,
    invalid: 1,
    skipped: 0,
  },
  uniqueDomains: 4,
  freshDomains: 0,
  lookups: 4,
  calls: 6,
  retries: 2,
  throttled: 0,
  cost: undefined,
  elapsedMs: 1_500,
  lookupMs: 1_000,
  callsPerSecond: 6,
  pace: undefined,
  store: { folder: '.brandfill', sizeBytes: 4_096 },
  stopped: undefined,
  out: 'out/a.csv',
  failures: '/tmp/f.csv',
  failuresSheet: undefined,
  filled: undefined,
  logos: undefined,
  changes: { file: 'out/c.csv', new: 1, changed: 0 },
};

const RUN: FinishedRun = {
  job: 'nightly',
  file: 'jobs/nightly.yaml',
  exitCode: 3,
  startedAt: new Date('2026-11-21T01:30:00Z'),
  finishedAt: new Date('2026-11-21T01:31:00Z'),
};

describe('the report of a run', () => {
  it('is the summary, and what a receiver needs beside it', () => {
    expect(createReport({ ...RUN, summary: SUMMARY })).toEqual({
      ...SUMMARY,
      job: 'nightly',
      file: resolve('jobs/nightly.yaml'),
      exitCode: 3,
      startedAt: '2026-11-21T01:30:00.000Z',
      finishedAt: '2026-11-21T01:31:00.000Z',
      text: expect.stringMatching(/^brandfill nightly: done, some rows failed\n5 rows in 1\.5 s: /),
      out: resolve('out/a.csv'),
      changes: { file: resolve('out/c.csv'), new: 1, changed: 0 },
      store: { folder: resolve('.brandfill'), sizeBytes: 4_096 },
    });
  });

  it('leaves standard output as it is', () => {
    expect(createReport({ ...RUN, summary: { ...SUMMARY, out: '-' } }).out).toBe('-');
  });

  it('says what went wrong where there is no summary', () => {
    const report = createReport({ ...RUN, exitCode: 2, error: 'Cannot read a.csv: gone.' });
    expect(report).toMatchObject({ exitCode: 2, error: 'Cannot read a.csv: gone.' });
    expect(report.text).toBe('brandfill nightly: could not be run\nCannot read a.csv: gone.');
    expect(report).not.toHaveProperty('rows');
  });

  it('has its numbers in variables too, those that there are', () => {
    expect(reportVariables(createReport({ ...RUN, summary: SUMMARY }))).toEqual({
      BRANDFILL_JOB: 'nightly',
      BRANDFILL_JOB_FILE: resolve('jobs/nightly.yaml'),
      BRANDFILL_EXIT_CODE: '3',
      BRANDFILL_ROWS: '5',
      BRANDFILL_FOUND: '2',
      BRANDFILL_STALE: '0',
      BRANDFILL_NOT_FOUND: '1',
      BRANDFILL_REJECTED: '0',
      BRANDFILL_FAILED: '1',
      BRANDFILL_PENDING: '0',
      BRANDFILL_INVALID: '1',
      BRANDFILL_SKIPPED: '0',
      BRANDFILL_CALLS: '6',
      BRANDFILL_OUT: resolve('out/a.csv'),
      BRANDFILL_FAILURES: '/tmp/f.csv',
      BRANDFILL_CHANGES: resolve('out/c.csv'),
    });
    const paid = reportVariables(createReport({ ...RUN, summary: { ...SUMMARY, cost: 0.06 } }));
    expect(paid).toMatchObject({ BRANDFILL_COST: '0.06' });
    const failed = reportVariables(createReport({ ...RUN, exitCode: 2, error: 'no' }));
    const there = Object.keys(failed).filter((name) => failed[name] !== undefined);
    expect(there.sort()).toEqual([
      'BRANDFILL_ERROR',
      'BRANDFILL_EXIT_CODE',
      'BRANDFILL_JOB',
      'BRANDFILL_JOB_FILE',
    ]);
  });
});

/** A run that is over, whose job file is in a folder. */
function finishedIn(folder: string): FinishedRun {
  const at = new Date(0);
  const file = join(folder, 'nightly.yaml');
  return { job: 'nightly', file, exitCode: 1, startedAt: at, finishedAt: at, error: 'No list' };
}

/** Nobody reads; what is told goes through as it is. */
const PLAIN = {
  env: { PATH: process.env['PATH'] },
  redact: (text: string) => text,
};

describe('an interruption', () => {
  const HANGING = 'exec sleep 60';

  it('gives what is under way some time, says so, and ends it then', async () => {
    const folder = useTempFolder();
    const interrupt = new AbortController();
    const server = await useHttpServer(() => interrupt.abort());
    const notices: string[] = [];
    await notify({ command: HANGING, url: server.url }, finishedIn(folder), {
      ...PLAIN,
      signal: interrupt.signal,
      graceMs: 50,
      onNotice: (message) => notices.push(message),
    });
    expect(notices.toSorted()).toEqual([
      `Cannot tell ${server.url} that the run is over: no answer in time after an interruption (tried once). The run itself is not affected.`,
      'Interrupted: onFinish may take another 50 ms. Interrupt again to end at once.',
      'The command of onFinish failed: it had not ended in time after an interruption. The run itself is not affected.',
    ]);
  });

  it('of the run leaves time to notify', async () => {
    const folder = useTempFolder();
    const notices: string[] = [];
    await notify({ command: 'sleep 0.2; cat > told.json' }, finishedIn(folder), {
      ...PLAIN,
      signal: AbortSignal.abort(),
      onNotice: (message) => notices.push(message),
    });
    expect(notices).toEqual([]);
    expect(readFileSync(join(folder, 'told.json'), 'utf8')).toContain('No list');
  });

  it('of the run does not wait for what hangs', async () => {
    const notices: string[] = [];
    await notify({ command: HANGING }, finishedIn(useTempFolder()), {
      ...PLAIN,
      signal: AbortSignal.abort(),
      graceMs: 50,
      onNotice: (message) => notices.push(message),
    });
    expect(notices.join()).toContain('it had not ended in time after an interruption');
  });
});

it('takes the credential out of what is told, wherever it may be in it', async () => {
  const folder = useTempFolder();
  let posted = '';
  const server = await useHttpServer((request, response) => {
    void text(request).then((body) => {
      posted = body;
      response.end();
    });
  });
  const at = new Date(0);
  const run = {
    job: 'nightly',
    file: join(folder, 'nightly.yaml'),
    exitCode: 1,
    startedAt: at,
    finishedAt: at,
    error: 'Unexpected "s3cret" in the answer',
  };
  const notices: string[] = [];
  await notify({ command: 'cat > told.json; env > env.txt', url: server.url }, run, {
    env: { PATH: process.env['PATH'], HOOK: 'kept' },
    redact: (value) => value.replaceAll('s3cret', '[redacted]'),
    onNotice: (message) => notices.push(message),
  });
  const told = readFileSync(join(folder, 'told.json'), 'utf8');
  expect(JSON.parse(told)).toMatchObject({ error: 'Unexpected "[redacted]" in the answer' });
  expect(posted).toBe(told.trimEnd());
  expect(readFileSync(join(folder, 'env.txt'), 'utf8')).toContain('HOOK=kept');
  expect(notices).toEqual([]);
});

it('a command with a NUL in it is refused without being repeated', async () => {
  const notices: string[] = [];
  for (const command of ['notify s3cret\0', ['notify', 's3cret\0']]) {
    await notify({ command }, finishedIn(useTempFolder()), {
      ...PLAIN,
      onNotice: (message) => notices.push(message),
    });
  }
  const refusal =
    'The command of onFinish failed: it, or a variable that it would get, holds a NUL character, which no command can take; leave the character out. The run itself is not affected.';
  expect(notices).toEqual([refusal, refusal]);
});

it('a command gets nothing of what was said of the run that it belongs to itself', async () => {
  const folder = useTempFolder();
  const at = new Date(0);
  const file = join(folder, 'inner.yaml');
  const run = { job: 'inner', file, exitCode: 0, startedAt: at, finishedAt: at };
  await notify({ command: 'env > env.txt' }, run, {
    ...PLAIN,
    env: { ...PLAIN.env, BRANDFILL_ERROR: 'of the outer run', BRANDFILL_JOB: 'outer' },
    onNotice: () => {},
  });
  const env = readFileSync(join(folder, 'env.txt'), 'utf8');
  expect(env).toContain('BRANDFILL_JOB=inner');
  expect(env).not.toMatch(/BRANDFILL_ERROR|undefined/);
});

const QUICK = { backoffMs: 1 };

/** A server that answers with one status after the other, the last one for ever. */
async function answering(
  ...statuses: readonly number[]
): Promise<TestServer & { calls(): number }> {
  let calls = 0;
  const server = await useHttpServer((_, response) => {
    response.writeHead(statuses[Math.min(calls, statuses.length - 1)] ?? 200).end('no');
    calls += 1;
  });
  return { ...server, calls: () => calls };
}

function useProxy(url: string): void {
  vi.stubEnv('http_proxy', url);
  vi.stubEnv('no_proxy', '');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

describe('postReport', () => {
  it('posts JSON', async () => {
    let seen: unknown;
    const server = await useHttpServer((request, response) => {
      void text(request).then((body) => {
        seen = { method: request.method, type: request.headers['content-type'], body };
        response.writeHead(204).end();
      });
    });
    await postReport(`${server.url}/hook`, '{"rows":1}', QUICK);
    expect(seen).toEqual({ method: 'POST', type: 'application/json', body: '{"rows":1}' });
  });

  it.each([500, 503, 429, 408])('tries again after %d', async (status) => {
    const server = await answering(status, status, 200);
    await postReport(server.url, '{}', QUICK);
    expect(server.calls()).toBe(3);
  });

  it('gives up after four tries', async () => {
    const server = await answering(503);
    await expect(postReport(`${server.url}/s3cret`, '{}', QUICK)).rejects.toThrow(
      /^it answered 503 \(tried 4 times\)$/,
    );
    expect(server.calls()).toBe(4);
  });

  it.each([
    [404, 'it answered 404 (tried once)'],
    [301, 'it answered 301, a redirect; give the address that it leads to (tried once)'],
  ])('does not try again after %d', async (status, message) => {
    const server = await answering(status);
    await expect(postReport(server.url, '{}', QUICK)).rejects.toThrow(message);
    expect(server.calls()).toBe(1);
  });

  it('goes through the proxy that the environment names', async () => {
    const server = await answering(200);
    const proxy = await useConnectProxy();
    useProxy(proxy.url);
    await postReport(server.url, '{}', QUICK);
    expect(server.calls()).toBe(1);
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`]);
  });

  it('asks a proxy that says nothing once for each try, and tells of it', async () => {
    const proxy = await useTcpServer((socket) => socket.end());
    useProxy(proxy.url);
    await expect(
      postReport('http://hooks.invalid', '{}', { ...QUICK, timeoutMs: 1_000 }),
    ).rejects.toThrow('proxy connection reset (tried 4 times)');
    expect(proxy.connections()).toBe(4);
  });

  it('gives up a server that never answers', async () => {
    let asked = 0;
    const server = await useTcpServer(() => {
      asked += 1;
    });
    const posting = postReport(server.url, '{}', { ...QUICK, timeoutMs: 20 });
    await expect(posting).rejects.toThrow('timeout (tried 4 times)');
    expect(asked).toBeLessThanOrEqual(4);
  });

  it('gives up where nobody listens', async () => {
    const { createServer } = await import('node:net');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    await expect(postReport(`http://127.0.0.1:${port}/`, '{}', QUICK)).rejects.toThrow(
      'connection refused (tried 4 times)',
    );
  });
});
