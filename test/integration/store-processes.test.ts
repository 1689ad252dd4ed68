import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLockLink } from '../../src/common/lock-link.ts';
import { describeSelf, shortenPlace } from '../../src/common/owner.ts';
import { openStore } from '../../src/store/store.ts';
import { outcomeOf } from '../store/outcomes.ts';
import { useTempFolder } from '../support/temp-folder.ts';

describe('two processes on one store', () => {
  function start(folder: string, name: string, count: number): ChildProcess {
    const script = new URL('./support/put-many.ts', import.meta.url);
    const child = fork(script, [folder, name, String(count)], { execArgv: ['--import', 'tsx'] });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    return child;
  }

  it('both keep what they put, and see what the other put; a killed one loses nothing', async () => {
    const folder = useTempFolder();
    const store = await openStore(folder, 'endpoint');
    onTestFinished(() => store.close());
    const other = start(folder, 'other', 500);
    const own = Promise.all(
      Array.from({ length: 500 }, (_, index) => store.put(outcomeOf(`own${index}.com`), [['own']])),
    );
    const [said] = (await once(other, 'message')) as unknown[];
    expect(said).toBe('kept');
    other.kill('SIGKILL');
    await once(other, 'exit');
    await own;
    for (let index = 0; index < 500; index += 1) {
      expect(store.find(`own${index}.com`)).toBeDefined();
      expect(store.find(`other${index}.com`)?.json).toBe(`{"other":${index}}`);
    }
    const shapeOf = (domain: string): unknown =>
      store.findShape(store.findHead(domain)?.shapeId ?? 0);
    expect([shapeOf('own0.com'), shapeOf('other0.com')]).toEqual([[['own']], [['other']]]);
    await store.put(outcomeOf('later.com'), []);
    expect(store.find('later.com')).toBeDefined();
  });
});

describe('the lock of a killed process', () => {
  /** A process that takes the lock one step at a time; `next` tells what it does, as its script says. */
  function takeStepwise(path: string): { next(): Promise<string>; step(): void } {
    const script = new URL('./support/take-lock-stepwise.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--import', 'tsx', script, path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const letters = (async function* () {
      for await (const bytes of child.stdout.setEncoding('utf8')) yield* String(bytes);
    })();
    return {
      next: async () => (await letters.next()).value ?? 'ended',
      step: () => void child.stdin.write('s'),
    };
  }

  function leaveStale(path: string): void {
    const { pid } = spawnSync(process.execPath, ['--version']);
    symlinkSync([pid, 1, shortenPlace(describeSelf().place), 1].join('.'), path);
  }

  /** What the process does next, apart from waiting. */
  async function nextStop(next: () => Promise<string>): Promise<string> {
    for (;;) {
      const letter = await next();
      if (letter !== 'w') return letter;
    }
  }

  it.each([
    ['has it', 1],
    ['has it for the second time', 2],
  ])('is taken by one of three, wherever one of them stops while another %s', async (_, times) => {
    for (let stops = 1, isOver = false; !isOver; stops += 1) {
      const folder = useTempFolder();
      const path = join(folder, 'store.lock');
      leaveStale(path);
      const slow = takeStepwise(path);
      let at = await nextStop(slow.next);
      for (let stop = 1; stop < stops && at === '.'; stop += 1) {
        slow.step();
        at = await nextStop(slow.next);
      }
      isOver = at === 'H';
      if (isOver) continue;
      const fast = createLockLink(path, { silenceMs: 50 });
      let mark = await fast.acquire();
      for (let time = 1; time < times; time += 1) {
        fast.release(mark);
        mark = await fast.acquire();
      }
      const third = createLockLink(path, { patienceMs: 30 });
      while (at === '.') {
        slow.step();
        at = await slow.next();
        await expect(third.acquire(), `after ${stops} steps`).rejects.toThrow('keeps it locked');
      }
      expect(at).toBe('w');
      fast.release(mark);
      for (at = await nextStop(slow.next); at === '.'; at = await nextStop(slow.next)) slow.step();
      expect(at).toBe('H');
      expect(readdirSync(folder)).toEqual(['store.lock']);
    }
  });
});
