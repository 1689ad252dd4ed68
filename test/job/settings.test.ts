import { describe, expect, it } from 'vitest';
import {
  flagOf,
  readSettings,
  SETTINGS,
  type SettingKey,
  type Settings,
} from '../../src/job/settings.ts';

function read(
  given: Partial<Record<SettingKey, unknown>>,
  env: Record<string, string> = {},
): Settings {
  return readSettings(SETTINGS, { given, env, describe: flagOf });
}

/** The message of the error that a value leads to. */
function refusalOf(
  given: Partial<Record<SettingKey, unknown>>,
  env?: Record<string, string>,
): string {
  try {
    read(given, env);
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return (error as Error).message;
  }
  return 'nothing was refused';
}

describe('settings', () => {
  it('have defaults', () => {
    expect(read({})).toEqual({
      out: undefined,
      failures: undefined,
      baseUrl: undefined,
      auth: { kind: 'none' },
      apiKeyFile: undefined,
      param: undefined,
      header: undefined,
      domainColumn: undefined,
      registrable: undefined,
      fields: undefined,
      prefix: 'brand_',
      concurrency: 32,
      rate: 'auto',
      retries: 5,
      timeout: 60_000,
      maxWait: 900_000,
      maxOutage: 3_600_000,
      maxCalls: undefined,
      fresh: 30 * 86_400_000,
      freshNotFound: 7 * 86_400_000,
      store: '.brandfill',
      queue: undefined,
      workers: 1,
      chunk: 50,
      window: undefined,
      lostAfter: 15_000,
      acceptEviction: undefined,
    });
  });

  it('come from the environment where they are not given', () => {
    const env = {
      BRANDFILL_BASE_URL: 'https://env.example',
      BRANDFILL_AUTH: 'bearer',
      BRANDFILL_STORE: '/env/store',
    };
    expect(read({}, env)).toMatchObject({
      baseUrl: 'https://env.example',
      auth: { kind: 'bearer' },
      store: '/env/store',
    });
    expect(
      read({ baseUrl: 'https://given.example', auth: 'none', store: 'given' }, env),
    ).toMatchObject({ baseUrl: 'https://given.example', auth: { kind: 'none' }, store: 'given' });
  });

  it('take an empty variable for none', () => {
    expect(read({}, { BRANDFILL_AUTH: '', BRANDFILL_STORE: '' })).toMatchObject({
      auth: { kind: 'none' },
      store: '.brandfill',
      queue: undefined,
      workers: 1,
      chunk: 50,
      window: undefined,
      lostAfter: 15_000,
      acceptEviction: undefined,
    });
  });

  it('say whether a flag or a variable is wrong', () => {
    expect(refusalOf({ auth: 'x' })).toMatch(/^Cannot use --auth: /);
    expect(refusalOf({}, { BRANDFILL_AUTH: 'x' })).toMatch(/^Cannot use BRANDFILL_AUTH: /);
  });

  it('have a description each, and defaults and variables as documented', () => {
    for (const [key, definition] of Object.entries(SETTINGS)) {
      expect(definition.description, key).not.toBe('');
    }
    const variables = Object.entries(SETTINGS).flatMap(([key, { env }]) =>
      env ? [[key, env]] : [],
    );
    expect(variables).toEqual([
      ['baseUrl', 'BRANDFILL_BASE_URL'],
      ['auth', 'BRANDFILL_AUTH'],
      ['store', 'BRANDFILL_STORE'],
      ['queue', 'BRANDFILL_QUEUE'],
    ]);
  });

  it('are called as on the command line', () => {
    expect(['baseUrl', 'apiKeyFile', 'freshNotFound', 'out'].map(flagOf)).toEqual([
      '--base-url',
      '--api-key-file',
      '--fresh-not-found',
      '--out',
    ]);
  });
});

describe('a good value', () => {
  it.each<[SettingKey, unknown, unknown]>([
    ['out', 'a b.csv', 'a b.csv'],
    ['out', '-', '-'],
    ['failures', 'f.csv', 'f.csv'],
    ['baseUrl', 'https://h.example/api', 'https://h.example/api'],
    ['auth', 'header:X-Key', { kind: 'header', name: 'X-Key' }],
    ['apiKeyFile', '/run/key', '/run/key'],
    [
      'param',
      ['a=1', 'b=x=y', 'c='],
      [
        ['a', '1'],
        ['b', 'x=y'],
        ['c', ''],
      ],
    ],
    ['param', 'a=1', [['a', '1']]],
    [
      'param',
      { a: '1', b: 2 },
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['param', ['note=two\nlines'], [['note', 'two\nlines']]],
    ['param', [], []],
    [
      'header',
      ['X-Tenant=ä 1', 'x-empty='],
      [
        ['X-Tenant', 'ä 1'],
        ['x-empty', ''],
      ],
    ],
    ['header', ['accept=text/plain'], [['accept', 'text/plain']]],
    ['header', { 'x-tenant': '7' }, [['x-tenant', '7']]],
    ['domainColumn', 'Web site', 'Web site'],
    ['registrable', true, true],
    ['prefix', '', ''],
    ['prefix', 'b.', 'b.'],
    ['concurrency', '1', 1],
    ['concurrency', ' 64 ', 64],
    ['concurrency', 10_000, 10_000],
    ['rate', '300/min', { count: 300, perMs: 60_000 }],
    ['retries', '0', 0],
    ['retries', 100, 100],
    ['timeout', '1ms', 1],
    ['timeout', '24d', 2_073_600_000],
    ['timeout', 500, 500],
    ['maxCalls', '1', 1],
    ['maxCalls', '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['fresh', '0', 0],
    ['fresh', 86_400_000, 86_400_000],
    ['freshNotFound', '12h', 43_200_000],
    ['store', 'my.store', 'my.store'],
  ])('of %s: %j', (key, value, expected) => {
    expect(read({ [key]: value })[key]).toEqual(expected);
  });

  it('of fields reads answers', () => {
    const answer = { name: 'Acme', location: { city: 'Bern' } };
    for (const fields of ['n=name, c=location.city', { n: 'name', c: 'location.city' }]) {
      const read1 = read({ fields }).fields ?? [];
      expect(read1.map(({ name, valueOf }) => [name, valueOf(answer)])).toEqual([
        ['n', 'Acme'],
        ['c', 'Bern'],
      ]);
    }
  });
});

describe('a bad value', () => {
  const aDuration = 'expected a duration such as 500ms, 60s, 10min, 12h or 30d, received';
  it.each<[SettingKey, unknown, string]>([
    ['out', '', "Cannot use --out: expected a text, received ''."],
    ['out', 5, "Cannot use --out: expected a text, received '5'."],
    ['failures', '', "Cannot use --failures: expected a text, received ''."],
    ['baseUrl', '', "Cannot use --base-url: expected a text, received ''."],
    ['apiKeyFile', '', "Cannot use --api-key-file: expected a text, received ''."],
    ['domainColumn', '', "Cannot use --domain-column: expected a text, received ''."],
    ['store', '', "Cannot use --store: expected a text, received ''."],
    ['registrable', 'yes', "Cannot use --registrable: expected true or false, received 'yes'."],
    ['prefix', 5, "Cannot use --prefix: expected a text, received '5'."],
    [
      'concurrency',
      '0',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received '0'.",
    ],
    [
      'concurrency',
      '10001',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received '10001'.",
    ],
    [
      'concurrency',
      '1.5',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received '1.5'.",
    ],
    [
      'concurrency',
      '-3',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received '-3'.",
    ],
    [
      'concurrency',
      '1e2',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received '1e2'.",
    ],
    [
      'concurrency',
      '',
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received ''.",
    ],
    [
      'concurrency',
      Number.NaN,
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received 'NaN'.",
    ],
    [
      'concurrency',
      true,
      "Cannot use --concurrency: expected a whole number, from 1 to 10000, received 'true'.",
    ],
    [
      'retries',
      '101',
      "Cannot use --retries: expected a whole number, from 0 to 100, received '101'.",
    ],
    ['maxCalls', '0', "Cannot use --max-calls: expected a whole number, 1 or more, received '0'."],
    [
      'maxCalls',
      '9007199254740993',
      "Cannot use --max-calls: expected a whole number, 1 or more, received '9007199254740993'.",
    ],
    [
      'rate',
      '0/s',
      "Cannot use --rate: expected a rate such as 20/s, 300/min or 5000/day, or auto, received '0/s'.",
    ],
    ['rate', 20, "Cannot use --rate: expected a text, received '20'."],
    ['timeout', '60', `Cannot use --timeout: ${aDuration} '60'.`],
    [
      'timeout',
      '0',
      "Cannot use --timeout: expected a duration from 1ms to 24d such as 60s, received '0'.",
    ],
    [
      'timeout',
      '25d',
      "Cannot use --timeout: expected a duration from 1ms to 24d such as 60s, received '25d'.",
    ],
    [
      'timeout',
      Number.NaN,
      "Cannot use --timeout: expected a duration from 1ms to 24d such as 60s, received 'NaN'.",
    ],
    ['fresh', 'long', `Cannot use --fresh: ${aDuration} 'long'.`],
    ['fresh', -1, "Cannot use --fresh: expected a duration such as 30d, received '-1'."],
    ['freshNotFound', '1y', `Cannot use --fresh-not-found: ${aDuration} '1y'.`],
    [
      'fields',
      'name',
      "Cannot use --fields: expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city, received 'name'.",
    ],
    ['param', ['a'], 'Cannot use --param: expected NAME=VALUE.'],
    ['param', ['=b'], 'Cannot use --param: expected NAME=VALUE.'],
    ['param', [5], 'Cannot use --param: expected NAME=VALUE.'],
    ['param', 5, "Cannot use --param: expected NAME=VALUE, received '5'."],
    ['header', ['x-a: 1'], 'Cannot use --header: expected NAME=VALUE.'],
    [
      'header',
      ['x a=1'],
      'Cannot use --header: expected NAME=VALUE, NAME being the name of an HTTP header.',
    ],
    [
      'header',
      [' =1'],
      'Cannot use --header: expected NAME=VALUE, NAME being the name of an HTTP header.',
    ],
    [
      'header',
      ['x-a=1\r\nx-b: 2'],
      "Cannot use --header: the value of 'x-a' has characters that no header can carry.",
    ],
    [
      'header',
      ['x-a=食'],
      "Cannot use --header: the value of 'x-a' has characters that no header can carry.",
    ],
    ['header', ['Host=h'], "Cannot use --header: 'Host' is set by Brandfill itself; leave it out."],
    [
      'header',
      ['Accept-Encoding=br'],
      "Cannot use --header: 'Accept-Encoding' is set by Brandfill itself; leave it out.",
    ],
    [
      'header',
      { connection: 'close' },
      "Cannot use --header: 'connection' is set by Brandfill itself; leave it out.",
    ],
  ])('of %s is refused with a sentence: %j', (key, value, message) => {
    expect(refusalOf({ [key]: value })).toBe(message);
  });

  it.each(['Authorization', 'authorization', 'Proxy-Authorization', 'Cookie'])(
    'of header is a credential in %s',
    (name) => {
      expect(refusalOf({ header: [`${name}=s3cret`] })).toBe(
        `Cannot use --header: '${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file.`,
      );
    },
  );

  it.each<[SettingKey, string]>([
    ['auth', 's3cret'],
    ['auth', 'bearer s3cret'],
    ['auth', 'basic:user:s3cret'],
    ['auth', 'header:x-key: s3cret'],
    ['auth', 'query:key=s3cret'],
    ['header', 's3cret'],
    ['header', 'Authorization: Bearer s3cret'],
    ['header', 'Authorization: Bearer s3cret=='],
    ['header', 'Authorization=Bearer s3cret'],
    ['header', 'Bearer s3cret='],
    ['header', 'x-api-key: s3cret=\n'],
    ['header', 'x-api-key=s3cret\n'],
    ['param', 's3cret'],
  ])('of %s is never repeated when it may be a credential: %j', (key, value) => {
    const isRepeatable = SETTINGS[key].isRepeatable ?? false;
    const message = refusalOf({ [key]: isRepeatable ? [value] : value });
    expect(message).toMatch(/^Cannot use --/);
    expect(message).not.toContain('s3cret');
    const env = SETTINGS[key].env;
    if (env !== undefined) expect(refusalOf({}, { [env]: value })).not.toContain('s3cret');
  });
});
