import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type FinishedRun, tell } from '../../src/commands/on-finish.ts';
import { useHttpServer } from '../support/servers.ts';
import { useTempFolder } from '../support/temp-folder.ts';

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
    await tell({ command: HANGING, url: server.url }, finishedIn(folder), {
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

  it('of the run leaves time to tell of it', async () => {
    const folder = useTempFolder();
    const notices: string[] = [];
    await tell({ command: 'sleep 0.2; cat > told.json' }, finishedIn(folder), {
      ...PLAIN,
      signal: AbortSignal.abort(),
      onNotice: (message) => notices.push(message),
    });
    expect(notices).toEqual([]);
    expect(readFileSync(join(folder, 'told.json'), 'utf8')).toContain('No list');
  });

  it('of the run does not wait for what hangs', async () => {
    const notices: string[] = [];
    await tell({ command: HANGING }, finishedIn(useTempFolder()), {
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
  await tell({ command: 'cat > told.json; env > env.txt', url: server.url }, run, {
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
    await tell({ command }, finishedIn(useTempFolder()), {
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
  await tell({ command: 'env > env.txt' }, run, {
    ...PLAIN,
    env: { ...PLAIN.env, BRANDFILL_ERROR: 'of the outer run', BRANDFILL_JOB: 'outer' },
    onNotice: () => {},
  });
  const env = readFileSync(join(folder, 'env.txt'), 'utf8');
  expect(env).toContain('BRANDFILL_JOB=inner');
  expect(env).not.toMatch(/BRANDFILL_ERROR|undefined/);
});
