import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiProfile } from '../../src/brand/api-profile.ts';
import type { ResponseHeaders } from '../../src/brand/transport.ts';
import { playProfile } from '../../src/profile/play.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';

const NOW = 1_800_000_000_000;
const BASE = 'title: Acme\nrequest: { baseUrl: "http://127.0.0.1:9" }\n';

const apiOf = (lines: string): ApiProfile => parseProfile('acme.yaml', BASE + lines).api;
const oneRule = (rule: object): ApiProfile => apiOf(`rules: ${JSON.stringify([rule])}\n`);

interface Answer {
  readonly status?: number;
  readonly headers?: ResponseHeaders;
  readonly body?: unknown;
}
const factsOf = ({ status = 200, headers = {}, body }: Answer) => ({
  httpStatus: status,
  headers,
  json: () => body,
  nowMs: NOW,
});

describe('a rule', () => {
  it.each<[when: object, answer: Answer, fits: boolean]>([
    [{}, {}, true],
    [{ status: 404 }, { status: 404 }, true],
    [{ status: [400, '500-599'] }, { status: 599 }, true],
    [{ status: [400, '500-599'] }, { status: 499 }, false],
    [{ header: { name: 'X-A' } }, { headers: { 'x-a': '' } }, true],
    [{ header: { name: 'X-A' } }, {}, false],
    [{ header: { name: 'x-a', pattern: '^B$' } }, { headers: { 'x-a': 'b' } }, true],
    [{ header: { name: 'x-a', pattern: '^B$' } }, { headers: { 'x-a': 'bb' } }, false],
    [{ body: 'a' }, { body: { a: 0 } }, true],
    [{ body: 'a' }, { body: { a: [] } }, false],
    [{ body: 'a' }, { body: { a: false } }, false],
    [{ body: 'length(a) > `1`' }, { body: { a: 5 } }, false],
    [{ body: 'a' }, {}, false],
    [{ status: 404, body: 'a' }, { body: { a: 1 } }, false],
  ])('%j asked of %j fits: %s', (when, answer, fits) => {
    const meaning = oneRule({ when, means: 'quota' }).meaningOf(factsOf(answer));
    expect(meaning?.means).toBe(fits ? 'quota' : undefined);
    if (meaning) expect(meaning.isSure).toBe('header' in when || 'body' in when);
  });

  it.each<[wait: unknown, answer: Answer, waitMs: number | undefined]>([
    ['90s', {}, 90_000],
    [{ header: 'X-In' }, { headers: { 'x-in': '3' } }, 3_000],
    [{ header: 'x-in' }, { headers: { 'x-in': 'soon' } }, undefined],
    [{ body: 'a.in' }, { body: { a: { in: 2 } } }, 2_000],
    [{ body: 'a.in' }, { body: { a: { in: NOW / 1_000 + 60 } } }, 60_000],
    [{ body: 'a.in' }, { body: { a: { in: {} } } }, undefined],
    [{ body: 'a.in' }, {}, undefined],
  ])('with the wait %j and the answer %j waits %s ms', (wait, answer, waitMs) => {
    const api = oneRule({ when: {}, means: 'pending', wait });
    expect(api.meaningOf(factsOf(answer))?.waitMs).toBe(waitMs);
  });

  it.each([
    [{ e: 'no such\n thing' }, 'no such thing'],
    [{ e: { a: 1 } }, '{"a":1}'],
    [{ e: '' }, undefined],
    [{}, undefined],
  ])('finds what it says in %j: %s', (body, reason) => {
    const api = oneRule({ when: {}, means: 'rejected', reason: 'e' });
    expect(api.meaningOf(factsOf({ body }))?.said).toBe(reason);
  });

  it('counts by its place, the first that fits, and never throws, whatever comes', () => {
    const expression = fc.constantFrom('e', 'e.c', "contains(e, 'a')", 'length(a) > `1`', '@[0].b');
    const rule = fc.record({
      when: fc.record(
        { status: fc.constantFrom<unknown>(404, '400-499', [200, '500-599']), body: expression },
        { requiredKeys: [] },
      ),
      means: fc.constantFrom('found', 'pending', 'quota'),
      wait: fc.constantFrom<unknown>('5s', { header: 'x-a' }, { body: 'e.c' }),
      reason: expression,
    });
    const answer = fc.record({
      status: fc.constantFrom(200, 404, 503),
      headers: fc.constantFrom<ResponseHeaders>({}, { 'x-a': ['1', 'two'] }),
      body: fc.oneof(fc.jsonValue(), fc.record({ e: fc.jsonValue(), a: fc.jsonValue() })),
    });
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), answer, (rules, given) => {
        const together = apiOf(`rules: ${JSON.stringify(rules)}`).meaningOf(factsOf(given));
        const alone = rules.map((one) => oneRule(one).meaningOf(factsOf(given)));
        const first = alone.findIndex((meaning) => meaning !== undefined);
        expect(together).toEqual(first === -1 ? undefined : { ...alone[first], rule: first + 1 });
      }),
    );
  });
});

const windows = `limits:
  windows:
    - { per: 1min, limit: X-Limit, remaining: X-Left, reset: X-Reset }
    - { per: 1h, limit: hour, remaining: hour-left, reset: hour-reset }
    - { per: 24h, limit: day, remaining: day-left }
`;
it.each<[what: string, headers: ResponseHeaders, stated: unknown]>([
  [
    'are read whatever their capitals',
    { 'x-limit': '100', 'x-left': '7', 'x-reset': '30' },
    { limits: { quota: { count: 100, perMs: 60_000 }, remaining: 7, resetMs: 30_000 } },
  ],
  [
    'set the pace by an hour at most, and stop calls by the window that is used up',
    { hour: '6000', 'hour-left': '0', 'hour-reset': '2', day: '10', 'day-left': '9' },
    { limits: { quota: { count: 6_000, perMs: 3_600_000 }, remaining: 0, resetMs: 2_000 } },
  ],
  ['leave Retry-After as it is', { 'retry-after': '3' }, { retryAfterMs: 3_000 }],
  [
    'leave known headers as they are',
    { 'x-ratelimit-remaining': '5' },
    { limits: { remaining: 5 } },
  ],
  ['say nothing where there is no number', { hour: 'many' }, undefined],
])('limits in headers of an API %s', (_, headers, stated) => {
  expect(apiOf(windows).findLimits?.(headers, NOW)).toEqual(stated);
});

it.each([
  ['{ header: X-Spent }', '0.25', 250_000],
  ['{ header: X-Spent }', '', 100_000],
  ['{ header: X-Spent }', 'free', 100_000],
  ['{ header: X-Spent }', '-1', 100_000],
  ['{ body: meta.cost }', 0.3, 300_000],
  ['{ body: meta.cost }', { no: 'number' }, 100_000],
])('an answer that was found costs, by cost: %s of %j, %d millionths', (cost, said, micros) => {
  const { billing } = apiOf(`billing: { unit: credits, price: 0.1, cost: ${cost} }`);
  const stated = { headers: { 'x-spent': said as string }, body: { meta: { cost: said } } };
  expect(billing?.costOf({ kind: 'found' }, factsOf(stated))).toBe(micros);
  expect(billing?.costOf({ kind: 'rejected' }, factsOf({}))).toBe(0);
});

describe('a profile is refused', () => {
  const rule = (when: string): string => `rules: [{ when: ${when}, means: quota }]`;
  const [a, b, c] = ['a', 'b', 'c'].map((name) => `[${`*${name}, `.repeat(99)}*${name}]`);
  const MUCH = `note: &a b\nsources: &b ${a}\nsamples: &c ${b}\nrules: ${c}\n`;
  const WRONG_SAMPLE =
    /:4:5: expected this answer to mean found, but it means not_found \(no rule fits\)/;

  it.each([
    ['an unknown key', 'ruls: []', /^acme\.yaml:3:1: there is no key 'ruls'; did you mean 'rules'/],
    ['no expression', rule('{ body: "error.[x" }'), /:3:25: body: it ends where more is expected/],
    ['no pattern', rule('{ header: { name: a, pattern: "(" } }'), /pattern: Unterminated group/],
    ['no range', rule('{ status: 5xx }'), /expected a status such as 404/],
    ['no rate', 'limits: { rate: auto }', /rate: expected a rate such as 20\/s/],
    ['a wrong sample', 'samples:\n  - status: 404\n    means: found\n', WRONG_SAMPLE],
    ['YAML that is none', 'note: [', /^acme\.yaml:3:8: /],
    ['anchors that make too much of themselves', MUCH, /Excessive alias count/],
    ['a batch about nothing', 'batch: { path: /b, size: 9, body: { a: 1 } }', /expected \{domains/],
    ['a batch without a size', "batch: { path: '/b?d={domains}' }", /:3:8: size: it is missing/],
    ['a batch of one', "batch: { path: '/b?d={domains}', size: 1 }", /size: /],
    [
      'several mistakes',
      'asOf: today\nnote: 5\n',
      /^acme\.yaml: 2 things are wrong\.\n {2}acme\.yaml:3:7: asOf: .*\n {2}acme\.yaml:4:7: note: /,
    ],
  ])('with %s', (_, lines, expected) => {
    expect(() => apiOf(lines)).toThrow(expected);
  });

  it.each([
    [
      'its headers',
      'headers: { Authorization: Bearer-abc }',
      /'Authorization' is a credential; say/,
    ],
    ['its parameters', 'params: { apiKey: Bearer-abc }', /'apiKey' is a credential; say in 'auth'/],
    ['its path', 'path: "/v1?d={domain}&api_key=Bearer-abc"', /path: 'api_key' is a credential/],
    ['the name of its variable', 'apiKeyEnv: Bearer-abc', /apiKeyEnv: expected the bare name/],
    ['its whole text', undefined, /^acme\.yaml:1:1: expected keys with values, received a text/],
    ['a path without the domain', 'path: /v2/Bearer-abc', /:4:9: path: expected \{domain\} in it/],
  ])('with a credential in %s, which is not repeated', (_, line, expected) => {
    const request = `request:\n  baseUrl: "http://127.0.0.1:9"\n  auth: none\n  ${line}\n`;
    const read = () => parseProfile('acme.yaml', line === undefined ? 'Bearer-abc' : request);
    expect(read).toThrow(expected);
    expect(read).not.toThrow(/Bearer/);
  });
});

describe('a batch', () => {
  const batchOf = (batch: string) => apiOf(`batch: ${batch}\n`).batch;
  const DOMAINS = ['a.com', 'b.com'];

  it.each([
    ['{ all: "{domains}", n: 1 }', { all: DOMAINS, n: 1 }],
    ['{ all: "of {domains}" }', { all: 'of a.com,b.com' }],
    ['{ asked: [{ site: "{domain}", n: 1 }] }', { asked: DOMAINS.map((site) => ({ site, n: 1 })) }],
    ['["{domain}"]', DOMAINS],
  ])('with the body %s asks about each', (body, sent) => {
    const batch = batchOf(`{ path: /b, size: 9, body: ${body} }`);
    expect(JSON.parse(batch?.bodyOf(DOMAINS) ?? '')).toEqual(sent);
  });

  it.each<[shape: string, reply: unknown, found: object | undefined]>([
    ['', [1, 2], { 'a.com': [undefined, 1], 'b.com': [undefined, 2] }],
    ['', [1], undefined],
    ['', 'no list', undefined],
    ['', { 'B.com': 2, 'c.com': 3 }, { 'b.com': [undefined, 2] }],
    ['records: all', { all: { 'a.com': 1 } }, { 'a.com': [undefined, 1] }],
    [
      'domain: d, status: s, answer: of',
      [{ d: 'B.COM', s: '404', of: 1 }, { d: 'a.com', s: 99 }, { d: 5 }],
      { 'a.com': [undefined, null], 'b.com': [404, 1] },
    ],
  ])('with { %s } finds in %j', (shape, reply, found) => {
    const batch = batchOf(`{ path: "/b?d={domains}", size: 9${shape && `, ${shape}`} }`);
    const answers = batch?.answersIn(reply, DOMAINS);
    const seen = [...(answers ?? [])].map(([name, one]) => [name, [one.httpStatus, one.body]]);
    expect(answers && Object.fromEntries(seen)).toEqual(found);
  });
});

describe('a played profile', () => {
  it.each([
    ['{ "for": { "site": "acme.com" } }', 'acme.com'],
    ['{"for":{"site":"acme.com","all":true}}', undefined],
    ['{"for":', undefined],
    ['', undefined],
  ])('with a body takes %s for a call about %s', (sent, domain) => {
    const request = `request: { baseUrl: "http://127.0.0.1:9", path: /find, body: { for: { site: '{domain}' } } }\n`;
    const played = playProfile(parseProfile('acme.yaml', request));
    expect([played.method, played.domainOf('/base/find', sent)]).toEqual(['POST', domain]);
  });

  it.each([
    ['/v2/{domain}/brand', '/base/v2/acme.com/brand?lang=de', 'acme.com'],
    ['/v2/{domain}', '/v2/%ZZ', undefined],
    ['/v2/{domain}', '/v2/a/b', undefined],
    ['/find?site={domain}', '/find?a=b&site=acme.com', 'acme.com'],
    ['/find?site={domain}', '/find?a=b', undefined],
    ['/find?site={domain}', '/other?site=acme.com', undefined],
  ])('at %s takes %s for a call about %s', (path, target, domain) => {
    const request = `request: { baseUrl: "http://127.0.0.1:9", path: "${path}" }\n`;
    expect(playProfile(parseProfile('acme.yaml', request)).domainOf(target, '')).toBe(domain);
  });
});
