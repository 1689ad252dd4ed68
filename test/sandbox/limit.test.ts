import { describe, expect, it } from 'vitest';
import { ask, askAll, createDomains, openCall, openSandbox } from './sandboxes.ts';

describe('sandbox limit', () => {
  it('answers 429 at once, in JSON, and counts nothing against the domain', async () => {
    const sandbox = await openSandbox({
      limit: { count: 1, perMs: 60_000 },
      latencyMs: { fromMs: 10, toMs: 20 },
    });
    await ask(sandbox, 'a.com');
    const refused = await ask(sandbox, 'b.com');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'rate_limited' } });
    expect(sandbox.callsOf('b.com')).toEqual({ calls: 1, answered: 0, faulted: 0, throttled: 1 });
    expect(sandbox.stats()).toMatchObject({ throttled: 1, charged: 1 });
  });

  it('may be answered 503, as some gateways do', async () => {
    const limit = { count: 1, perMs: 60_000 };
    const sandbox = await openSandbox({ limit, limitStatus: 503 });
    await ask(sandbox, 'a.com');
    expect((await ask(sandbox, 'b.com')).status).toBe(503);
    expect(sandbox.stats()).toMatchObject({ byStatus: { 200: 1, 503: 1 }, charged: 1 });
  });

  it('speaks of the limit on every answer in the styles that do', async () => {
    const sandbox = await openSandbox({
      limit: { count: 5, perMs: 60_000 },
      limitKind: 'sliding-window',
      limitHeaders: 'ratelimit',
    });
    const { headers } = await ask(sandbox, 'a.com');
    expect(headers.get('ratelimit')).toBe('"default";r=4;t=60');
    expect(headers.get('ratelimit-policy')).toBe('"default";q=5;w=60');
  });

  it('holds the number of calls open at once, and gives the place of each ended one back', async () => {
    const sandbox = await openSandbox({
      limit: { count: 3, perMs: 1000 },
      limitKind: 'concurrent',
      respond: (domain) => (domain.endsWith('.com') ? 'hang' : undefined),
    });
    const calls = await Promise.all(createDomains(3).map((domain) => openCall(sandbox, domain)));
    expect((await askAll(sandbox, ['a.net', 'b.net'])).map(({ status }) => status)).toEqual([
      429, 429,
    ]);
    await calls[0]?.leave();
    for (const [domain, status] of [
      ['nonsense', 422],
      ['a.net', 200],
      ['b.net', 200],
    ] as const) {
      expect((await ask(sandbox, domain)).status).toBe(status);
    }
    expect(sandbox.stats().concurrency.highest).toBe(3);
  });
});

describe('sandbox quota', () => {
  it('answers 402 once the charged calls are used up; faults are not charged', async () => {
    const sandbox = await openSandbox({
      quota: 2,
      respond: (domain) => (domain === 'fault.com' ? { status: 500 } : undefined),
    });
    const statuses: number[] = [];
    for (const domain of ['a.com', 'fault.com', 'b.com', 'c.com']) {
      statuses.push((await ask(sandbox, domain)).status);
    }
    expect(statuses).toEqual([200, 500, 200, 402]);
  });

  it('is exact under calls at the same time', async () => {
    const sandbox = await openSandbox({ quota: 5, latencyMs: 20 });
    const got = await askAll(sandbox, createDomains(12));
    expect(got.filter(({ status }) => status === 200)).toHaveLength(5);
  });
});
