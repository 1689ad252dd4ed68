import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type FinishedRun,
  type NotifyContext,
  notify,
} from '../../../src/cli/commands/on-finish.ts';
import type { OnFinish } from '../../../src/options/job-file.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

/** Tells of a failed run, in a folder of its own; gives what was said of that. */
async function tell(
  onFinish: OnFinish | OnFinish['command'],
  {
    folder = useTempFolder(),
    run = {},
    ...context
  }: Partial<NotifyContext> & {
    readonly folder?: string;
    readonly run?: Partial<FinishedRun>;
  } = {},
): Promise<{ folder: string; notices: readonly string[] }> {
  const notices: string[] = [];
  const at = new Date(0);
  const file = join(folder, 'nightly.yaml');
  const ended = { job: 'nightly', file, exitCode: 2, startedAt: at, finishedAt: at, ...run };
  const given =
    typeof onFinish === 'object' && 'command' in onFinish ? onFinish : { command: onFinish };
  await notify(given, ended, {
    env: { PATH: process.env['PATH'], GREETING: 'hello' },
    redact: (text) => text.replaceAll('s3cret', '[redacted]'),
    onNotice: (message) => notices.push(message),
    ...context,
  });
  return { folder, notices };
}

it('starts a program with its arguments, and no shell', async () => {
  const script = 'require("fs").writeFileSync("out.txt", process.argv[1])';
  const { folder } = await tell([process.execPath, '-e', script, '$GREETING; exit 1']);
  expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toBe('$GREETING; exit 1');
});

it.each<[string, OnFinish | OnFinish['command'], string | undefined]>([
  ['a command that does not read', 'exec true', undefined],
  ['an exit code', 'exit 3', 'it ended with exit code 3'],
  ['a signal', 'kill -KILL $$', 'it ended with SIGKILL'],
  ['no program', ['/none/such', 's3cret'], 'there is no such file or folder'],
  ['a NUL', ['notify', 's3cret\0'], 'no command can have a NUL character in it'],
  [
    'a command that takes too long',
    { command: 'sleep 60', timeout: 50 },
    'it took longer than 50 ms and was ended',
  ],
])(
  'a note says how it failed, without the command: %s',
  async (_, command, why) => {
    const { notices } = await tell(command, { run: { error: 'x'.repeat(100_000) } });
    const note = `The command of onFinish failed: ${why}. The run itself is not affected.`;
    expect(notices).toEqual(why === undefined ? [] : [note]);
  },
  20_000,
);

it('what a late command started ends too, also where it does not want to', async () => {
  const child = `trap "" TERM; echo $$ > pid; while sleep 0.02; do :; done`;
  const { folder } = await tell({ command: `sh -c '${child}' & wait`, timeout: 1_000 });
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
}, 20_000);

function isAlive(pid: number): boolean {
  try {
    return (
      process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    );
  } catch {
    return false;
  }
}

it.each<[string, OnFinish['command']]>([
  ['that went well', 'exec true'],
  ['that failed', 'exit 3'],
  ['that could not be started', ['/none/such']],
])('nothing of a command %s is left for a later interruption', async (_, command) => {
  const interrupting = new AbortController();
  await tell(command, { signal: interrupting.signal });
  expect(getEventListeners(interrupting.signal, 'abort')).toEqual([]);
});

it.each([
  ['before', () => AbortSignal.abort()],
  ['meanwhile', () => AbortSignal.timeout(50)],
])('an interruption %s leaves it time', async (_, interrupt) => {
  const { folder, notices } = await tell('sleep 0.2; cat > told.json', { signal: interrupt() });
  expect(notices).toEqual([]);
  expect(readFileSync(join(folder, 'told.json'), 'utf8')).toContain('It ended with an error');
});
