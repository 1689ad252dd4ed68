import { describe, expect, it } from 'vitest';
import { Body } from '../../src/brand/body.ts';
import { findLimits } from '../../src/brand/limits.ts';
import { type Evidence, judge, judgeNoAnswer, type Meaning } from '../../src/brand/meaning.ts';
import { GivenUpError } from '../../src/brand/transport.ts';
import { createRedactor } from '../../src/common/secrets.ts';

type Headers = Readonly<Record<string, string>>;

/** What an answer about acme.com means. */
function mean(
  httpStatus: number,
  body: unknown = '',
  headers: Headers = {},
  more: Partial<Evidence> & { readonly isCut?: boolean; readonly secrets?: string[] } = {},
): Meaning {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  const { isCut = false, secrets = [], ...others } = more;
  const response = { httpStatus, headers, bytes, isCut, bodyError: undefined };
  return judge({
    response,
    domain: 'acme.com',
    origin: 'https://api.example',
    path: '/v1/brand?domain=acme.com',
    stated: findLimits(headers, 0),
    nowMs: 0,
    body: new Body(response, createRedactor(secrets)),
    ...others,
  });
}

const PAGE = '<!DOCTYPE html><h1>Not here</h1>';
const LATER: Headers = { 'retry-after': '7' };
const USED_UP: Headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' };
const RESET: Headers = { 'x-ratelimit-reset': '9' };
const WALL: Headers = { 'x-amzn-waf-action': 'challenge' };
const IN_A_MOMENT = { code: 429, error: 'slow', retryAfterMs: 250 };
const NAN: unknown = expect.stringMatching(/Nan/);

// The lines of docs/answers.md.
describe('an answer', () => {
  type Expected = Partial<Record<keyof Meaning | 'retryAfterMs', unknown>>;

  it.each<[string, Meaning['kind'], number, unknown, Expected?, Headers?]>([
    ['with a record', 'found', 200, { name: 'Acme' }],
    ['with a record and another 2xx', 'found', 203, { name: 'Acme' }],
    ['that is empty by its status', 'not_found', 204, ''],
    ['that the domain is unknown', 'not_found', 404, { error: 'unknown' }],
    ['that the domain is unknown, as a page', 'not_found', 404, PAGE, { form: 'page' }],
    ['that the domain is gone', 'not_found', 410, ''],
    ['that refuses the domain', 'rejected', 422, { error: 'no domain' }],
    ['that speaks of credits', 'rejected', 422, { error: 'Unknown. No credits were charged.' }],
    ['that speaks of later', 'rejected', 400, { error: 'try again later' }],
    ['200 with nothing but an error', 'rejected', 200, { error: 'no such company' }],
    ['200 that says that it failed', 'rejected', 200, { success: false, message: 'no' }],
    ['200 with 404 in it', 'not_found', 200, { status: 404 }, { reason: 'http_404' }],
    ['200 with 429 in it', 'throttled', 200, { code: 429, message: 'slow down' }],
    ['200 with 500 in it', 'away', 200, { status: 500, error: 'oops' }, { reason: 'http_500' }],
    ['200 of broken JSON', 'rejected', 200, '{"a":Nan}', { reason: 'invalid_json', said: NAN }],
    ['200 with a place for it', 'not_found', 200, { status: 'ok', message: 'no', data: null }],
    ['200 with the domain alone', 'found', 200, { id: 7, domain: 'acme.com' }],
    ['200 with a word alone', 'failed', 200, { status: 'queued' }, { reason: 'no_record' }],
    ['202 of a wall', 'refused', 202, PAGE, { reason: 'wall' }, WALL],
    ['530 by a gateway of something else', 'away', 530, 'error code: 1016'],
    ['that it is finding out', 'pending', 202, { status: 'queued' }],
    ['201 without a record', 'pending', 201, { status: 'created', id: 12 }],
    ['404 with a time', 'pending', 404, { error: 'soon' }, { retryAfterMs: 7_000 }, LATER],
    ['404 with the reset of a limit', 'not_found', 404, '{}', { retryAfterMs: undefined }, USED_UP],
    ['410 with a time', 'not_found', 410, { error: 'gone' }, {}, LATER],
    ['402 with a reset alone', 'quota', 402, '', { retryAfterMs: 9_000 }, RESET],
    ['403 with a reset alone', 'refused', 403, '', { retryAfterMs: undefined }, RESET],
    ['429 with a reset alone', 'throttled', 429, '', { retryAfterMs: 9_000 }, RESET],
    ['500 with the reset of a limit', 'away', 500, '', { retryAfterMs: undefined }, USED_UP],
    ['402 of a limit', 'quota', 402, { error: 'x' }, { retryAfterMs: 9_000 }, USED_UP],
    ['404 with a time, as a page', 'not_found', 404, PAGE, { retryAfterMs: 7_000 }, LATER],
    ['401', 'refused', 401, { error: 'who?' }, { said: '{"error":"who?"}' }],
    ['401 as a page', 'refused', 401, '<p class=x>Log <b>in</b>', { form: 'page', said: 'Log in' }],
    ['401 with JSON after a warning', 'refused', 401, 'Oh \n no: { "a":1}', { form: 'json' }],
    ['401 with a list', 'refused', 401, ' ["a"]', { form: 'json' }],
    ['401 with a number', 'refused', 401, '7', { form: 'json' }],
    ['401 with spaces', 'refused', 401, ' \n ', { form: 'empty', reason: 'http_401' }],
    ['401 in words', 'refused', 401, 'who \n are you', { reason: 'http_401', said: 'who are you' }],
    ['402', 'refused', 402, { error: 'premium' }],
    ['403', 'refused', 403, '', { reason: 'http_403', said: undefined, form: 'empty' }],
    ['403 with a time', 'throttled', 403, PAGE, { retryAfterMs: 7_000 }, LATER],
    ['403 with nothing left, no time', 'throttled', 403, {}, {}, { 'ratelimit-remaining': '0' }],
    ['401 with nothing left', 'refused', 401, {}, {}, USED_UP],
    ['200 with 429 and a time in it', 'throttled', 200, IN_A_MOMENT, { retryAfterMs: 250 }],
    ['429', 'throttled', 429, ''],
    ['429 with a time', 'throttled', 429, '', { retryAfterMs: 7_000 }, LATER],
    ['429 with the reset of a limit', 'throttled', 429, '', { retryAfterMs: 9_000 }, USED_UP],
    ['408', 'away', 408, '', { reason: 'http_408' }],
    ['423', 'away', 423, '', { retryAfterMs: 7_000 }, LATER],
    ['500', 'away', 500, { error: 'oops' }, { reason: 'http_500', said: '{"error":"oops"}' }],
    ['503 with a time', 'away', 503, '', { retryAfterMs: 7_000 }, LATER],
    ['503 with the reset of a limit', 'away', 503, '', { retryAfterMs: 9_000 }, USED_UP],
    ['200 that is a page', 'away', 200, PAGE, { form: 'page', reason: 'no_json' }],
    ['202 that is a page', 'away', 202, PAGE, { reason: 'no_json' }],
    ['200 that is empty', 'away', 200, '', { reason: 'invalid_response' }],
    ['200 that breaks off', 'away', 200, '{"name":', { reason: 'invalid_response' }],
    ['200 that is a list', 'rejected', 200, '[1]', { said: 'it is no JSON object' }],
    ['501', 'failed', 501, '', { reason: 'http_501' }],
    ['of an unknown status', 'failed', 777, '', { reason: 'http_777' }],
  ])('%s is %s', (_, kind, httpStatus, body, expected = {}, headers = {}) => {
    const none = { retryAfterMs: undefined, said: undefined };
    const meaning = { ...none, ...mean(httpStatus, body, headers) };
    expect(meaning).toMatchObject({ kind, httpStatus, ...expected });
  });

  it.each<[Meaning['kind'], number, object]>([
    ['rejected', 200, { errors: ['x'] }],
    ['rejected', 200, { errors: { a: 1 } }],
    ['rejected', 200, { exception: 'x' }],
    ['rejected', 200, { fault: 7 }],
    ['rejected', 200, { ok: 'false' }],
    ['rejected', 200, { status: 'failed' }],
    ['rejected', 200, { status: 'fail' }],
    ['rejected', 200, { state: '', code: 400 }],
    ['rejected', 200, { code: 600, error: 'x' }],
    ['rejected', 200, { status: 200, id: 404, error: 'x' }],
    ['rejected', 200, { 'Error-Code': 'E7', domain: 'acme.com' }],
    ['away', 200, { code: 599, error: 'x' }],
    ['away', 200, { status: 'x', code: 503, error: 'x', tags: [] }],
    ['not_found', 200, { error: false }],
    ['not_found', 200, { error: 0 }],
    ['not_found', 200, { error: '0' }],
    ['not_found', 200, { error: [] }],
    ['not_found', 200, { error: '' }],
    ['not_found', 200, { ok: true }],
    ['not_found', 200, { success: 'true' }],
    ['not_found', 200, { status: 399 }],
    ['not_found', 200, { status: 'failover', record: {} }],
    ['found', 201, { name: 'Acme' }],
    ['found', 201, { tags: ['a'] }],
    ['found', 201, { id: 1, staff: 0 }],
    ['pending', 201, { domain: 'acme.com', id: 1 }],
    ['pending', 201, { name: '', city: null, tags: [], at: {} }],
  ])('is %s at %i whatever it calls its failure: %j', (kind, httpStatus, body) => {
    expect(mean(httpStatus, body).kind).toBe(kind);
  });

  it('keeps its record as it came', () => {
    const json = '\r\n {"z":1.10,"a":1e3,"id":12345678901234567890, "s":"\\u00e9"} ';
    expect(mean(200, json)).toMatchObject({ kind: 'found', json, fingerprint: json, form: 'json' });
  });

  it.each([
    { name: 'Acme', status: 'error', error: null },
    { company: 'Acme', success: false },
    { name: 'Acme', status: 500 },
    { industry: 'retail' },
    { title: 'Acme' },
    { data: { name: 'Acme' }, status: 'ok' },
    { staff: 0 },
  ])('with something beside a failure is a record: %j', (body) => {
    expect(mean(200, body)).toMatchObject({ kind: 'found' });
  });

  it('that is too long is never retried', () => {
    const meaning = mean(200, '{"a":', {}, { isCut: true });
    expect(meaning).toMatchObject({ kind: 'failed', reason: 'response_too_large' });
  });

  it('in a charset that is not known says so', () => {
    const headers = { 'content-type': 'application/json; charset=none' };
    const meaning = mean(200, Buffer.from([0x22, 0xeb]), headers);
    expect(meaning).toMatchObject({ kind: 'failed', reason: 'unknown_charset' });
  });

  it('in Latin-1 without a word of it is read', () => {
    const response = { httpStatus: 200, headers: {}, isCut: false, bodyError: undefined };
    const whole = { ...response, bytes: Buffer.from('{"name":"Caf\xe9"}', 'latin1') };
    const body = new Body(whole, createRedactor([]));
    expect(mean(200, '', {}, { response: whole, body })).toMatchObject({
      kind: 'found',
      json: '{"name":"Café"}',
    });
    expect(body.mended).toBe('latin1');
  });

  it('shows no secret that stands in JSON within JSON', () => {
    const json = JSON.stringify('{"name":"my \\u006bey-123456"}');
    const meaning = mean(200, json, {}, { secrets: ['key-123456'] });
    expect(JSON.stringify(meaning)).not.toMatch(/key-123456|006bey/);
  });

  it('carries the limits that it states', () => {
    expect(mean(200, { a: 1 }, USED_UP)).toMatchObject({
      limits: { remaining: 0, resetMs: 9_000 },
    });
    expect(mean(200, { a: 1 }, USED_UP).retryAfterMs).toBeUndefined();
  });

  it('shows no more than 200 characters of what it says', () => {
    expect(mean(400, ` a\n${'x'.repeat(500)}`)).toMatchObject({ said: `a ${'x'.repeat(198)}` });
  });
});

describe('the fingerprint of answers', () => {
  const fingerprint = (domain: string, body: unknown, status = 422): string =>
    mean(status, body, {}, { domain }).fingerprint;

  it('is the same for what differs in domain, numbers and identifiers alone', () => {
    const said = (domain: string, id: string): unknown => ({ error: `No plan for ${domain}`, id });
    expect(fingerprint('acme.com', said('acme.com', '7f-1'))).toBe(
      fingerprint('other.org', said('OTHER.ORG', 'a9-2')),
    );
  });

  it.each([
    ['no  acme', 'no beta', true],
    ['no abc here', 'no beta here', true],
    ['id x7.f-3 of it', 'id 9:k of it', true],
    ['about it', '·out it', false],
  ])('of %j and of %j: %s', (one, other, isSame) => {
    const name = one.includes('abc') ? 'abc' : one.includes('acme') ? 'acme' : 'ab';
    expect(fingerprint(`${name}.com`, one) === fingerprint('beta.com', other)).toBe(isSame);
  });

  it('differs with status and words', () => {
    const all = [
      fingerprint('acme.com', { error: 'no plan' }),
      fingerprint('acme.com', { error: 'no plan' }, 400),
      fingerprint('acme.com', { error: 'no such domain' }),
    ];
    expect(new Set(all).size).toBe(3);
  });
});

describe('a redirect', () => {
  const to = (location?: string): Meaning =>
    mean(302, '', location === undefined ? {} : { location }, {
      origin: 'https://api.example',
      path: '/api/v1/brand?domain=acme.com',
    });

  it.each([
    ['/%ZZ/acme.com', '/%ZZ/acme.com'],
    ['/v2/brand/ACME.com', '/v2/brand/ACME.com'],
    ['?domain=www.acme.com', '/api/v1/brand?domain=www.acme.com'],
    ['../v2/brand?a=acme.com#part', '/api/v2/brand?a=acme.com'],
  ])('to %s is read against what was asked', (location, path) => {
    expect(to(location)).toMatchObject({ kind: 'redirect', path, httpStatus: 302 });
  });

  it('may write the domain in letters', () => {
    const asked = { domain: 'xn--mnchen-3ya.de', origin: 'https://api.example', path: '/' };
    expect(mean(302, '', { location: '/münchen.de' }, asked)).toMatchObject({ kind: 'redirect' });
  });

  it.each([
    ['https://evil.example/v1/brand?domain=acme.com', 'redirect_to_another_origin'],
    ['//evil.example/acme.com', 'redirect_to_another_origin'],
    ['http://api.example/acme.com', 'redirect_to_another_origin'],
    ['javascript:alert(1)', 'redirect_to_another_origin'],
    ['/login?next=/v1/brand', 'redirect_without_domain'],
    ['/api/v1/login?domain=other.org', 'redirect_without_domain'],
    ['/api/v1/brand?domain=login', 'redirect_without_domain'],
    ['/api/v1/brand', 'redirect_without_domain'],
  ])('to %s is not followed, and about all', (location, reason) => {
    expect(to(location)).toMatchObject({ kind: 'away', reason });
  });

  it.each(['http://[::', undefined])('to %s leads nowhere', (location) => {
    expect(to(location)).toMatchObject({ kind: 'failed', reason: 'http_302' });
  });

  it.each([
    ['/v1/brand?domain=acme.com', '?domain=acme.io'],
    ['/v1/brand?lang=en&domain=acme.com', '/v1/brand?domain=acme.co.uk&lang=en'],
    ['/v2/brands/acme.com/all', '/v2/brands/acme.io/all'],
  ])('from %s to %s asks about the domain that the company has now', (path, location) => {
    const meaning = mean(301, '', { location }, { path });
    expect(meaning).toMatchObject({ kind: 'redirect' });
  });

  it.each([
    ['https://files.example/a.json?sig=1', 'redirect'],
    ['http://files.example/a.json?sig=1', 'away'],
  ])('to another host, where a profile takes it for a signed address: %s: %s', (location, kind) => {
    const meaning = mean(302, '', { location }, { followsSigned: true });
    expect(meaning).toMatchObject({ kind, ...(kind === 'redirect' && { path: location }) });
  });
});

describe('a rule of a profile', () => {
  const ruled = (means: NonNullable<Evidence['rule']>['means'], more = {}, body: unknown = {}) =>
    mean(403, body, LATER, { rule: { means, rule: 2, isSure: true, ...more } });

  it.each([
    ['found', 'found'],
    ['not_found', 'not_found'],
    ['pending', 'pending'],
    ['rejected', 'rejected'],
    ['throttled', 'throttled'],
    ['quota', 'quota'],
    ['unauthorized', 'refused'],
    ['retry', 'away'],
    ['failed', 'failed'],
  ] as const)('decides before the status: %s', (means, kind) => {
    expect(ruled(means)).toMatchObject({ kind, httpStatus: 403, rule: 2, isSure: true });
  });

  it('says how long and why', () => {
    const meaning = ruled('not_found', { waitMs: 60_000, said: 'month is over' });
    expect(meaning).toMatchObject({ retryAfterMs: 60_000, said: 'month is over' });
  });

  it('may have the record in a part of the answer', () => {
    const recordOf = (json: unknown): unknown => (json as { data?: unknown }).data;
    const found = mean(200, '{"data":{"id":12345678901234567890}}', {}, { recordOf });
    expect(found).toMatchObject({ kind: 'found', json: '{"id":"12345678901234567890"}' });
    expect(mean(200, {}, {}, { recordOf })).toMatchObject({ kind: 'failed', reason: 'no_record' });
  });
});

const failure = (code: string): Error => Object.assign(new Error('failed'), { code });

const BOTH = new AggregateError([failure('ENETUNREACH'), failure('ECONNREFUSED')]);

it.each([
  [new GivenUpError(), 'away', 'timeout'],
  [failure('ECONNREFUSED'), 'away', 'connection_refused'],
  [failure('UND_ERR_SOCKET'), 'away', 'connection_reset'],
  [failure('ENOTFOUND'), 'away', 'dns_failure'],
  [failure('CERT_HAS_EXPIRED'), 'away', 'tls_failure'],
  [failure('EPROTO'), 'away', 'tls_failure'],
  [failure('HPE_INVALID_CONSTANT'), 'away', 'invalid_http'],
  [failure('EMFILE'), 'machine', 'too_many_open_files'],
  [failure('EADDRNOTAVAIL'), 'machine', 'no_local_port'],
  [failure('ENETUNREACH'), 'machine', 'no_route'],
  [failure('EAI_AGAIN'), 'machine', 'dns_unavailable'],
  [failure('UND_ERR_HEADERS_OVERFLOW'), 'failed', 'response_too_large'],
  [new Error('failed', { cause: failure('ENOTFOUND') }), 'away', 'dns_failure'],
  [BOTH, 'away', 'connection_refused'],
  ['no error at all', 'away', 'network_error'],
])('a call without an answer: %s is %s: %s', (error, kind, reason) => {
  const nothing = { httpStatus: undefined, form: 'none' };
  expect(judgeNoAnswer(error)).toMatchObject({ kind, reason, ...nothing });
});
