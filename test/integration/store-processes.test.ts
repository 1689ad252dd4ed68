import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
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
