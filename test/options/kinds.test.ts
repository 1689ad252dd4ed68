import { expect, it } from 'vitest';
import { parseDuration } from '../../src/options/kinds.ts';
import { metaOf } from '../../src/options/option.ts';
import { OPTIONS, type OptionKey } from '../../src/options/options.ts';
import { read, refusalOf } from './read-settings.ts';

it.each<[OptionKey, unknown, unknown]>([
  ['out', 'a b.csv', 'a b.csv'],
  ['baseUrl', 'https://h.example/api', 'https://h.example/api'],
  ['auth', 'header:X-Key', { kind: 'header', name: 'X-Key' }],
  [
    'params',
    ['a=1', 'b=x=y', 'c='],
    [
      ['a', '1'],
      ['b', 'x=y'],
      ['c', ''],
    ],
  ],
  ['params', 'note=two\nlines', [['note', 'two\nlines']]],
  ['params', ' a =1', [['a', '1']]],
  ...['x-authorization', 'authorization-x', 'x-cookie', 'cookies'].map(
    (name): [OptionKey, unknown, unknown] => ['headers', `${name}=1`, [[name, '1']]],
  ),
  ['headers', { 'x-tenant': 7 }, [['x-tenant', '7']]],
  ['where', 'st=a, b', { column: 'st', values: ['a', 'b'] }],
  ['where', 's=a', { column: 's', values: ['a'] }],
  ['prefix', '', ''],
  ['concurrency', ' 64 ', 64],
  ['concurrency', 10_000, 10_000],
  ['maxCalls', '9007199254740991', Number.MAX_SAFE_INTEGER],
  ['retries', '0', 0],
  ['rate', ' auto ', 'auto'],
  ['rate', '0.25/s', { count: 0.25, perMs: 1_000 }],
  ['rate', '1000000/s', { count: 1_000_000, perMs: 1_000 }],
  ['rate', ' 300 / minute ', { count: 300, perMs: 60_000 }],
  ['rate', '5000/day', { count: 5_000, perMs: 86_400_000 }],
  ['maxCallsPer', '1000/day', { count: 1_000, unit: 'day' }],
  ['maxCallsPer', ' 60 / min ', { count: 60, unit: 'minute' }],
  ['maxCallsPer', '50000/month', { count: 50_000, unit: 'month' }],
  [
    'maxCallsPer',
    '9/day America/Los_Angeles',
    { count: 9, unit: 'day', timeZone: 'America/Los_Angeles' },
  ],
  ['timeout', '1ms', 1],
  ['timeout', 500, 500],
  ['timeout', '16.1s', 16_100],
  ['timeout', '1.25s', 1_250],
  ['timeout', 2 ** 31 - 1, 2 ** 31 - 1],
  ['fresh', '0', 0],
  ['maxFailed', ' 12.25 % ', 0.1225],
  ['maxFailed', '100%', 1],
  ['maxFailed', 0, 0],
  ['price', 0.000_001, { amount: 0.000_001 }],
  ['price', ' 12 ', { amount: 12 }],
  ['price', 1e9, { amount: 1e9 }],
  ['price', '0.01 EUR', { amount: 0.01, currency: 'EUR' }],
  ['price', '3 €', { amount: 3, currency: '€' }],
  ['maxCost', 0.000_001, 0.000_001],
  ['encoding', 'latin1', 'Windows-1252'],
  ['report', ['a.html', 'b.JSON', 'c.htm'], ['a.html', 'b.JSON', 'c.htm']],
  ['listen', ' 0 ', { host: '127.0.0.1', port: 0 }],
  ['listen', 'localhost:65535', { host: 'localhost', port: 65_535 }],
  ['listen', '[::1]:9464', { host: '::1', port: 9464 }],
])('%s reads %j', (key, value, expected) => {
  expect(read({ [key]: value })[key]).toEqual(expected);
});

const A_DURATION = 'expected a duration such as 500ms, 60s, 10min, 12h or 30d';
const A_RATE = 'expected a rate such as 20/s, 300/min or 5000/day, or auto';
const AN_ADDRESS =
  'expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080';

/** What is refused, and the reason, with the value at its end. */
const REFUSED: readonly (readonly [OptionKey, readonly unknown[], string])[] = [
  ['out', [''], 'expected a text'],
  ['baseUrl', ['no.pe'], 'expected a URL such as https://api.example.com'],
  ['where', ['=x', 'x'], 'expected COLUMN=VALUE,…'],
  ['yes', ['true', 'false'], 'expected true or false without quotes'],
  ['registrable', ['yes'], 'expected true or false'],
  ['formulas', ['no'], 'expected guard or keep'],
  [
    'report',
    ['run.pdf', '.html', 'a.html.gz'],
    'expected a file whose name ends in .html or .json',
  ],
  [
    'concurrency',
    ['0', '10001', '1.5', '-3', '1e2', '', Number.NaN],
    'expected a whole number, from 1 to 10000',
  ],
  ['maxCalls', ['0', '9007199254740993'], 'expected a whole number, 1 or more'],
  ['rate', ['0/s', '-1/s', '1e3/s', '20/year', '20 per s', '20/s/s', '1000001/s'], A_RATE],
  [
    'maxCallsPer',
    [
      '1000',
      '0/day',
      '1000/m',
      '1000/s',
      '99999999999999999999/day',
      'x9/day',
      '9/day!',
      '9/day Mars',
    ],
    'expected calls per min, hour, day or month such as 1000/day or 1000/day Europe/Berlin',
  ],
  ['timeout', ['0', '25d', Number.NaN], 'expected a duration from 1ms to 24d such as 60s'],
  ['maxWait', ['30d', -1], 'expected a duration up to 24d such as 60s'],
  ['fresh', ['60', '-1s', '1s2ms', '1,5s', '.5s', '1constructor', '0x'], A_DURATION],
  ['fresh', [-1], 'expected a duration such as 30d'],
  ['workers', ['4', 2], 'expected a whole number, from 0 to 1'],
  [
    'maxFailed',
    ['101%', '2', '-1', 'much', '1%x'],
    'expected a share from 0% to 100%, such as 20%',
  ],
  [
    'price',
    ['0,01', 'EUR 0.01', '0.01 ¢¢', '.5', '0.0000001', '', '1000000001'],
    'expected what a call costs as a number with a point and at most six decimals, such as 0.01 or "0.01 EUR"',
  ],
  ['maxCost', ['0', '5 EUR'], 'expected a number of units, such as 500'],
  ['fields', ['name'], 'expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city'],
  ['listen', ['', ':8080', '65536', '80.5', 'localhost', 'http://a:80', '::1:80'], AN_ADDRESS],
];

it.each(
  REFUSED.flatMap(([key, values, reason]) => values.map((value) => [key, value, reason] as const)),
)('%s refuses %j', (key, value, reason) => {
  const flag =
    metaOf(OPTIONS[key]).flag ?? /^Cannot use (--[a-z-]+)/.exec(refusalOf({ [key]: value }))?.[1];
  expect(refusalOf({ [key]: value })).toBe(
    `Cannot use ${flag}: ${reason}, received '${String(value)}'.`,
  );
});

/** What may be a credential in the wrong place, or is no text, is not repeated. */
it.each<[OptionKey, unknown, string]>([
  ['out', 5, '--out: expected a text, received a number.'],
  ['rate', 20, '--rate: expected a text, received a number.'],
  [
    'baseUrl',
    new URL('https://h.example'),
    '--base-url: expected a text, received an object (URL).',
  ],
  ['failures', '-', '--failures: expected a file: standard output is for the rows.'],
  ['params', ['a'], '--param: expected NAME=VALUE.'],
  ['params', ['=b=c'], '--param: expected NAME=VALUE.'],
  ['params', [5], '--param: expected NAME=VALUE, or an object of texts by name, received a list.'],
  ['params', 5, '--param: expected NAME=VALUE, or an object of texts by name, received a number.'],
  ['headers', ['x a=1'], '--header: expected NAME=VALUE, NAME being the name of an HTTP header.'],
  ['headers', ['Authorization: Bearer s3cret'], '--header: expected NAME=VALUE.'],
  [
    'headers',
    ['x-a=1\r\nx-b: 2'],
    "--header: the value of 'x-a' has characters that no header can carry.",
  ],
  [
    'headers',
    ['Accept-Encoding=br'],
    "--header: 'Accept-Encoding' is set by Brandfill itself; leave it out.",
  ],
  ...['Authorization', 'proxy-authorization', 'Cookie'].map(
    (name): [OptionKey, unknown, string] => [
      'headers',
      [`${name}=s3cret`],
      `--header: '${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file.`,
    ],
  ),
  ...[
    's3cret',
    'bearer s3cret',
    'basic:user:s3cret',
    'query:key=s3cret',
    'header:s3 cret',
    'header:Host',
  ].map((auth): [OptionKey, unknown, string] => [
    'auth',
    auth,
    '--auth: expected none, bearer, basic, header:NAME or query:NAME; the credential itself goes into BRANDFILL_API_KEY or --api-key-file.',
  ]),
])('%s refuses %j without repeating it', (key, value, message) => {
  expect(refusalOf({ [key]: value })).toBe(`Cannot use ${message}`);
});

it.each([
  ['fields', 'n=name, c=location.city'],
  ['fields', { n: 'name', c: 'location.city' }],
])('%s as %j find values in answers', (key, fields) => {
  const answer = { name: 'Acme', location: { city: 'Bern' } };
  const found = read({ [key]: fields }).fields?.map(({ name, valueOf }) => [name, valueOf(answer)]);
  expect(found).toEqual([
    ['n', 'Acme'],
    ['c', 'Bern'],
  ]);
});

it.each([
  ['0.4ms', 0],
  ['10m', 600_000],
  ['12h', 43_200_000],
  ['0.0', 0],
  [' 5 s ', 5_000],
])('a duration of %j is read', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it('what is not given comes from the environment, and a message says which of the two is wrong', () => {
  const env = { BRANDFILL_BASE_URL: 'https://env.example', BRANDFILL_AUTH: 'bearer' };
  expect(read({}, env)).toMatchObject({
    baseUrl: 'https://env.example',
    auth: { kind: 'bearer' },
    store: '.brandfill',
  });
  expect(read({ baseUrl: 'https://a.example' }, env).baseUrl).toBe('https://a.example');
  expect(refusalOf({ auth: 'x' }, env)).toMatch(/^Cannot use --auth: /);
  expect(refusalOf({}, { BRANDFILL_AUTH: 's3cret' })).toMatch(
    /^Cannot use BRANDFILL_AUTH: (?!.*s3cret)/,
  );
});
