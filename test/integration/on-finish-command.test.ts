import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type CommandOptions, runCommand } from '../../src/commands/on-finish.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const { PATH } = process.env;

function start(
  command: string | readonly string[],
  options: Partial<CommandOptions> = {},
): Promise<void> {
  const defaults = { cwd: '.', stdin: '', timeoutMs: 60_000 };
  return runCommand(command, { ...defaults, env: { PATH, GREETING: 'hello' }, ...options });
}

describe('runCommand', () => {
  it('gives a line to the shell, with its variables, in its folder', async () => {
    const cwd = useTempFolder();
    await start('cat > in.txt && echo "$GREETING ${NONE:-none}" > out.txt && pwd > cwd.txt', {
      cwd,
      stdin: '{"rows":1}\n',
    });
    expect(readFileSync(join(cwd, 'in.txt'), 'utf8')).toBe('{"rows":1}\n');
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toBe('hello none\n');
    expect(readFileSync(join(cwd, 'cwd.txt'), 'utf8').trim()).toBe(realpathSync(cwd));
  });

  it('starts a program with its arguments, and no shell', async () => {
    const cwd = useTempFolder();
    const script = 'require("fs").writeFileSync("out.txt", process.argv[1])';
    await start([process.execPath, '-e', script, '$GREETING; exit 1'], { cwd });
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toBe('$GREETING; exit 1');
  });

  it('does not mind a command that does not read', async () => {
    await start('exec true', { stdin: 'x'.repeat(1_000_000) });
  });

  it.each<[string, string | readonly string[], string]>([
    ['an exit code', 'exit 3', 'it ended with exit code 3'],
    ['a signal', 'kill -KILL $$', 'it ended with SIGKILL'],
    ['no program', ['/none/such', 's3cret'], 'there is no such file or folder'],
  ])('says how it ended: %s', async (_, command, message) => {
    const error = await start(command).catch((error: unknown) => error);
    expect((error as Error).message).toBe(message);
  });

  it('ends a command that takes too long, with all that it started', async () => {
    const cwd = useTempFolder();
    const child =
      'trap "echo ended > out.txt; exit" TERM; touch ready; while :; do sleep 0.02; done';
    await expect(start(`sh -c '${child}'; true`, { cwd, timeoutMs: 1_000 })).rejects.toThrow(
      /^it took longer than 1 s and was ended$/,
    );
    if (!existsSync(join(cwd, 'ready'))) return console.log('The machine was too busy to tell.');
    await expect.poll(() => existsSync(join(cwd, 'out.txt'))).toBe(true);
  });

  it('kills what goes on when the shell has ended', async () => {
    const cwd = useTempFolder();
    const child = 'trap "" TERM; while sleep 0.02; do echo >> out.txt; done';
    const late = start(`sh -c '${child}' & wait`, {
      cwd,
      timeoutMs: 1_000,
      shutdownTimeoutMs: 500,
    });
    await expect(late).rejects.toThrow(/^it took longer than 1 s and was ended$/);
    const size = (): number => statSync(join(cwd, 'out.txt')).size;
    let before = -1;
    while (before !== size()) {
      before = size(); // what is killed may be writing
      await delay(500);
    }
  });
});
