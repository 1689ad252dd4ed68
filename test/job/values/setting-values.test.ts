import { describe, expect, it } from 'vitest';
import type { SettingKey } from '../../../src/job/settings.ts';
import { read, refusalOf } from '../read-settings.ts';

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
    ['lostAfter', '16.1s', 16_100],
    ['lostAfter', 1_500.5, 1_501],
    ['maxCalls', '1', 1],
    ['maxCalls', '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['fresh', '0', 0],
    ['fresh', 86_400_000, 86_400_000],
    ['freshNotFound', '12h', 43_200_000],
    ['freshRejected', '3d', 259_200_000],
    ['freshJitter', '10%', 0.1],
    ['freshJitter', '0', 0],
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
type Refused = readonly [SettingKey, readonly unknown[], string];

const A_DURATION = 'expected a duration such as 500ms, 60s, 10min, 12h or 30d';

/** Values and how their refusal begins; each is repeated at its end. */
const REFUSED: readonly Refused[] = [
  ['out', [''], 'Cannot use --out: expected a text'],
  ['failures', [''], 'Cannot use --failures: expected a text'],
  ['baseUrl', [''], 'Cannot use --base-url: expected a text'],
  ['baseUrl', ['nope'], 'Cannot use --base-url: expected a URL such as https://api.example.com'],
  ['fill', ['Industry'], 'Cannot use --fill: expected COLUMN=EXPR such as Industry=industry'],
  ['yes', ['true', 'false'], 'Cannot use --yes: expected true or false without quotes'],
  ['apiKeyFile', [''], 'Cannot use --api-key-file: expected a text'],
  ['domainColumn', [''], 'Cannot use --domain-column: expected a text'],
  ['store', [''], 'Cannot use --store: expected a text'],
  ['registrable', ['yes'], 'Cannot use --registrable: expected true or false'],
  [
    'concurrency',
    ['0', '10001', '1.5', '-3', '1e2', '', Number.NaN, true],
    'Cannot use --concurrency: expected a whole number, from 1 to 10000',
  ],
  ['retries', ['101'], 'Cannot use --retries: expected a whole number, from 0 to 100'],
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
  ['timeout', ['60'], `Cannot use --timeout: ${A_DURATION}`],
  [
    'timeout',
    ['0', '25d', Number.NaN],
    'Cannot use --timeout: expected a duration from 1ms to 24d such as 60s',
  ],
  ['maxWait', ['30d', -1], 'Cannot use --max-wait: expected a duration up to 24d such as 60s'],
  [
    'lostAfter',
    ['100ms', '2h'],
    'Cannot use --lost-after: expected a duration from 1s to 1h such as 60s',
  ],
  [
    'workers',
    ['4', 2],
    'Cannot use --workers: expected 0 or 1 (more workers are processes of their own: brandfill worker)',
  ],
  ['queue', [''], 'Cannot use --queue: expected a text'],
  ['fresh', ['long'], `Cannot use --fresh: ${A_DURATION}`],
  ['fresh', [-1], 'Cannot use --fresh: expected a duration such as 30d'],
  ['freshNotFound', ['1y'], `Cannot use --fresh-not-found: ${A_DURATION}`],
  ['freshRejected', ['1y'], `Cannot use --fresh-rejected: ${A_DURATION}`],
  [
    'freshJitter',
    ['101%', '2', '-1', 'much'],
    'Cannot use --fresh-jitter: expected a share from 0% to 100%, such as 20%',
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
  ['prefix', [5], 'Cannot use --prefix: expected a text, received a number.'],
  ['rate', [20], 'Cannot use --rate: expected a text, received a number.'],
  ['fields', [['name']], 'Cannot use --fields: expected a text, received a list.'],
  [
    'baseUrl',
    [new URL('https://h.example')],
    'Cannot use --base-url: expected a text, received an object (URL).',
  ],
  [
    'concurrency',
    [['8']],
    'Cannot use --concurrency: expected a whole number, from 1 to 10000, received a list.',
  ],
  ['param', [['a'], ['=b'], [5]], 'Cannot use --param: expected NAME=VALUE.'],
  [
    'param',
    [5],
    'Cannot use --param: expected NAME=VALUE, or an object of texts by name, received a number.',
  ],
  ['header', [['x-a: 1']], 'Cannot use --header: expected NAME=VALUE.'],
  [
    'header',
    [['x a=1'], [' =1']],
    'Cannot use --header: expected NAME=VALUE, NAME being the name of an HTTP header.',
  ],
  [
    'header',
    [['x-a=1\r\nx-b: 2'], ['x-a=食']],
    "Cannot use --header: the value of 'x-a' has characters that no header can carry.",
  ],
  ['header', [['Host=h']], "Cannot use --header: 'Host' is set by Brandfill itself; leave it out."],
  [
    'header',
    [['Accept-Encoding=br']],
    "Cannot use --header: 'Accept-Encoding' is set by Brandfill itself; leave it out.",
  ],
  [
    'header',
    [{ connection: 'close' }],
    "Cannot use --header: 'connection' is set by Brandfill itself; leave it out.",
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

function withEachValue(table: readonly Refused[]): [SettingKey, unknown, string][] {
  return table.flatMap(([key, values, expected]) =>
    values.map((value): [SettingKey, unknown, string] => [key, value, expected]),
  );
}
