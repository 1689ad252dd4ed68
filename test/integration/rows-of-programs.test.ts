import { describe, expect, it } from 'vitest';
import { type EnrichOptions, enrich, enrichRows, plan, tryDomain } from '../../src/index.ts';
import { type RunEvent } from '../../src/watch/events.ts';
import { openApi } from './support/api.ts';
import { domains, type Folder, openFolder } from './support/folder.ts';

/** Options for a run that leaves everything in one folder. */
function optionsIn(folder: Folder, url = 'http://127.0.0.1:9'): Omit<EnrichOptions, 'input'> {
  const [out, failures] = [folder.at('out.jsonl'), folder.at('failures.jsonl')];
  return { baseUrl: url, store: folder.at('.brandfill'), out, failures };
}

function withoutFiles(options: Omit<EnrichOptions, 'input'>): Omit<EnrichOptions, 'input'> {
  const { out: _, failures: __, ...others } = options;
  return others;
}

/** Takes all rows, and the summary. */
async function takeAll(rows: ReturnType<typeof enrichRows>) {
  const taken: object[] = [];
  for (;;) {
    const next = await rows.next();
    if (next.done) return { rows: taken, summary: next.value };
    taken.push(next.value);
  }
}

describe('rows of a program', () => {
  it('may be none', async () => {
    const folder = openFolder();
    const options = optionsIn(folder);
    const nothing = { rows: 0, uniqueDomains: 0, lookups: 0 };
    const { rows, summary } = await takeAll(enrichRows({ ...withoutFiles(options), input: [] }));
    expect(rows).toEqual([]);
    expect(summary).toMatchObject({ ...nothing, calls: 0, stopped: undefined });
    expect(await enrich({ ...options, input: [] })).toMatchObject({ ...nothing, calls: 0 });
    expect([folder.read('out.jsonl'), folder.read('failures.jsonl')]).toEqual(['', '']);
    expect(await plan({ ...withoutFiles(options), input: [] })).toMatchObject(nothing);
  });

  it('need none of them have the member that is named: the next ones may', async () => {
    const options = withoutFiles(optionsIn(openFolder()));
    const input = [{ name: 'Acme' }, {}];
    const named = { ...options, input, domainColumn: 'site' };
    const { rows, summary } = await takeAll(enrichRows(named));
    expect(rows).toMatchObject([
      { name: 'Acme', brand_status: 'invalid' },
      { brand_status: 'invalid' },
    ]);
    expect(summary).toMatchObject({ rows: 2, calls: 0 });
  });
});

describe('one store used by several calls of a program at once', () => {
  const input = domains(3).map((domain) => ({ domain }));

  it('is shared by whoever gets the rows, and no domain is paid for twice', async () => {
    const [folder, api] = [openFolder(), await openApi()];
    const options = withoutFiles(optionsIn(folder, api.url));
    const tried: string[] = [];
    for await (const row of enrichRows({ ...options, input })) {
      const { baseUrl, store } = options;
      tried.push((await tryDomain({ baseUrl, store, domain: String(row['domain']) })).status);
      const again = await takeAll(enrichRows({ ...options, input }));
      expect(again.summary).toMatchObject({ rows: 3, calls: 0 });
      expect(await plan({ ...options, input })).toMatchObject({ lookups: 0 });
    }
    expect(tried).toEqual(['found', 'found', 'found']);
    expect(api.stats().calls).toBe(3);
  });

  it('is free for whoever is asked before the calls', async () => {
    const [folder, api] = [openFolder(), await openApi()];
    const options = optionsIn(folder, api.url);
    const confirm = async (): Promise<boolean> => {
      const { baseUrl, store } = options;
      const trial = await tryDomain({ baseUrl, store, domain: domains(1)[0] ?? '' });
      return trial.status === 'found';
    };
    const summary = await enrich({ ...options, input, confirm });
    expect(summary.statuses.found).toBe(3);
    expect(api.stats().domains).toMatchObject({ distinct: 3, repeated: 0 });
  });

  it('is read by plans while runs begin and end', async () => {
    const [folder, api] = [openFolder(), await openApi()];
    const options = optionsIn(folder, api.url);
    const runs = Array.from({ length: 4 }, async () => await enrich({ ...options, input }));
    const plans = Array.from({ length: 12 }, async () => {
      for (let each = 0; each < 5; each += 1)
        expect(await plan({ ...withoutFiles(options), input })).toMatchObject({ rows: 3 });
    });
    await Promise.all([...runs, ...plans]);
    expect(api.stats().calls).toBe(3);
  });
});

const circle: { self?: object } = {};
circle.self = circle;

const EXPECTED = 'expected an object with members that JSON can hold';

it.each<[string, unknown, string]>([
  ['a text', 'acme.com', `${EXPECTED}, received a text.`],
  [
    'a chunk of a file',
    Buffer.from('domain\nacme.com\n'),
    `${EXPECTED}, received an object (Buffer).`,
  ],
  [
    'a Map, of which JSON has nothing',
    new Map([['domain', 'acme.com']]),
    `${EXPECTED}, received an object (Map).`,
  ],
  ['an object with itself in it', circle, 'Converting circular structure to JSON.'],
])('what is no row of a program is refused by its number: %s', async (_, row, why) => {
  const options = withoutFiles(optionsIn(openFolder()));
  const input = [{ domain: 'acme.com' }, row as object];
  await expect(plan({ ...options, input })).rejects.toMatchObject({
    code: 'UNREADABLE_INPUT',
    message: `Cannot read row 2: ${why}`,
  });
});

/** Throws at the first event of a kind, as a program with a defect does. */
function throwAt(type: RunEvent['type'], error: unknown): (event: RunEvent) => void {
  return (event) => {
    if (event.type === type) throw error;
  };
}

describe('an onEvent that throws', () => {
  const defect = new Error('a defect of the program');

  it('stops the run in order, which then rejects with what it threw', async () => {
    const folder = openFolder();
    const api = await openApi({ latencyMs: 100 });
    const rows = domains(200).map((domain) => ({ domain }));
    const options = { ...optionsIn(folder, api.url), input: rows, concurrency: 2 };
    const onEvent = throwAt('progress', defect);
    await expect(enrich({ ...options, onEvent })).rejects.toBe(defect);
    expect(api.stats().calls).toBeLessThan(200);
    expect(folder.read('out.jsonl').trimEnd().split('\n')).toHaveLength(200);
  });

  it('ends a run before its first call, and a plan', async () => {
    const api = await openApi();
    const options = { ...optionsIn(openFolder(), api.url), input: [{ domain: 'acme.com' }] };
    const onEvent = throwAt('planned', defect);
    await expect(enrich({ ...options, onEvent })).rejects.toBe(defect);
    await expect(plan({ ...withoutFiles(options), input: options.input, onEvent })).rejects.toBe(
      defect,
    );
    expect(api.stats().calls).toBe(0);
  });
});
