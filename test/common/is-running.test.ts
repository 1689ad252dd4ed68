import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isRunning, statOf } from '../../src/common/owner.ts';

const WAIT = { timeout: 10_000 };

function nameOf(pid = 0): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}

describe('a process', () => {
  it('runs when it is this one', () => {
    expect(isRunning(process.pid)).toBe(true);
  });

  it('does not run when it has ended', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    expect(isRunning(child.pid ?? 0)).toBe(false);
  });

  it('does not run when it has ended and its parent takes no note of that', async () => {
    // The shell becomes a program that knows nothing of the child that the shell had. Only then that ends.
    const parent = spawn('sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60']);
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line);
    await vi.waitFor(() => expect(nameOf(parent.pid)).toBe('sleep'), WAIT);
    expect(isRunning(pid)).toBe(true);
    parent.stdin.end();
    await vi.waitFor(() => expect(statOf(pid)[0]).toBe('Z'), WAIT);
    expect(process.kill(pid, 0)).toBe(true);
    expect(isRunning(pid)).toBe(false);
  });
});
