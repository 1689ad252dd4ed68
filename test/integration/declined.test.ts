import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EnrichOptions, Plan } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';

/** A run that somebody is asked about. */
async function enrichAsked(
  { folder, api }: List,
  isMeant: unknown,
  more: Partial<Omit<EnrichOptions, 'input'>> = {},
): Promise<{ readonly asked: readonly Plan[]; readonly calls: number; readonly error: unknown }> {
  const callsBefore = api.stats().calls;
  const asked: Plan[] = [];
  const error = await enrichIn(folder, {
    input: 'list.csv',
    baseUrl: api.url,
    store: 'kept/answers',
    confirm: async (plan) => {
      asked.push(plan);
      return isMeant as boolean;
    },
    ...more,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { asked, calls: api.stats().calls - callsBefore, error };
}

interface List {
  readonly folder: Folder;
  readonly api: Awaited<ReturnType<typeof openApi>>;
}

async function openList(): Promise<List> {
  const folder = openFolder();
  folder.write('list.csv', 'domain\nacme.com\nbolt.com\n');
  return { folder, api: await openApi() };
}

describe('a run that is declined', () => {
  it('leaves nothing that was not there: no store, no folder of logos, none of changes', async () => {
    const list = await openList();
    const { folder } = list;
    const more = {
      logos: folder.at('logos'),
      logoField: 'logo',
      changes: folder.at('changes.csv'),
      report: folder.at('report.html'),
    };
    const { asked, calls, error } = await enrichAsked(list, false, more);
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(asked).toMatchObject([{ rows: 2, calls: 2 }]);
    expect(calls).toBe(0);
    expect(readdirSync(folder.path)).toEqual(['list.csv']);
  });
});

describe('a run that is aborted before its first call', () => {
  const tooMany = new Error('too many calls');

  it('does not wait for whoever is asked', async () => {
    const list = await openList();
    const stop = new AbortController();
    const { error } = await enrichAsked(list, true, {
      signal: stop.signal,
      confirm: async () => {
        stop.abort(tooMany);
        return await new Promise<never>(() => {});
      },
    });
    expect(error).toBe(tooMany);
    expect(readdirSync(list.folder.path)).toEqual(['list.csv']);
  });
});
