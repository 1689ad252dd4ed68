import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import * as library from '../../src/index.ts';
import { useTempFolder } from '../support/temp-folder.ts';

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

const A_LIST =
  "Cannot use option 'input': expected the path of a list, '-' for standard input, or rows";

it.each<[string, readonly unknown[], string]>([
  [
    'enrich',
    [{ input, maxCals: 1 }],
    "Cannot use 'maxCals': enrich has no such option; did you mean option 'maxCalls'?",
  ],
  ['enrich', [{ input, colour: 'red' }], 'no such option; see docs/options.md.'],
  ['enrich', [{ input, baseUrl: 'http://x', rate: '?', nope: undefined }], "option 'rate'"],
  ['enrichRows', [{ input, maxCals: 1 }], "did you mean option 'maxCalls'?"],
  ['enrichRows', [{ input, failures: 'x' }], "'failures': enrichRows has no such option"],
  ['plan', [{ input, baseURI: 'x' }], "did you mean option 'baseUrl'?"],
  ['enrich', [{ input, apiKey: 47_112_026 }], "'apiKey': expected a text, received a number."],
  ['enrich', [{ input, changesId: null }], "'changesId': expected a text, received null."],
  [
    'enrich',
    [{ input, headers: new Headers() }],
    'expected NAME=VALUE, or an object of texts by name, received an object (Headers).',
  ],
  ['enrich', [{ input, headers: { a: undefined } }], 'of texts by name, received an object.'],
  ['enrich', [{ input, fields: new Map() }], "Cannot use option 'fields': expected a text"],
  ['tryDomain', [{ domain: 'a.com', retires: 3 }], "did you mean option 'retries'?"],
  ['tryDomain', [{}], "Cannot use option 'domain': expected a text, received nothing."],
  ['enrich', [], 'Cannot run enrich: expected its options as an object, received nothing.'],
  ['enrich', [{}], A_LIST],
  ['enrichRows', [{ input: null }], A_LIST],
  ['plan', [{ input: '' }], A_LIST],
])('%s refuses %j', async (name, [first, ...rest], expected) => {
  const store = useTempFolder();
  const takesStore = name !== 'tryDomain' && first !== undefined;
  const options = takesStore ? { store, ...(first as object) } : first;
  const message = await refusalOf(name, options, ...rest);
  expect(message).toContain(expected);
  expect(message).not.toContain('47112026');
  expect(readdirSync(store)).toEqual([]);
});

const commands = await Promise.all(COMMANDS.map(async ({ load }) => await load?.()));
const keys = new Set(commands.flatMap((command) => Object.keys(command?.options ?? {})));
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join('src', name), 'utf8'));

it.each([...keys])('the option %s is read somewhere', (key) => {
  const isRead = new RegExp(`\\b${key}\\b(?!'|: (?:option|varied|required|kinds)\\b)`);
  expect(sources.some((text) => isRead.test(text))).toBe(true);
});

it('messages name options by keys that there are', () => {
  const named = sources.flatMap((text) => Array.from(text.matchAll(/option '(\w+)'/g)));
  expect(named.length).toBeGreaterThan(100);
  const unknown = named.map(([, key = '']) => key).filter((key) => !keys.has(key));
  expect(new Set(unknown)).toEqual(new Set(['apiKeyEnv', 'sources'])); // of job files
});
