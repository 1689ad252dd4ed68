import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EnrichOptions, Plan } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openList } from './support/folder.ts';

/** A run that somebody is asked about leaves nothing that was not there, and makes no call. */
async function expectNothing(
  confirm: EnrichOptions['confirm'],
  more: Partial<Omit<EnrichOptions, 'input'>> = {},
): Promise<unknown> {
  const folder = openList();
  const api = await openApi();
  const logos = { logos: folder.at('logos'), logoField: 'logo' };
  const files = { changes: folder.at('changes.csv'), report: folder.at('report.html') };
  const place = { input: 'list.csv', baseUrl: api.url, store: 'kept/answers' };
  const options = { ...place, ...logos, ...files, ...more };
  const error: unknown = await enrichIn(folder, { ...options, confirm }).catch(
    (error: unknown) => error,
  );
  expect(readdirSync(folder.path)).toEqual(['list.csv']);
  expect(api.stats().calls).toBe(0);
  return error;
}

describe('a run before its first call', () => {
  it('that is declined leaves nothing: no store, no folder of logos, none of changes', async () => {
    const asked: Plan[] = [];
    const error = await expectNothing(async (plan) => {
      asked.push(plan);
      return false;
    });
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(asked).toMatchObject([{ rows: 2, calls: 2 }]);
  });

  it('that is aborted does not wait for whoever is asked', async () => {
    const tooMany = new Error('too many calls');
    const stop = new AbortController();
    const confirm = async (): Promise<never> => {
      stop.abort(tooMany);
      return await new Promise<never>(() => {});
    };
    expect(await expectNothing(confirm, { signal: stop.signal })).toBe(tooMany);
  });
});
