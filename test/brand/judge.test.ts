import { describe, expect, it } from 'vitest';
import { type Answer, type Evidence, judge } from '../../src/brand/answer.ts';
import type { Meaning } from '../../src/brand/api-profile.ts';
import { BodyText } from '../../src/brand/body-text.ts';
import { createCredential } from '../../src/brand/credential.ts';
import { whyNoJsonObject } from '../../src/brand/json-object.ts';
import type { Limits } from '../../src/brand/limit-headers/find-limits.ts';
import { shapeOf } from '../../src/brand/shape.ts';

// What one answer says, from what one call has brought; no server is needed to ask.

const { redactor } = createCredential({ kind: 'none' }, undefined);

function judgeOf(
  httpStatus: number,
  body: string | Buffer,
  more: Partial<Evidence> & { type?: string } = {},
): Answer {
  const { type, headers = type === undefined ? {} : { 'content-type': type }, ...rest } = more;
  const bytes = Buffer.from(body);
  const exchanged = { httpStatus, headers, bytes, isCut: false, bodyError: undefined, ...rest };
  return judge({
    domain: 'acme.com',
    origin: 'https://api.example',
    path: '/v1/brand?domain=acme.com',
    isDoubled: false,
    stated: undefined,
    shapeOf,
    ...exchanged,
    body: new BodyText(exchanged, redactor),
  });
}

describe('who wrote a refusal', () => {
  it.each<[body: string, type: string, form: string]>([
    ['', 'text/html', 'empty'],
    [' \n', 'application/json', 'empty'],
    ['<!DOCTYPE html><p>no', 'application/json', 'page'],
    ['<!-- a --> <html>{"a":1}', '', 'page'],
    ['<p>no</p>', '', 'page'],
    ['a <p>no</p>', 'text/html', 'text'],
    ['<1', 'application/json', 'text'],
    ['{"error":"no"}', 'text/html', 'json'],
    ['[]', 'text/html', 'json'],
    ['<br />Warning: {\n "error":"no"}', 'text/html', 'json'],
    ['no', 'application/problem+json; charset=utf-8', 'json'],
    ['no<', 'application/json', 'json'],
    ['no', 'text/plain', 'text'],
  ])('%j as %j is %s', (body, type, form) => {
    for (const status of [400, 404]) {
      expect(judgeOf(status, body, { type }).writer).toMatchObject({ form });
    }
  });

  it('has the names of a JSON object, without the domain, and no others', () => {
    const namesOf = (body: string, type = 'application/json') =>
      judgeOf(404, body, { type }).writer?.names;
    expect(namesOf(' {"error":"no","for acme.com":1,"b":{"c":2}} ')).toEqual(['error', 'b']);
    expect(namesOf('["error"]')).toEqual([]);
    expect(namesOf('<html>{"error":"no"}', 'text/html')).toEqual([]);
    // So much of a body is looked at, and no more.
    expect(namesOf(`{"error":"no"}${' '.repeat(4_096)}x`)).toEqual(['error']);
  });

  it.each([
    ['nginx/1.25.3', 'nginx'],
    [' Apache (Debian) PHP', 'apache'],
    ['CloudFlare', 'cloudflare'],
    ['Two Words', 'two words'],
    ['a/b\nc', 'a'],
    [undefined, ''],
  ])('is the server %j as %j', (server, expected) => {
    expect(judgeOf(404, 'no', { headers: { server } }).writer?.server).toBe(expected);
    expect(judgeOf(200, '{"a":1}', { headers: { server } }).writer?.server).toBe(expected);
  });

  it('uses words without domain, numbers and identifiers, and with 403 none', () => {
    const wordingOf = (status: number, body: string, domain = 'acme.com') =>
      judgeOf(status, body, { domain }).writer?.wording;
    expect(wordingOf(400, 'No\n plan for ACME.com, request 8f3a-11 at 10:31')).toBe(
      '400 no plan for ·, request · at ·',
    );
    expect(wordingOf(422, 'no müller.de', 'xn--mller-kva.de')).toBe('422 no ·');
    expect(wordingOf(422, 'Acme is not in your plan, acmeful is')).toBe(
      '422 · is not in your plan, acmeful is',
    );
    expect(wordingOf(400, '{"error":"no","request_id":"kqzy","traceId": "a\\"b","at":7}')).toBe(
      '400 {"error":"no","request_id":"·","traceid":"·","at":"·"}',
    );
    expect(wordingOf(403, 'whatever')).toBe('403');
    expect(judgeOf(404, 'no').writer).not.toHaveProperty('wording');
  });
});

describe('a sign of a wrong address', () => {
  it.each<[status: number, body: string, sign: string | undefined]>([
    [400, '<html>', 'bad_request_page'],
    [422, '<html>', 'bot_wall'],
    [403, '<html>', 'bot_wall'],
    [400, 'no', undefined],
    [404, '<html>', 'not_found_page'],
    [404, 'default backend', 'not_found_page'],
    [404, '{"a":1}', undefined],
    [404, '', undefined],
  ])('in %i with %j is %s', (status, body, sign) => {
    expect(judgeOf(status, body).sign).toBe(sign);
  });

  it('is a path that has /v1 twice, whatever comes with 404', () => {
    expect(judgeOf(404, '{"a":1}', { isDoubled: true }).sign).toBe('not_found_doubled');
  });
});

describe('a time that is told', () => {
  const stated = { retryAfterMs: 7_000 };

  it('with 404 is for the answer, and with 410 says nothing', () => {
    expect(judgeOf(404, '', { stated })).toMatchObject({ kind: 'pending', retryAfterMs: 7_000 });
    expect(judgeOf(410, '', { stated }).kind).toBe('not_found');
  });

  it('with 402 is when there is a new quota, be it a mere reset', () => {
    expect(judgeOf(402, '', { stated })).toMatchObject({ retryAfterMs: 7_000 });
    expect(judgeOf(402, '', { stated: { limits: { resetMs: 9 } } })).toMatchObject({
      retryAfterMs: 9,
    });
    expect(judgeOf(402, '')).not.toHaveProperty('retryAfterMs');
  });

  it('with 401 or 501 changes nothing', () => {
    expect(judgeOf(401, 'no', { stated })).toMatchObject({ kind: 'unauthorized', reason: 'no' });
    expect(judgeOf(401, 'no', { stated })).not.toHaveProperty('retryAfterMs');
    expect(judgeOf(501, '', { stated }).kind).toBe('refused');
  });
});

describe('an answer says "later"', () => {
  const usedUp: Limits = { limits: { remaining: 0, resetMs: 9 } };

  it.each<[status: number, stated: Limits | undefined, kind: Answer['kind'], afterMs?: number]>([
    [403, { retryAfterMs: 5 }, 'throttled', 5],
    [403, { retryAfterMs: 0 }, 'throttled', 0],
    [403, usedUp, 'throttled', 9],
    [403, { limits: { remaining: 1, resetMs: 9 } }, 'forbidden'],
    [422, usedUp, 'throttled', 9],
    [500, { retryAfterMs: 5 }, 'throttled', 5],
    [500, { retryAfterMs: 0 }, 'try_again'],
    [500, usedUp, 'try_again'],
    [503, usedUp, 'throttled', 9],
    [503, { retryAfterMs: 0 }, 'try_again'],
    [429, { limits: { resetMs: 9 } }, 'throttled', 9],
    [429, undefined, 'throttled'],
    [202, { retryAfterMs: 5 }, 'pending', 5],
    [202, undefined, 'pending'],
    [200, { retryAfterMs: 5 }, 'found'],
  ])('or not: %i with %j is %s', (status, stated, kind, retryAfterMs) => {
    const answer = judgeOf(status, '{}', { stated });
    expect(answer).toMatchObject({ kind, httpStatus: status });
    expect('retryAfterMs' in answer ? answer.retryAfterMs : undefined).toBe(retryAfterMs);
  });
});

describe('a refusal says in its body that calls were too many', () => {
  it.each([
    [403, 'The service is down for maintenance'],
    [400, '{"error":"Temporarily unavailable"}'],
  ])('or that it is not there for now: %i %s', (status, body) => {
    expect(judgeOf(status, body)).toEqual({
      kind: 'try_again',
      httpStatus: status,
      reason: 'unavailable',
      about: 'api',
    });
  });

  it.each([
    [403, '{"error_code":"USAGE_EXCEEDED"}'],
    [401, '{"error_code":"USAGE_EXCEEDED"}'],
    [422, '{"error":{"code":"quota_reached","message":"no"}}'],
    [422, '{"error":"You have insufficient credits"}'],
    [403, '{"message":"You do not have enough credits"}'],
    [400, 'Monthly quota exceeded'],
    [403, 'out of credits'],
    [403, '{"type":"over_quota"}'],
    [200, '{"error":"credits used up"}'],
  ])('or that the quota is used up: %i %s', (status, body) => {
    expect(judgeOf(status, body)).toMatchObject({
      kind: 'quota_used_up',
      httpStatus: status,
      reason: body,
    });
  });

  it('a page with 202 is none of a lookup that was accepted', () => {
    expect(judgeOf(202, '<html>')).toMatchObject({ kind: 'invalid_response', sign: 'no_json' });
  });

  it.each([
    [422, '{"errors":"Too many requests"}'],
    [400, '{"code":"TOO_MANY_REQUESTS"}'],
    [403, 'You have exceeded a secondary rate limit. See https://api.example/docs'],
    [403, '{"details":"You have reached the rate limit"}'],
    [409, 'rate limit exceeded'],
    [400, '{"__type":"ThrottlingException"}'],
    [403, '{"type":"rate_limited"}'],
  ])('%i %s', (status, body) => {
    expect(judgeOf(status, body)).toMatchObject({ kind: 'throttled', httpStatus: status });
  });

  it.each([
    [403, '{"message":"no","docs":"https://api.example/rate-limit-exceeded"}', 'forbidden'],
    [422, 'too many letters in this name', 'rejected'],
    [422, 'no accredited company', 'rejected'],
    [403, '{"error":"this domain was reached before, see your usage"}', 'forbidden'],
    [429, 'quota exceeded', 'throttled'],
    [404, 'too many requests', 'not_found'],
    [500, 'too many requests', 'try_again'],
  ])('or not: %i %s', (status, body, kind) => {
    expect(judgeOf(status, body).kind).toBe(kind);
  });
});

describe('a rule of the profile decides', () => {
  const stated: Limits = { retryAfterMs: 5 };
  const rule = 2;

  it.each<[Omit<Meaning, 'rule' | 'isSure'>, status: number, expected: object]>([
    [{ means: 'found' }, 404, { kind: 'found', json: '{"e":1}' }],
    [{ means: 'not_found' }, 200, { kind: 'not_found' }],
    [{ means: 'rejected' }, 200, { kind: 'rejected', reason: '{"e":1}' }],
    [{ means: 'rejected', reason: 'so' }, 200, { kind: 'rejected', reason: 'so' }],
    [{ means: 'pending' }, 200, { kind: 'pending', retryAfterMs: 5 }],
    [{ means: 'pending', waitMs: 7 }, 200, { kind: 'pending', retryAfterMs: 7 }],
    [{ means: 'throttled' }, 200, { kind: 'throttled', retryAfterMs: 5 }],
    [{ means: 'throttled', waitMs: 7 }, 200, { kind: 'throttled', retryAfterMs: 7 }],
    [{ means: 'quota' }, 403, { kind: 'quota_used_up', reason: '{"e":1}' }],
    [
      { means: 'quota', waitMs: 7, reason: 'so' },
      403,
      { kind: 'quota_used_up', reason: 'so', retryAfterMs: 7 },
    ],
    [{ means: 'unauthorized' }, 200, { kind: 'unauthorized', reason: '{"e":1}' }],
    [{ means: 'unauthorized', reason: 'so' }, 200, { kind: 'unauthorized', reason: 'so' }],
    [{ means: 'retry' }, 499, { kind: 'try_again', reason: 'http_499', retryAfterMs: 5 }],
    [
      { means: 'retry', waitMs: 7, reason: 'so' },
      500,
      { kind: 'try_again', reason: 'so', about: 'api', retryAfterMs: 7 },
    ],
    [{ means: 'failed' }, 200, { kind: 'refused', reason: 'http_200' }],
    [{ means: 'failed', reason: 'so' }, 200, { kind: 'refused', reason: 'so' }],
  ])('%j with %i', (given, status, expected) => {
    const isSure = judgeOf(status, '{"e":1}', {
      stated,
      meaning: { ...given, rule, isSure: true },
    });
    const { writer, shape, ...rest } = { shape: undefined, ...isSure };
    expect(rest).toEqual({ httpStatus: status, rule, isSure: true, ...expected });
    expect(writer === undefined).toBe(given.means !== 'found');
    const maybe = judgeOf(status, '{"e":1}', { meaning: { ...given, rule, isSure: false } });
    expect(maybe).not.toHaveProperty('isSure');
    const isWeighed = ['found', 'not_found', 'rejected'].includes(given.means);
    expect(maybe.writer !== undefined).toBe(isWeighed);
  });
});

it('a failure is about the API from 500 on', () => {
  expect(judgeOf(500, '')).toMatchObject({ kind: 'try_again', about: 'api' });
  expect(judgeOf(409, '')).not.toHaveProperty('about');
});

describe('a body that should be a record', () => {
  it.each<[string, Parameters<typeof judgeOf>[2], string | Buffer, object]>([
    ['too large', { isCut: true }, '{}', { kind: 'refused', reason: 'response_too_large' }],
    [
      'broken off',
      { bodyError: new Error('gone') },
      '{}',
      { sign: 'broken_body', reason: 'invalid_response' },
    ],
    [
      'packed strangely',
      { headers: { 'content-encoding': 'zstd' } },
      '\x28',
      strange('content_encoding'),
    ],
    [
      'in a strange charset',
      { type: 'a/b; charset=x-own' },
      Buffer.from([0xeb]),
      strange('charset'),
    ],
    ['UTF-8, whatever is said', { type: 'a/b; charset=x-own' }, '{}', { kind: 'found' }],
    ['a page', {}, '<html>', { reason: 'invalid_response', writer: { form: 'page' } }],
    ['a text', {}, 'sorry', { reason: 'invalid_response', writer: { form: 'text' } }],
    ['a list', {}, '[1]', { reason: 'no JSON object', isWhole: true, writer: { form: 'json' } }],
  ])('may be %s', (_, more, body, expected) => {
    expect(judgeOf(200, body, more)).toMatchObject(expected);
  });

  it.each([
    ['with a mark', Buffer.from('\uFEFF{"name":"Ä"}', 'utf16le')],
    ['without', Buffer.from('{"name":"Ä"}', 'utf16le')],
    ['big-endian with a mark', Buffer.from('\uFEFF{"name":"Ä"}', 'utf16le').swap16()],
    ['big-endian without', Buffer.from('{"name":"Ä"}', 'utf16le').swap16()],
  ])('may be in UTF-16 that nobody names: %s', (_, body) => {
    for (const type of ['application/json', 'application/json; charset=utf-8']) {
      expect(judgeOf(200, body, { type })).toMatchObject({ kind: 'found', json: '{"name":"Ä"}' });
    }
  });

  it('in a charset that nobody names came whole, and will be the same the next time', () => {
    expect(judgeOf(200, Buffer.from('{"name":"Käse"}\n', 'latin1'))).toMatchObject({
      kind: 'invalid_response',
      isWhole: true,
      reason: 'no UTF-8: byte E4 at 11',
    });
  });

  it('that was cut off before it was sent, or cannot be read, did not come whole', () => {
    for (const body of ['{"a":1', Buffer.from([0x7b, 0xeb])]) {
      expect(judgeOf(200, body)).not.toHaveProperty('isWhole');
    }
  });

  it.each<[body: object, tells: string]>([
    [{ industry: 'retail' }, 'some'],
    [{ name: 'x'.repeat(32 - '{"name":""}'.length) }, 'some'],
    [{ name: 'x'.repeat(33 - '{"name":""}'.length) }, 'record'],
    [{ site: 'https://www.acme.com/about-this-company' }, 'some'],
    [{ name: 'The ACME company of Springfield and sons' }, 'some'],
    [{}, 'nothing'],
    [{ Status: 'ok' }, 'nothing'],
    [{ status: 'ok', requestId: 'xyz', created_at: 5 }, 'nothing'],
    [{ id: 7 }, 'some'],
    [{ title: 'acme.com' }, 'some'],
    [{ domain: 'acme.com' }, 'some'],
    [{ data: null, name: '', tags: [], more: {} }, 'nothing'],
    [{ city: null }, 'nothing'],
    [{ city: '' }, 'nothing'],
    [{ ok: 1, city: 'Ulm' }, 'some'],
    [{ status: 'ok', data: { name: 'Some company', city: 'Ulm' } }, 'record'],
    [{ paid: 'a member that is no identifier, in spite of its end' }, 'record'],
  ])('that says %j tells %s', (body, tells) => {
    const { writer } = judgeOf(200, JSON.stringify(body));
    expect(writer).toMatchObject({ server: '', form: 'json', names: [], tells });
    expect(writer?.wording === undefined).toBe(tells !== 'nothing');
  });

  it.each<[body: object, kind: Answer['kind']]>([
    [{ error: 'no plan' }, 'rejected'],
    [{ errors: [{ message: 'no' }], data: null }, 'rejected'],
    [{ status: 'error', message: 'ended', domain: 'acme.com' }, 'rejected'],
    [{ success: false, id: 'x-1' }, 'rejected'],
    [{ statusCode: 403, message: 'no' }, 'rejected'],
    [{ error: 'Too many requests' }, 'throttled'],
    [{ status: 'maintenance' }, 'try_again'],
    [{ message: 'The service is temporarily unavailable' }, 'try_again'],
    [{ error: null, data: null }, 'found'],
    [{ status: 'ok' }, 'found'],
    [{ error: 'no', name: 'Acme' }, 'found'],
    [{ success: false, data: { name: 'Acme' } }, 'found'],
  ])('%j with 200 is %s', (body, kind) => {
    expect(judgeOf(200, JSON.stringify(body))).toMatchObject({ kind, httpStatus: 200 });
  });

  it('that tells nothing is no record yet when something was created (201)', () => {
    expect(judgeOf(201, '{"message":"in hand"}', { stated: { retryAfterMs: 5 } })).toEqual({
      kind: 'pending',
      httpStatus: 201,
      retryAfterMs: 5,
    });
    expect(judgeOf(201, '{"name":"Acme"}').kind).toBe('found');
  });

  it('is what a rule of the profile says that it is', () => {
    const meaning: Meaning = { means: 'found', rule: 1, isSure: false };
    expect(judgeOf(200, '{"error":"no"}', { meaning }).kind).toBe('found');
  });
});

describe('a redirect', () => {
  it.each([
    ['/brand/acme.com', 'acme.com', true],
    ['/brand/m%C3%BCller.de', 'xn--mller-kva.de', true],
    ['/brand/xn--mller-kva.de', 'xn--mller-kva.de', true],
    ['/brand/%E0%A4%A', 'acme.com', false],
    ['/acme.com/%E0%A4%A', 'acme.com', true],
  ])('to %s names %s: %s', (location, domain, isNamed) => {
    expect(judgeOf(302, '', { headers: { location }, domain }).kind).toBe(
      isNamed ? 'redirect' : 'refused',
    );
  });
});

describe('why a text is no JSON object', () => {
  it.each<[text: string, why: string | undefined]>([
    ['[1]', 'no JSON object'],
    ['{"a":NaN}', `no JSON: 'NaN}' at character 6`],
    ['{"a":1} \n\t x', `no JSON: 'x' at character 12`],
    ['{"a":1,}', `no JSON: '}' at character 8`],
    ['{/* a */}', `no JSON: '/* a */}' at character 2`],
    [`{"a":x ${'y '.repeat(60)}}`, `no JSON: 'x ${'y '.repeat(19)}' at character 6`],
    [`{"a":x${' '.repeat(90)}y}`, `no JSON: 'x y}' at character 6`],
    [`{"a":x ${'😀'.repeat(60)}}`, `no JSON: 'x ${'😀'.repeat(38)}' at character 6`],
    ['{"a":1', undefined],
    ['{"a":"open', undefined],
    ['{"a":1  ', undefined],
    ['['.repeat(100_000), 'no JSON object'],
  ])('%j', (text, why) => {
    expect(whyNoJsonObject(text)).toBe(why);
  });
});

function strange(what: string): object {
  return { reason: `unknown_${what}`, sign: `unknown_${what}` };
}
