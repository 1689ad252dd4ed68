import { expect, it } from 'vitest';
import { makeRun } from '../../src/schedule/serve-schedules.ts';

it('tells when Redis refuses to note how a run ended', async () => {
  const notices: string[] = [];
  const taken = { job: 'a', why: 'due', dueAtMs: 0, losses: 0, isAgain: false } as const;
  const isDone = await makeRun(taken, {
    file: 'no/such/a.yaml',
    group: 'jobs',
    results: { add: () => Promise.reject(new Error('READONLY')) },
    signal: new AbortController().signal,
    onNotice: (message) => notices.push(message),
    onEvent: () => {},
    onEnd: () => {},
  });
  expect(isDone).toBe(false);
  expect(notices).toEqual([
    'a: starts; it was due at 1970-01-01T00:00:00.000Z.',
    expect.stringMatching(/^a: ended with exit code 2 after .*: Cannot read the job file/),
    'a: the result could not be saved (it is a read-only replica; give the address of its master): schedule --list does not show this run.',
  ]);
});
