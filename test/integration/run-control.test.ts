import { once } from 'node:events';
import { expect, it } from 'vitest';
import { createRunControl, enrich } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { openList } from './support/folder.ts';

it.each([
  ['by its control', undefined],
  ['by its signal', new Error('enough')],
])(
  'a run that is stopped %s while it waits for its first call leaves the outputs',
  async (_, reason) => {
    const [api, folder] = [await openApi(), openList(20)];
    const out = folder.write('out.csv', 'as it was');
    const [control, stop, seen] = [createRunControl(), new AbortController(), new EventTarget()];
    const waits = once(seen, 'progress');
    control.pause();
    const ended = enrich({
      input: folder.at('list.csv'),
      store: folder.at('.brandfill'),
      out,
      failures: folder.at('failures.csv'),
      baseUrl: api.url,
      control,
      signal: stop.signal,
      onEvent: ({ type }) => void seen.dispatchEvent(new Event(type)),
    });
    await Promise.race([waits, ended]);
    if (reason) stop.abort(reason);
    else control.stop();
    const expected: unknown = reason ?? expect.objectContaining({ name: 'AbortError' });
    await expect(ended).rejects.toEqual(expected);
    expect(api.stats().calls).toBe(0);
    expect(folder.read('out.csv')).toBe('as it was');
    expect(folder.names()).not.toContain('failures.csv');
  },
);
