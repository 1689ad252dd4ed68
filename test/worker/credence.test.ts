import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import type { Outcome } from '../../src/brand/outcome.ts';
import { type Credence, createCredence } from '../../src/worker/credence.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { createTestContext, found, invalid, notFound, type Script, tryAgain } from './lookups.ts';

const page: Answer = {
  kind: 'not_found',
  httpStatus: 404,
  writer: { server: '', form: 'page', names: [] },
  sign: 'not_found_page',
};
const redirectOf = (path: string): Answer => ({
  kind: 'redirect',
  httpStatus: 302,
  path: path.replace('/v1/brand', '/login'),
});
const DOMAINS = Array.from({ length: 100 }, (_, at) => `d${at}.com`);

interface Trial {
  readonly concurrency?: number;
  readonly domains?: readonly string[];
  readonly hasFailedBefore?: (domain: string) => boolean;
  readonly credence?: Credence;
}

async function lookUpAll(script: Script, options: Trial = {}) {
  const { concurrency = 8, domains = DOMAINS, ...rest } = options;
  const context = { ...createTestContext(script, { retries: 2 }), ...rest };
  const outcomes: Outcome[] = [];
  const worker = createWorker({ ...context, concurrency });
  await worker.handle({ domains }, async (some) => void outcomes.push(...some));
  const asked = new Set(context.called).size;
  return { asked, outcomes, stopped: context.stopSwitch.stopped };
}

describe.each([1, 8])('the first calls, with %i callers', (concurrency) => {
  it.each<[name: string, answer: Answer, seen: string]>([
    ['404 with a page', page, 'not_found_page'],
    ['200 without JSON', invalid, 'no_json'],
    [
      '400 with a page, as to plain HTTP where TLS is spoken',
      { kind: 'rejected', httpStatus: 400, reason: '<html>', sign: 'bad_request_page' },
      'bad_request_page',
    ],
    [
      'a certificate that is not accepted',
      { ...tryAgain('tls_failure'), sign: 'tls_failure' },
      'tls_failure',
    ],
    [
      'a redirect elsewhere',
      {
        kind: 'refused',
        httpStatus: 301,
        reason: 'redirect_to_another_origin',
        sign: 'redirect_to_another_origin',
      },
      'redirect_to_another_origin',
    ],
  ])('stop the run at %s, and nothing of it is kept', async (_, answer, seen) => {
    const { asked, outcomes, stopped } = await lookUpAll(() => answer, { concurrency });
    expect(asked).toBe(5);
    expect(outcomes).toEqual([]);
    expect(stopped).toEqual({ reason: 'misdirected', seen });
  });

  it('let all others pass when they are honest 404s after a redirect', async () => {
    const script: Script = (_, call, path) => (call === 1 ? redirectOf(path) : notFound);
    const { outcomes, stopped } = await lookUpAll(script, { concurrency });
    expect(outcomes).toHaveLength(100);
    expect(stopped).toBeUndefined();
  });

  it('let all others pass when they differ, and are kept', async () => {
    const script: Script = (domain) => (domain === 'd1.com' ? found : page);
    const { outcomes, stopped } = await lookUpAll(script, { concurrency });
    expect(stopped).toBeUndefined();
    expect(outcomes.filter(({ status }) => status === 'not_found')).toHaveLength(99);
  });

  it.each([
    ['a page', page],
    ['no JSON, each time it is tried', invalid],
  ])('are believed when there are no more to tell: %s', async (_, answer) => {
    const domains = DOMAINS.slice(0, 4);
    const { outcomes, stopped } = await lookUpAll(() => answer, { concurrency, domains });
    expect(outcomes).toHaveLength(4);
    expect(stopped).toBeUndefined();
  });

  it('say nothing while they are server errors', async () => {
    const script: Script = (domain, call) =>
      call === 1 && domain < 'd2' ? tryAgain('http_503') : found;
    const { outcomes, stopped } = await lookUpAll(script, { concurrency });
    expect(outcomes.every(({ status }) => status === 'found')).toBe(true);
    expect(stopped).toBeUndefined();
  });
});

it('no more than five calls are under way before it is known how the first ones went', async () => {
  let underWay = 0;
  let most = 0;
  const script: Script = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setTimeout(resolve, 5));
    underWay -= 1;
    return page;
  };
  await lookUpAll(script, { concurrency: 32 });
  expect(most).toBeLessThanOrEqual(5);
});

it('a good answer that several companies hardly share is a sign when five domains got it', async () => {
  const writer = { server: '', form: 'json', names: [], tells: 'record' } as const;
  const same = { ...found, writer };
  expect(await lookUpAll(() => same)).toEqual({
    asked: 5,
    outcomes: [],
    stopped: { reason: 'misdirected', seen: 'same_answer' },
  });
  const few = await lookUpAll(() => same, { domains: DOMAINS.slice(0, 4) });
  expect(few.outcomes).toHaveLength(4);
  const other: Answer = { ...same, json: '{"a":2}' };
  const mixed = await lookUpAll((domain) => (at(domain) % 4 === 3 ? other : same));
  expect(mixed.outcomes).toHaveLength(100);
});

it('is so in mid-run, too, where nothing else came between, and no such answer is kept', async () => {
  const writer = { server: '', form: 'json', names: [], tells: 'record' } as const;
  const script: Script = (domain, call) => {
    // What differs from call to call makes no difference.
    const json = `{"city":"Oslo","time":${at(domain)},"request_id":"r${call}"}`;
    return at(domain) < 50 ? named(domain) : { ...found, json, writer };
  };
  const { asked, outcomes, stopped } = await lookUpAll(script, { concurrency: 1 });
  expect(asked).toBe(55);
  expect(outcomes).toHaveLength(50);
  expect(stopped).toMatchObject({ reason: 'refused', refusal: { httpStatus: 200 } });
});

it('whole records that differ are kept, each when the next one has come or none is to come', async () => {
  const writer = { server: '', form: 'json', names: [], tells: 'record' } as const;
  const script: Script = (domain) => ({ ...found, json: `{"name":"${domain}"}`, writer });
  for (const concurrency of [1, 8]) {
    expect((await lookUpAll(script, { concurrency })).outcomes).toHaveLength(100);
  }
});

const answered = (form: 'json' | 'page' | 'text', names: readonly string[] = [], server = '') => ({
  writer: { server, form, names },
});
const named = (domain: string): Answer => ({
  ...found,
  json: `{"domain":"${domain}"}`,
  writer: { server: 'api', form: 'json', names: [], tells: 'some' },
});
const at = (domain: string): number => Number(domain.slice(1, -4));

describe('in mid-run, where JSON came before,', () => {
  it.each<[string, Answer, string]>([
    ['a page', { ...page }, 'gateway_page'],
    [
      'a text',
      { kind: 'not_found', httpStatus: 404, ...answered('text', [], 'other') },
      'gateway_text',
    ],
    [
      'a page with 403',
      { kind: 'forbidden', httpStatus: 403, reason: '<html>', ...answered('page') },
      'gateway_page',
    ],
    [
      'a page with 200',
      {
        kind: 'invalid_response',
        httpStatus: 200,
        reason: 'x',
        isWhole: true,
        ...answered('page'),
      },
      'gateway_page',
    ],
    [
      'JSON of another server',
      { kind: 'not_found', httpStatus: 404, ...answered('json', ['error'], 'gateway') },
      'gateway_json',
    ],
    [
      'JSON that has no name in common with what the API says of unknown domains',
      { kind: 'not_found', httpStatus: 404, ...answered('json', ['message'], 'api') },
      'gateway_json',
    ],
  ])('%s is no verdict: it is tried again', async (_, foreign, reason) => {
    const unknown: Answer = {
      kind: 'not_found',
      httpStatus: 404,
      ...answered('json', ['error'], 'api'),
    };
    const script: Script = (domain, call) => {
      if (at(domain) === 70 || (at(domain) === 60 && call === 1)) return foreign;
      return at(domain) % 5 === 0 ? unknown : named(domain);
    };
    const { outcomes, stopped } = await lookUpAll(script);
    const byDomain = new Map(outcomes.map((outcome) => [outcome.domain, outcome]));
    expect(stopped).toBeUndefined();
    expect(byDomain.get('d60.com')).toMatchObject({ status: 'not_found' });
    expect(byDomain.get('d70.com')).toMatchObject({ status: 'failed', reason });
  });

  it('a text on which three domains stay, with successes between, is how the API speaks', async () => {
    const text: Answer = { kind: 'not_found', httpStatus: 404, ...answered('text') };
    const script: Script = (domain) =>
      at(domain) > 50 && at(domain) % 5 === 0 ? text : named(domain);
    const { outcomes } = await lookUpAll(script, { concurrency: 1 });
    const ends = outcomes.filter(({ domain }) => at(domain) > 50 && at(domain) % 5 === 0);
    expect(ends.map(({ status }) => status)).toEqual([
      'failed',
      'failed',
      'failed',
      'not_found',
      'not_found',
      'not_found',
      'not_found',
      'not_found',
      'not_found',
    ]);
  });
});

describe('the same refusal of different domains', () => {
  const refusal = (wording: string): Answer => ({
    kind: 'rejected',
    httpStatus: 400,
    reason: 'your plan has ended',
    writer: { server: '', form: 'json', names: ['error'], wording },
  });

  it.each([0, 50])('is about the caller after five, also from call %i on', async (from) => {
    const script: Script = (domain) => (at(domain) < from ? named(domain) : refusal('400 plan'));
    const { asked, outcomes, stopped } = await lookUpAll(script, { concurrency: 1 });
    expect(asked).toBe(from + 5);
    expect(outcomes).toHaveLength(from);
    expect(stopped).toEqual({
      reason: 'refused',
      refusal: { httpStatus: 400, said: 'your plan has ended' },
    });
  });

  it('is about the domains where successes come between', async () => {
    const script: Script = (domain) => (at(domain) % 3 === 0 ? refusal('400 no') : named(domain));
    const { outcomes, stopped } = await lookUpAll(script);
    expect(stopped).toBeUndefined();
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(34);
  });

  it('takes a longer row where many are refused, so that chance makes none', async () => {
    const isRefused = (domain: string): boolean => at(domain) % 10 < 7;
    const script: Script = (domain) => (isRefused(domain) ? refusal('400 no') : named(domain));
    const start = ['d7.com', 'd0.com', 'd8.com', ...DOMAINS.slice(10)];
    const { stopped } = await lookUpAll(script, { concurrency: 1, domains: start });
    expect(stopped).toBeUndefined();
  });

  it('says nothing about domains that were refused before', async () => {
    const credence = createCredence({ onDisbelief: () => {}, wasRefusedBefore: () => true });
    const { outcomes } = await lookUpAll(() => refusal('400 no'), { credence });
    expect(outcomes).toHaveLength(100);
  });
});

it('short lists add up: a long-lived worker needs its five domains over all of them', async () => {
  const context = createTestContext(() => page, { retries: 0 });
  const worker = createWorker({ ...context, concurrency: 4 });
  for (const domain of DOMAINS.slice(0, 8))
    await worker.handle({ domains: [domain] }, async () => {});
  expect(context.called).toHaveLength(5);
  expect(context.stopSwitch.stopped).toEqual({ reason: 'misdirected', seen: 'not_found_page' });
  const denied = createTestContext(() => ({ kind: 'forbidden', httpStatus: 403, reason: 'no' }));
  const other = createWorker({ ...denied, concurrency: 4 });
  for (const domain of DOMAINS.slice(0, 8))
    await other.handle({ domains: [domain] }, async () => {});
  expect(denied.stopSwitch.stopped).toMatchObject({ reason: 'forbidden' });
});
