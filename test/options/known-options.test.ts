import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const QUEUE = 'redis://127.0.0.1:1';
const input = [{ domain: 'example.com' }];

/** What a function is refused with, as a program without types would call it. */
async function refusalOf(name: string, ...args: readonly unknown[]): Promise<string> {
  const functions = library as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
  try {
    const given = functions[name]?.(...args);
    await (name === 'enrichRows' ? (given as AsyncGenerator).next() : given);
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return (error as Error).message;
  }
  return 'nothing was refused';
}

const A_LIST = "Cannot use 'input': expected the path of a list, '-' for standard input, or rows";

it.each<[string, readonly unknown[], string]>([
  [
    'enrich',
    [{ input, maxCals: 1 }],
    "Cannot use 'maxCals': enrich has no such option; did you mean 'maxCalls'?",
  ],
  ['enrich', [{ input, colour: 'red' }], 'no such option; they are listed in docs/options.md.'],
  ['enrich', [{ input, baseUrl: 'http://x', rate: '?', nope: undefined }], "Cannot use 'rate'"],
  ['enrichRows', [{ input, maxCals: 1 }], "did you mean 'maxCalls'?"],
  ['enrichRows', [{ input, failures: 'x' }], "'failures': enrichRows has no such option"],
  ['plan', [{ input, baseURI: 'x' }], "did you mean 'baseUrl'?"],
  ['work', [{ queue: QUEUE, maxCalls: 1 }], "no such option; did you mean 'maxCallsPer'?"],
  ['add', [{ input, queu: QUEUE }], "did you mean 'queue'?"],
  ['collect', [{ outdir: 'x' }], "did you mean 'outDir'?"],
  ['collect', [{ zzz: 1 }], 'there are: queue, outDir, listen, allowHost, signal, onNotice.'],
  ['schedule', [{ files: [], queu: 'x' }], "did you mean 'queue'?"],
  ['listSchedules', [{ queu: 'redis://x' }], "did you mean 'queue'?"],
  ['runScheduled', ['a', { queu: 'x' }], "did you mean 'queue'?"],
  ['loadJob', ['a.yaml', { override: {} }], "did you mean 'overrides'?"],
  ['loadJob', ['a.yaml', { now: 1 }], "Cannot use 'now': expected a function"],
  ['runJob', ['a.yaml', { onSumary: 1 }], "did you mean 'onSummary'?"],
  ['runJob', ['a.yaml', { overrides: 'x' }], "Cannot use 'overrides': expected an object"],
  ['enrich', [{ input, apiKey: 47_112_026 }], "'apiKey': expected a text, received a number."],
  ['enrich', [{ input, changesId: null }], "'changesId': expected a text, received null."],
  [
    'enrich',
    [{ input, signal: new AbortController() }],
    'expected an AbortSignal, received an object (AbortController).',
  ],
  ['enrich', [{ input, onEvent: 'log' }], "'onEvent': expected a function, received a text."],
  ['enrich', [{ input, control: {} }], 'expected what createRunControl makes, received an object.'],
  [
    'enrich',
    [{ input, headers: new Headers() }],
    'expected NAME=VALUE, or an object of texts by name, received an object (Headers).',
  ],
  [
    'enrich',
    [{ input, headers: { 'x-team': undefined } }],
    "expected a text as the value of 'x-team', received nothing.",
  ],
  ['enrich', [{ input, fields: new Map() }], "Cannot use 'fields': expected a text"],
  ['tryDomain', [{ domain: 'a.com', retires: 3 }], "no such option; did you mean 'retries'?"],
  ['tryDomain', [{}], "Cannot use 'domain': expected a text, received nothing."],
  ['work', [{ onReady: 1 }], "Cannot use 'onReady': expected a function"],
  ['add', [{ input, dryRun: 'no' }], "Cannot use 'dryRun': expected true or false"],
  ['schedule', [{ files: 'a.yaml' }], "'files': expected a list of texts, received a text."],
  ['enrich', [], 'Cannot run enrich: expected its options as an object, received nothing.'],
  ['work', ['list.csv'], 'Cannot run work: expected its options as an object, received a text.'],
  ['enrich', [{}], A_LIST],
  ['enrichRows', [{ input: null }], A_LIST],
  ['plan', [{ input: '' }], A_LIST],
  ['add', [{ input: {} }], A_LIST],
])('%s refuses %j', async (name, [first, ...rest], expected) => {
  const store = useTempFolder();
  const takesStore = ['enrich', 'enrichRows', 'plan'].includes(name) && first !== undefined;
  const options = takesStore ? { store, ...(first as object) } : first;
  const message = await refusalOf(name, options, ...rest);
  expect(message).toContain(expected);
  expect(message).not.toContain('47112026');
  expect(readdirSync(store)).toEqual([]);
});

it('an unknown option among the overrides of a job is refused before anything is asked', async () => {
  const folder = useTempFolder();
  const { url, stats } = await useSandbox();
  await writeFile(join(folder, 'list.csv'), 'domain\nexample.com\n');
  const job = join(folder, 'job.yaml');
  await writeFile(job, `input: list.csv\nbaseUrl: ${url}\n`);
  for (const name of ['loadJob', 'runJob']) {
    const message = await refusalOf(name, job, { overrides: { maxCals: 1 } });
    expect(message).toContain("Cannot use 'maxCals': enrich has no such option");
  }
  expect(stats().calls).toBe(0);
});
