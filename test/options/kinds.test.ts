import { expect, it } from 'vitest';
import { parseDuration } from '../../src/options/kinds.ts';
import { metaOf, readOptions } from '../../src/options/option.ts';
import { inFlags, OPTIONS, type OptionKey, type Settings } from '../../src/options/options.ts';

it.each<[OptionKey, unknown, unknown]>([
  ['out', 'a b.csv', 'a b.csv'],
  ['baseUrl', 'https://h.example/api', 'https://h.example/api'],
  ['auth', 'header:X-Key', { kind: 'header', name: 'X-Key' }],
  ['params', ['a=1', 'b=x=y', 'c='], Object.entries({ a: '1', b: 'x=y', c: '' })],
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
  ['maxCallsPer', '9/day Asia/Tokyo', { count: 9, unit: 'day', timeZone: 'Asia/Tokyo' }],
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

/** Values of options, by what is said of them. */
type Refusals = Readonly<Record<string, Partial<Record<OptionKey, readonly unknown[]>>>>;

const casesOf = (refusals: Refusals) =>
  Object.entries(refusals).flatMap(([reason, options]) =>
    Object.entries(options).flatMap(([key, values]) =>
      values.map((value) => [key as OptionKey, value, reason] as const),
    ),
  );

const REFUSED: Refusals = {
  'expected a text': { out: [''] },
  'expected a URL such as https://api.example.com': { baseUrl: ['no.pe'] },
  'expected COLUMN=VALUE,…': { where: ['=x', 'x'] },
  'expected true or false without quotes': { yes: ['true', 'false'] },
  'expected true or false': { registrable: ['yes'] },
  'expected guard or keep': { formulas: ['no'] },
  'expected a file whose name ends in .html or .json': {
    report: ['run.pdf', '.html', 'a.html.gz'],
  },
  'expected a whole number, from 1 to 10000': {
    concurrency: ['0', '10001', '1.5', '-3', '1e2', '', Number.NaN],
  },
  'expected a whole number, 1 or more': { maxCalls: ['0', '9007199254740993'] },
  'expected a whole number, from 0 to 1': { workers: ['4', 2] },
  'expected a rate such as 20/s, 300/min or 5000/day, or auto': {
    rate: ['0/s', '-1/s', '1e3/s', '20/year', '20 per s', '20/s/s', '1000001/s'],
  },
  'expected calls per min, hour, day or month such as 1000/day or 1000/day Europe/Berlin': {
    maxCallsPer: [
      '1000',
      '0/day',
      '9/m',
      '9/s',
      '99999999999999999999/day',
      '9/day!',
      '9/day Mars',
    ],
  },
  'expected a duration from 1ms to 24d such as 60s': { timeout: ['0', '25d', Number.NaN] },
  'expected a duration up to 24d such as 60s': { maxWait: ['30d', -1] },
  'expected a duration such as 500ms, 60s, 10min, 12h or 30d': {
    fresh: ['60', '-1s', '1s2ms', '1,5s', '.5s', '1constructor', '0x'],
  },
  'expected a duration such as 30d': { fresh: [-1] },
  'expected a share from 0% to 100%, such as 20%': {
    maxFailed: ['101%', '2', '-1', 'much', '1%x'],
  },
  'expected what a call costs as a number with a point and at most six decimals, such as 0.01 or "0.01 EUR"':
    { price: ['0,01', 'EUR 0.01', '0.01 ¢¢', '.5', '0.0000001', '', '1000000001'] },
  'expected a number of units, such as 500': { maxCost: ['0', '5 EUR'] },
  'expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city': { fields: ['name'] },
  'expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080':
    { listen: ['', ':8080', '65536', '80.5', 'localhost', 'http://a:80', '::1:80'] },
};

it.each(casesOf(REFUSED))('%s refuses %j', (key, value, reason) => {
  const flag =
    metaOf(OPTIONS[key]).flag ?? /^Cannot use (--[a-z-]+)/.exec(refusalOf({ [key]: value }))?.[1];
  const said = `Cannot use ${flag}: ${reason}, received '${String(value)}'.`;
  expect(refusalOf({ [key]: value })).toBe(said);
});

const A_PAIR = 'expected NAME=VALUE, or an object of texts by name, received';
const [NAMES, AUTHS] = [
  ['Authorization', 'proxy-authorization', 'Cookie'],
  [
    's3cret',
    'bearer s3cret',
    'basic:user:s3cret',
    'query:key=s3cret',
    'header:s3 cret',
    'header:Host',
  ],
];
/** What may be a credential in the wrong place, or is no text, is not repeated. */
const HIDDEN: Refusals = {
  '--out: expected a text, received a number.': { out: [5] },
  '--rate: expected a text, received a number.': { rate: [20] },
  '--base-url: expected a text, received an object (URL).': { baseUrl: [new URL('https://h')] },
  '--failures: expected a file: standard output is for the rows.': { failures: ['-'] },
  '--param: expected NAME=VALUE.': { params: [['a'], ['=b=c']] },
  [`--param: ${A_PAIR} a list.`]: { params: [[5]] },
  [`--param: ${A_PAIR} a number.`]: { params: [5] },
  '--header: expected NAME=VALUE, NAME being the name of an HTTP header.': { headers: [['x a=1']] },
  '--header: expected NAME=VALUE.': { headers: [['Authorization: Bearer s3cret']] },
  "--header: the value of 'x-a' has characters that no header can carry.": {
    headers: [['x-a=1\r\nx-b: 2']],
  },
  "--header: 'Accept-Encoding' is set by Brandfill itself; leave it out.": {
    headers: [['Accept-Encoding=br']],
  },
  ...Object.fromEntries(
    NAMES.map((name) => [
      `--header: '${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file.`,
      { headers: [[`${name}=s3cret`]] },
    ]),
  ),
  '--auth: expected none, bearer, basic, header:NAME or query:NAME; the credential itself is no part of it.':
    { auth: AUTHS },
};

it.each(casesOf(HIDDEN))('%s refuses %j without repeating it', (key, value, message) => {
  expect(refusalOf({ [key]: value })).toBe(`Cannot use ${message}`);
});

it.each([
  ['fields', 'n=name, c=location.city'],
  ['fields', { n: 'name', c: 'location.city' }],
])('%s as %j find values in answers', (key, fields) => {
  const answer = { name: 'Acme', location: { city: 'Bern' } };
  const found = read({ [key]: fields }).fields?.map(({ name, valueOf }) => [name, valueOf(answer)]);
  expect(found).toEqual(Object.entries({ n: 'Acme', c: 'Bern' }));
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

type Given = Partial<Record<OptionKey, unknown>>;

/** Reads settings as `enrich` does. */
function read(given: Given, env: Record<string, string> = {}): Settings {
  return readOptions('enrich', OPTIONS, { given, env });
}

/** The message of the error that a value leads to. */
function refusalOf(given: Given, env?: Record<string, string>): string {
  try {
    read(given, env);
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return inFlags((error as Error).message);
  }
  return 'nothing was refused';
}
