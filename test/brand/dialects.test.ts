import { expect, it } from 'vitest';
import { findLimits } from '../../src/brand/limits.ts';
import type { Meaning } from '../../src/brand/meaning.ts';
import { LONGEST_STATED_MS } from '../../src/calls/rate.ts';
import { useHttpServer } from '../support/servers.ts';
import { useClient } from './support/clients.ts';

// What real APIs and gateways send, over HTTP: one row for each way of saying a thing.

const NOW_MS = Date.UTC(2026, 10, 20, 20);
const AT_8 = 'Fri, 20 Nov 2026 20:00:00 GMT';
const SOON_S = NOW_MS / 1_000 + 3;
const PAGE = '<!DOCTYPE html><title>Just a moment</title>';

type Headers = Readonly<Record<string, string | readonly string[]>>;
type Expected = Partial<Record<'kind' | 'retryAfterMs' | 'limits' | 'reason' | 'json', unknown>>;

async function hear(status: number, headers: Headers, body: unknown = {}): Promise<Meaning> {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const { url } = await useHttpServer((_, response) => {
    response.sendDate = false;
    response.writeHead(status, headers as Record<string, string>).end(bytes);
  });
  return await useClient(url, { now: () => NOW_MS }).ask();
}

const left = (remaining: string, reset?: string): Headers => ({
  'x-ratelimit-remaining': remaining,
  ...(reset !== undefined && { 'x-ratelimit-reset': reset }),
});
const noneUntil = (reset: string): Headers => left('0', reset);

const NO_WAIT = { retryAfterMs: undefined };
const waits = (retryAfterMs: number | undefined): Expected => ({ kind: 'throttled', retryAfterMs });
const usedUp = (resetMs: number): Expected => ({
  ...waits(resetMs),
  limits: expect.objectContaining({ remaining: 0, resetMs }),
});

it.each(
  Object.entries<[Headers, Expected]>({
    seconds: [{ 'retry-after': '3' }, waits(3_000)],
    'a date': [{ 'retry-after': 'Fri, 20 Nov 2026 20:00:03 GMT' }, waits(3_000)],
    'a date of RFC 850': [{ 'retry-after': 'Friday, 20-Nov-26 20:00:03 GMT' }, waits(3_000)],
    'a date of C': [{ 'retry-after': 'Fri Nov 20 20:00:03 2026' }, waits(3_000)],
    'a fraction': [{ 'retry-after': '1.5' }, waits(1_500)],
    'a unit': [{ 'retry-after': '3s' }, waits(3_000)],
    quotes: [{ 'retry-after': '"3"' }, waits(3_000)],
    'joined lines': [{ 'retry-after': '3, 3' }, waits(3_000)],
    'lines of two servers': [{ 'retry-after': ['2', '3'] }, waits(3_000)],
    'a word': [{ 'retry-after': '3 seconds' }, waits(3_000)],
    'less than nothing': [{ 'retry-after': '-5' }, waits(undefined)],
    'a sign': [{ 'retry-after': '+3' }, waits(undefined)],
    'no time': [{ 'retry-after': 'abc' }, waits(undefined)],
    'a point in time': [{ 'retry-after': `${SOON_S}` }, waits(3_000)],
    'a point in time in ms': [{ 'retry-after': `${SOON_S}000` }, waits(3_000)],
    'ms for seconds': [{ 'retry-after': '60000', 'x-ratelimit-reset': '58' }, waits(58_000)],
    centuries: [{ 'retry-after': '9223372037' }, waits(LONGEST_STATED_MS)],
    'a month': [{ 'retry-after': '2592000' }, waits(2_592_000_000)],
    'a time in a cache': [{ 'retry-after': '60', age: '50' }, waits(10_000)],
    'a date in a cache': [
      { 'retry-after': 'Fri, 20 Nov 2026 20:01:00 GMT', date: AT_8, age: '50' },
      waits(10_000),
    ],
    'a name in ms': [{ 'retry-after-ms': '250' }, waits(250)],
    'another name': [{ 'x-retry-after': '3' }, waits(3_000)],
    'two forms of a reset': [
      { ...noneUntil(`${SOON_S + 60}`), 'x-ratelimit-reset-after': '2.5' },
      usedUp(2_500),
    ],
    'draft 7': [{ ratelimit: 'limit=10, remaining=0, reset=3' }, usedUp(3_000)],
    'drafts 8 to 10': [{ ratelimit: '"burst";r=9;t=1, "day";r=0;t=60' }, usedUp(60_000)],
    'lines of a field': [{ ratelimit: ['"burst";r=0;t=1', '"day";r=0;t=60'] }, usedUp(60_000)],
    'two dashes': [{ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '9' }, usedUp(9_000)],
    lists: [
      {
        'x-ratelimit-limit': '1, 15000',
        'x-ratelimit-remaining': '0, 14900',
        'x-ratelimit-reset': '1, 1419704',
        'x-ratelimit-policy': '1;w=1, 15000;w=2592000',
      },
      {
        ...usedUp(1_000),
        limits: { quota: { count: 1, perMs: 1_000 }, remaining: 0, resetMs: 1_000 },
      },
    ],
    'a duration': [noneUntil('2m59.56s'), usedUp(179_560)],
    'an ISO date': [noneUntil('2026-11-20T20:00:03Z'), usedUp(3_000)],
    nanoseconds: [noneUntil(`${SOON_S}000000000`), usedUp(3_000)],
    'an object with nothing used up': [left("{'minute': 99, 'day': None}"), waits(undefined)],
    'an object with something used up': [left("{'minute': 0, 'day': 7}", '9'), usedUp(9_000)],
  }),
)('429 with %s', async (_, [headers, expected]) => {
  expect({ ...NO_WAIT, ...(await hear(429, headers)) }).toMatchObject(expected);
});

const GONE = noneUntil('9');
const NO_LIMIT = { 'x-ratelimit-limit': '0', ...GONE };

it.each<[string, number, Headers, unknown, Expected]>([
  ['a member in seconds', 429, {}, { error: { retry_after: 3 } }, waits(3_000)],
  ['a member in ms', 429, {}, { retryAfterMs: 250 }, waits(250)],
  ['a member with a date', 503, {}, { reset_at: '2026-11-20T20:00:03Z' }, { retryAfterMs: 3_000 }],
  ['such a member of a verdict', 422, {}, { retry_after: 3 }, { kind: 'rejected' }],
  ['403 as a limit', 403, { 'retry-after': '9' }, { message: 'no' }, waits(9_000)],
  ['403 with nothing left', 403, GONE, { message: 'no' }, waits(9_000)],
  ['400 as a limit', 400, { 'retry-after': '9' }, { message: 'no' }, waits(9_000)],
  ['400 with the last call of a window', 400, GONE, { message: 'no' }, { kind: 'rejected' }],
  ['a refusal in 200', 200, { 'retry-after': '9' }, { status: 403, error: 'no' }, waits(9_000)],
  ['a wall', 403, { 'cf-mitigated': 'challenge' }, PAGE, { kind: 'refused', reason: 'wall' }],
  ['a gateway', 429, {}, 'error code: 1015', waits(undefined)],
  ['a gateway by 530', 530, {}, 'error code: 1015', waits(undefined)],
  ['maintenance', 503, { 'retry-after': '7200' }, '', { kind: 'away', retryAfterMs: 7_200_000 }],
  ['200 that is queued', 200, { 'retry-after': '5' }, { status: 'queued' }, { kind: 'pending' }],
  ['451 as a page', 451, {}, PAGE, { kind: 'rejected', reason: 'http_451' }],
  ['a plan without a limit', 200, NO_LIMIT, { name: 'Acme' }, { limits: { resetMs: 9_000 } }],
  ['NaN', 200, {}, '{"a":NaN,"b":[-Infinity,"NaN"]}', { json: '{"a":null,"b":[null,"NaN"]}' }],
  ['Latin-1', 200, {}, Buffer.from('{"a":"Zo\xeb"}', 'latin1'), { json: '{"a":"Zoë"}' }],
  ['JSON within JSON', 200, {}, JSON.stringify('{"a":"\\"b"}'), { json: '{"a":"\\"b"}' }],
  ['nothing', 200, {}, {}, { kind: 'not_found', reason: 'empty_answer' }],
  ['null', 200, {}, 'null', { kind: 'not_found', reason: 'empty_answer' }],
  ['an empty place', 200, {}, { data: null }, { kind: 'not_found', reason: 'empty_answer' }],
  ['ids and times', 200, {}, { id: 7, took: 3, data: { timestamp: 5 } }, { kind: 'not_found' }],
  ['another domain', 200, {}, { domain: 'other.com' }, { kind: 'found' }],
  ['the domain of now', 301, { location: '/v1/brand?domain=acme.io' }, '', { kind: 'redirect' }],
  ['a signed address', 302, { location: 'https://s3.example/a' }, '', { kind: 'away' }],
  ['a login', 302, { location: '/login' }, '', { kind: 'away', reason: 'redirect_without_domain' }],
])('%s (%i)', async (_, status, headers, body, expected) => {
  expect({ ...NO_WAIT, ...(await hear(status, headers, body)) }).toMatchObject(expected);
});

it('names that only some APIs have say nothing without a profile', () => {
  const headers = { 'x-minute-request-left': '0', 'x-ratelimit': '20000', 'x-api-key-quota': '0' };
  expect(findLimits(headers, NOW_MS)).toBeUndefined();
});
