import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf, formatDuration, formatPrice } from '../../src/common/format.ts';
import { metaOf } from '../../src/options/option.ts';
import { OPTIONS, type OptionKey } from '../../src/options/options.ts';
import { parseDuration, parseRate } from '../../src/options/types.ts';
import { read, refusalOf } from './read-settings.ts';

describe('a good value', () => {
  it.each<[OptionKey, unknown, unknown]>([
    ['out', 'a b.csv', 'a b.csv'],
    ['out', '-', '-'],
    ['baseUrl', 'https://h.example/api', 'https://h.example/api'],
    ['auth', 'header:X-Key', { kind: 'header', name: 'X-Key' }],
    ['apiKeyFile', '/run/key', '/run/key'],
    [
      'params',
      ['a=1', 'b=x=y', 'c='],
      [
        ['a', '1'],
        ['b', 'x=y'],
        ['c', ''],
      ],
    ],
    ['params', 'a=1', [['a', '1']]],
    ['params', ['note=two\nlines'], [['note', 'two\nlines']]],
    ['params', [], []],
    ['headers', { 'x-tenant': '7' }, [['x-tenant', '7']]],
    ['domainColumn', 'Web site', 'Web site'],
    ['registrable', true, true],
    ['prefix', '', ''],
    ['prefix', 'b.', 'b.'],
    ['concurrency', ' 64 ', 64],
    ['concurrency', 10_000, 10_000],
    ['rate', '300/min', { count: 300, perMs: 60_000 }],
    ['retries', '0', 0],
    ['retries', 100, 100],
    ['timeout', '1ms', 1],
    ['timeout', '24d', 2_073_600_000],
    ['timeout', 500, 500],
    ['timeout', '16.1s', 16_100],
    ['maxCalls', '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['fresh', 86_400_000, 86_400_000],
    ['freshNotFound', '12h', 43_200_000],
    ['maxFailed', '10%', 0.1],
    ['maxFailed', '0', 0],
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

/** A setting, values for it, and what is said of each of them. */
type Refused = readonly [OptionKey, readonly unknown[], string];

const A_DURATION = 'expected a duration such as 500ms, 60s, 10min, 12h or 30d';

/** Values and how their refusal begins; each is repeated at its end. */
const REFUSED: readonly Refused[] = [
  ['out', [''], 'Cannot use --out: expected a text'],
  ['baseUrl', ['nope'], 'Cannot use --base-url: expected a URL such as https://api.example.com'],
  ['fill', ['Industry'], 'Cannot use --fill: expected COLUMN=EXPR such as Industry=industry'],
  ['yes', ['true', 'false'], 'Cannot use --yes: expected true or false without quotes'],
  ['store', [''], 'Cannot use --store: expected a text'],
  ['registrable', ['yes'], 'Cannot use --registrable: expected true or false'],
  [
    'concurrency',
    ['0', '10001', '1.5', '-3', '1e2', '', Number.NaN, true],
    'Cannot use --concurrency: expected a whole number, from 1 to 10000',
  ],
  [
    'maxCalls',
    ['0', '9007199254740993'],
    'Cannot use --max-calls: expected a whole number, 1 or more',
  ],
  [
    'rate',
    ['0/s'],
    'Cannot use --rate: expected a rate such as 20/s, 300/min or 5000/day, or auto',
  ],
  [
    'timeout',
    ['0', '25d', Number.NaN],
    'Cannot use --timeout: expected a duration from 1ms to 24d such as 60s',
  ],
  ['maxWait', ['30d', -1], 'Cannot use --max-wait: expected a duration up to 24d such as 60s'],
  [
    'workers',
    ['4', 2],
    'Cannot use --workers: expected 0 or 1 (more workers are processes of their own: brandfill worker)',
  ],
  ['fresh', ['long'], `Cannot use --fresh: ${A_DURATION}`],
  ['fresh', [-1], 'Cannot use --fresh: expected a duration such as 30d'],
  [
    'maxFailed',
    ['101%', '2', '-1', 'much'],
    'Cannot use --max-failed: expected a share from 0% to 100%, such as 20%',
  ],
  [
    'fields',
    ['name'],
    'Cannot use --fields: expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city',
  ],
];

/** Values and their whole refusal, which does not repeat what may be a credential, or is no text. */
const REFUSED_UNREPEATED: readonly Refused[] = [
  ['out', [5], 'Cannot use --out: expected a text, received a number.'],
  ['rate', [20], 'Cannot use --rate: expected a text, received a number.'],
  [
    'baseUrl',
    [new URL('https://h.example')],
    'Cannot use --base-url: expected a text, received an object (URL).',
  ],
  ['params', [['a'], ['=b'], [5]], 'Cannot use --param: expected NAME=VALUE.'],
  [
    'params',
    [5],
    'Cannot use --param: expected NAME=VALUE, or an object of texts by name, received a number.',
  ],
  [
    'headers',
    [['x a=1'], [' =1']],
    'Cannot use --header: expected NAME=VALUE, NAME being the name of an HTTP header.',
  ],
  [
    'headers',
    [['x-a=1\r\nx-b: 2'], ['x-a=食']],
    "Cannot use --header: the value of 'x-a' has characters that no header can carry.",
  ],
  [
    'headers',
    [['Accept-Encoding=br']],
    "Cannot use --header: 'Accept-Encoding' is set by Brandfill itself; leave it out.",
  ],
];

describe('a bad value', () => {
  it.each(withEachValue(REFUSED))(
    'of %s is refused with a sentence: %j',
    (key, value, expected) => {
      expect(refusalOf({ [key]: value })).toBe(`${expected}, received '${String(value)}'.`);
    },
  );

  it.each(withEachValue(REFUSED_UNREPEATED))(
    'of %s is refused with a sentence: %j',
    (key, value, expected) => {
      expect(refusalOf({ [key]: value })).toBe(expected);
    },
  );
});

function withEachValue(table: readonly Refused[]): [OptionKey, unknown, string][] {
  return table.flatMap(([key, values, expected]) =>
    values.map((value): [OptionKey, unknown, string] => [key, value, expected]),
  );
}

describe('a bad value', () => {
  it.each(['Authorization', 'authorization', 'Proxy-Authorization', 'Cookie'])(
    'of header is a credential in %s',
    (name) => {
      expect(refusalOf({ headers: [`${name}=s3cret`] })).toBe(
        `Cannot use --header: '${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file.`,
      );
    },
  );

  it.each<[OptionKey, string]>([
    ['auth', 's3cret'],
    ['auth', 'basic:user:s3cret'],
    ['auth', 'query:key=s3cret'],
    ['headers', 's3cret'],
    ['headers', 'Authorization: Bearer s3cret'],
    ['headers', 'Authorization=Bearer s3cret'],
    ['headers', 'x-api-key: s3cret=\n'],
    ['params', 's3cret'],
  ])('of %s is never repeated when it may be a credential: %j', (key, value) => {
    const isRepeatable = metaOf(OPTIONS[key]).isRepeatable ?? false;
    const message = refusalOf({ [key]: isRepeatable ? [value] : value });
    expect(message).toMatch(/^Cannot use --/);
    expect(message).not.toContain('s3cret');
    const { env } = metaOf(OPTIONS[key]);
    if (env !== undefined) expect(refusalOf({}, { [env]: value })).not.toContain('s3cret');
  });
});

describe('parseDuration', () => {
  it.each([
    ['16.1s', 16_100],
    ['0.4ms', 0],
    ['10m', 600_000],
    ['10min', 600_000],
    ['12h', 43_200_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['0.0', 0],
    [' 5 s ', 5_000],
  ])('reads %j', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['60', '1.5', '-1s', '1e3s', '1s2ms', '1,5s', '.5s', '5.s', '1constructor'])(
    'refuses %j',
    (text) => {
      expect(() => parseDuration(text)).toThrow(
        expect.objectContaining({
          code: 'INVALID_SETTING',
          message: `expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '${text}'`,
        }),
      );
    },
  );
});

describe('formatDuration', () => {
  it.each([
    [0.4, '0 ms'],
    [850.3, '850 ms'],
    [1_000, '1 s'],
    [9_940, '9.9 s'],
    [9_999, '10 s'],
    [12_400, '12 s'],
    [250_000, '4 min 10 s'],
    [3_600_000, '1 h'],
    [11_100_000, '3 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [2_592_000_000, '30 d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('never shows a thousand milliseconds or sixty seconds', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (ms) => {
        expect(formatDuration(ms)).toMatch(/^\d+(\.\d)? (ms|s|min|h|d)( \d+ (s|min|h))?$/);
        expect(formatDuration(ms)).not.toMatch(/\b(1000 ms|60 s|60 min|24 h)/);
      }),
      { examples: [[999.6], [59_999], [3_599_999]] },
    );
  });
});

describe('parseRate', () => {
  it.each([
    ['20/s', { count: 20, perMs: 1_000 }],
    ['20/second', { count: 20, perMs: 1_000 }],
    ['300/minute', { count: 300, perMs: 60_000 }],
    ['5000/day', { count: 5_000, perMs: 86_400_000 }],
    ['0.5/s', { count: 0.5, perMs: 1_000 }],
    [' 20 / s ', { count: 20, perMs: 1_000 }],
    [' auto ', 'auto'],
  ])('reads %j', (text, rate) => {
    expect(parseRate(text)).toEqual(rate);
  });

  it.each(['0/s', '-1/s', '1e3/s', '20/year', '20 per s', '20/s/s'])('refuses %j', (text) => {
    expect(() => parseRate(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message: `expected a rate such as 20/s, 300/min or 5000/day, or auto, received '${text}'`,
      }),
    );
  });
});

it.each([
  ['1000/day', { count: 1_000, unit: 'day' }],
  ['100/hour', { count: 100, unit: 'hour' }],
  ['60/min', { count: 60, unit: 'minute' }],
  ['50000/month', { count: 50_000, unit: 'month' }],
])('calls per time are read: %s', (text, calls) => {
  expect(read({ maxCallsPer: text }).maxCallsPer).toEqual(calls);
});

it.each(['1000', '0/day', '-1/day', '1000/m', '1000/s', 'day', '99999999999999999999/day'])(
  'what is no number of calls per time is refused: %s',
  (text) => {
    expect(() => read({ maxCallsPer: text }).maxCallsPer).toThrow(
      `expected calls per min, hour, day or month such as 1000/day, received '${text}'`,
    );
  },
);

describe('a price', () => {
  it.each([
    [0.01, 0.01],
    [' 12 ', 12],
    [0.000_001, 0.000_001],
    ['1000000', 1_000_000],
  ])('is a decimal number: %j', (given, price) => {
    expect(read({ price: given }).price).toBe(price);
    expect(read({ price: given }).price).toBe(price);
  });

  it.each(['0,01', '0.01 EUR', '.5', '-1', '0.0000001', '', true])(
    'is refused, saying what was expected: %j',
    (given) => {
      expect(refusalOf({ price: given })).toMatch(/a number with a point.*such as 0\.01, received/);
    },
  );
});

describe('what calls cost', () => {
  it.each([
    [3, 0.1, 0.3],
    [1_000, 0.0125, 12.5],
    [3, 1.1, 3.3],
    [123_456_789, 0.000_001, 123.456_789],
    [9_007_199_254_740_991, 1_000_000, 9.007_199_254_740_991e21],
  ])('has no digits that are not in it: %d at %d', (calls, price, cost) => {
    expect(costOf(calls, price)).toBe(cost);
  });

  it.each([
    [0.3, '0.30'],
    [12.5, '12.50'],
    [0, '0.00'],
    [0.000_125, '0.000125'],
    [1_234_567.891, '1,234,567.891'],
  ])('is written with two decimals or more: %d', (amount, text) => {
    expect(formatPrice(amount)).toBe(text);
  });
});

it.each([
  ['8080', { host: '127.0.0.1', port: 8080 }],
  [' 0 ', { host: '127.0.0.1', port: 0 }],
  ['localhost:8080', { host: 'localhost', port: 8080 }],
  ['0.0.0.0:9464', { host: '0.0.0.0', port: 9464 }],
  ['[::1]:9464', { host: '::1', port: 9464 }],
])('reads %j', (value, address) => {
  expect(read({ listen: value }).listen).toEqual(address);
});

it.each(['', ':8080', '65536', '-1', '80.5', 'localhost', 'http://localhost:8080', '::1:80', true])(
  'refuses %j and says what was expected',
  (value) => {
    expect(() => read({ listen: value }).listen).toThrow(
      `expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080, received '${value}'`,
    );
  },
);
