import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const QUEUE = 'redis://127.0.0.1:1';
const input = [{ domain: 'example.com' }];

/** Calls a function as a program without types would. */
function call(name: string, ...args: readonly unknown[]): unknown {
  return (library as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[name]?.(
    ...args,
  );
}

/** The first that a function gives, or what it is refused with. */
async function refusalOf(name: string, ...args: readonly unknown[]): Promise<unknown> {
  try {
    const given = call(name, ...args);
    if (name === 'enrichRows') await (given as AsyncGenerator).next();
    else await given;
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return (error as Error).message;
  }
  return 'nothing was refused';
}

describe('an option that a function does not have', () => {
  it.each<[string, readonly unknown[], string]>([
    [
      'enrich',
      [{ input, maxCals: 1 }],
      "Cannot use 'maxCals': enrich has no such option; did you mean 'maxCalls'?",
    ],
    [
      'enrich',
      [{ input, colour: 'red' }],
      'enrich has no such option; they are listed in docs/options.md.',
    ],
    ['enrichRows', [{ input, maxCals: 1 }], "did you mean 'maxCalls'?"],
    ['plan', [{ input, baseURI: 'x' }], "did you mean 'baseUrl'?"],
    [
      'work',
      [{ queue: QUEUE, maxCalls: 1 }],
      "work has no such option; did you mean 'maxCallsPer'?",
    ],
    ['add', [{ input, queu: QUEUE }], "did you mean 'queue'?"],
    ['collect', [{ queue: QUEUE, outdir: 'x' }], "did you mean 'outDir'?"],
    [
      'collect',
      [{ queue: QUEUE, zzz: 1 }],
      'there are: queue, acceptEviction, outDir, listen, allowHost, signal, onNotice.',
    ],
    ['schedule', [{ files: [], queu: 'x' }], "did you mean 'queue'?"],
    ['listSchedules', [{ queu: 'redis://x' }], "did you mean 'queue'?"],
    ['runScheduled', ['a', { queu: 'x' }], "did you mean 'queue'?"],
    ['loadJob', ['a.yaml', { override: {} }], "did you mean 'overrides'?"],
    ['runJob', ['a.yaml', { onSumary: 1 }], "did you mean 'onSummary'?"],
  ])('is refused by %s: %j', async (name, args, expected) => {
    expect(await refusalOf(name, ...args)).toContain(expected);
  });

  it('is refused among the overrides of a job, before anything is asked', async () => {
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

  it('counts as not given when it is undefined', async () => {
    const message = await refusalOf('enrich', {
      input,
      baseUrl: 'http://x',
      rate: '?',
      nope: undefined,
    });
    expect(message).toContain("Cannot use 'rate'");
  });
});

describe('an option of the wrong type', () => {
  const secret = 4_711_2026;
  it.each<[string, readonly unknown[], string]>([
    ['enrich', [{ apiKey: secret }], "Cannot use 'apiKey': expected a text, received a number."],
    ['enrich', [{ changesId: null }], "Cannot use 'changesId': expected a text, received null."],
    [
      'enrich',
      [{ signal: new AbortController() }],
      "Cannot use 'signal': expected an AbortSignal, received an object (AbortController).",
    ],
    ['enrich', [{ onEvent: 'log' }], "Cannot use 'onEvent': expected a function, received a text."],
    [
      'enrich',
      [{ control: Object.create(null) as unknown }],
      "Cannot use 'control': expected what createRunControl makes, received an object.",
    ],
    [
      'enrich',
      [{ headers: new Headers({ 'x-team': '7' }) }],
      "Cannot use 'headers': expected NAME=VALUE, or an object of texts by name, received an object (Headers).",
    ],
    [
      'enrich',
      [{ headers: { 'x-team': undefined } }],
      "Cannot use 'headers': expected a text as the value of 'x-team', received nothing.",
    ],
    ['enrich', [{ fields: new Map([['a', 'b']]) }], "Cannot use 'fields': expected a text"],
    ['tryDomain', [{ domain: 'a.com', apiKey: secret }], "Cannot use 'apiKey': expected a text"],
    ['work', [{ onReady: 1 }], "Cannot use 'onReady': expected a function"],
    ['add', [{ input, dryRun: 'no' }], "Cannot use 'dryRun': expected true or false"],
    [
      'schedule',
      [{ files: 'a.yaml' }],
      "Cannot use 'files': expected a list of texts, received a text.",
    ],
    ['loadJob', ['a.yaml', { now: 1 }], "Cannot use 'now': expected a function"],
    ['runJob', ['a.yaml', { overrides: 'x' }], "Cannot use 'overrides': expected an object"],
    ['loadJob', [null], 'Cannot read a job file: expected its path as a text, received null.'],
  ])('is refused by %s: %j', async (name, [first, ...rest], expected) => {
    const around = { input, baseUrl: 'http://x', queue: QUEUE, store: useTempFolder() };
    const takesInput = ['enrich', 'enrichRows', 'plan'].includes(name);
    const options = takesInput ? { ...around, ...(first as object) } : first;
    const message = await refusalOf(name, options, ...rest);
    expect(message).toContain(expected);
    expect(message).not.toContain(secret);
    expect(readdirSync(around.store)).toEqual([]);
  });
});

describe('an option that makes no sense', () => {
  it.each(['out', 'failures', 'changes', 'changesId', 'key'])(
    'is refused by enrichRows: %s',
    async (key) => {
      expect(await refusalOf('enrichRows', { input, baseUrl: 'http://x', [key]: 'x' })).toBe(
        `Cannot use '${key}' with enrichRows: its rows go to the caller, not into files; leave it out.`,
      );
    },
  );
});

describe('no options', () => {
  it.each(['enrich', 'work', 'schedule'])('are refused by %s in a sentence', async (name) => {
    expect(await refusalOf(name)).toBe(
      `Cannot run ${name}: expected its options as an object, received nothing.`,
    );
  });

  it('are no text either', async () => {
    expect(await refusalOf('enrich', 'list.csv')).toContain('received a text');
  });

  it.each(['enrich', 'enrichRows', 'plan', 'add'])(
    'and no list are refused by %s',
    async (name) => {
      for (const none of [undefined, null, '', 7, {}]) {
        const message = await refusalOf(name, { input: none, baseUrl: 'http://x', queue: QUEUE });
        expect(message).toContain("Cannot start without a list: give 'input' the path");
      }
    },
  );
});
