import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import type { Outcome } from '../../src/brand/outcome.ts';
import { createWorker } from '../../src/worker/worker.ts';
import {
  createTestContext,
  found,
  invalid,
  notFound,
  type Script,
  throttled,
  tryAgain,
} from './lookups.ts';

const page: Answer = { kind: 'not_found', httpStatus: 404, isPage: true };
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
    [
      '404 in JSON, where the path has /v1 twice',
      { kind: 'not_found', httpStatus: 404, isDoubled: true },
      'not_found_doubled',
    ],
    ['200 without JSON', invalid, 'no_json'],
    [
      '400 with a page, as to plain HTTP where TLS is spoken',
      { kind: 'rejected', httpStatus: 400, reason: '<html>', isPage: true },
      'bad_request_page',
    ],
    ['a name that is not known', tryAgain('dns_failure'), 'dns_failure'],
    ['a certificate that is not accepted', tryAgain('tls_failure'), 'tls_failure'],
    ['a proxy that wants a password', tryAgain('proxy_407'), 'proxy_407'],
    [
      'a redirect elsewhere',
      { kind: 'refused', httpStatus: 301, reason: 'redirect_to_another_origin' },
      'redirect_to_another_origin',
    ],
  ])('stop the run at %s, and nothing of it is kept', async (_, answer, seen) => {
    const { asked, outcomes, stopped } = await lookUpAll(() => answer, { concurrency });
    expect(asked).toBe(5);
    expect(outcomes).toEqual([]);
    expect(stopped).toEqual({ reason: 'misdirected', seen });
  });

  it.each<[name: string, first: (path: string) => Answer, last: Answer, seen: string]>([
    ['a redirect on the same host', redirectOf, invalid, 'no_json'],
    ['a redirect on the same host', redirectOf, page, 'not_found_page'],
    ['429', () => throttled(0), invalid, 'no_json'],
    ['an error of the server', () => tryAgain('http_500'), page, 'not_found_page'],
  ])('stop the run at pages that come after %s', async (_, first, last, seen) => {
    const script: Script = (__, call, path) => (call === 1 ? first(path) : last);
    const { outcomes, stopped } = await lookUpAll(script, { concurrency });
    expect(stopped).toEqual({ reason: 'misdirected', seen });
    expect(outcomes).toEqual([]);
  });

  it('let all others pass when they are honest 404s after a redirect', async () => {
    const script: Script = (_, call, path) => (call === 1 ? redirectOf(path) : notFound);
    const { outcomes, stopped } = await lookUpAll(script, { concurrency });
    expect(outcomes).toHaveLength(100);
    expect(stopped).toBeUndefined();
  });

  it('let all others pass when they are honest 404s', async () => {
    const { asked, outcomes, stopped } = await lookUpAll(() => notFound, { concurrency });
    expect(asked).toBe(100);
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

  it('say nothing about domains that failed before', async () => {
    const options = { concurrency, hasFailedBefore: () => true };
    const { outcomes, stopped } = await lookUpAll(() => invalid, options);
    expect(outcomes.every(({ status }) => status === 'failed')).toBe(true);
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
