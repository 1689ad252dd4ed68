import { describe, expect, it } from 'vitest';
import { ask, askAll, get, openCall, openSandbox } from './sandboxes.ts';

describe('sandbox stats', () => {
  it('name the domains that were answered more than once', async () => {
    const sandbox = await openSandbox();
    await askAll(sandbox, ['a.com', 'b.com', 'c.com', 'b.com']);
    const { calls, byStatus, charged, domains } = sandbox.stats();
    expect({ calls, byStatus, charged }).toEqual({ calls: 4, byStatus: { 200: 4 }, charged: 4 });
    expect(domains).toEqual({
      distinct: 3,
      mostCalls: 2,
      repeated: 1,
      repeats: [{ domain: 'b.com', calls: 2, answered: 2, faulted: 0, throttled: 0 }],
    });
  });

  it('tell a retry from a duplicate', async () => {
    const statuses = [500, 429, 200];
    const sandbox = await openSandbox({
      respond: (_, call) => ({ status: statuses[call - 1] ?? 404 }),
    });
    for (const _ of statuses) await ask(sandbox, 'a.com');
    expect(sandbox.callsOf('a.com')).toEqual({ calls: 3, answered: 1, faulted: 1, throttled: 1 });
    expect(sandbox.stats()).toMatchObject({
      faulted: 1,
      throttled: 1,
      domains: { mostCalls: 3, repeated: 0 },
    });
  });

  it('count no domain for a call without a valid one', async () => {
    const sandbox = await openSandbox();
    await askAll(sandbox, ['', 'nonsense']);
    expect(sandbox.stats()).toMatchObject({
      calls: 2,
      byStatus: { 400: 1, 422: 1 },
      charged: 0,
      domains: { distinct: 0 },
    });
  });

  it('count a call whose caller left as abandoned', async () => {
    const sandbox = await openSandbox({ latencyMs: 60_000 });
    await (await openCall(sandbox, 'a.com')).leave();
    expect(sandbox.stats()).toMatchObject({ abandoned: 1, concurrency: { now: 0 } });
    expect(sandbox.callsOf('a.com')).toMatchObject({ calls: 1, answered: 0 });
  });

  it('begin anew after a reset, and so do the ordinals of the calls', async () => {
    const ordinals: number[] = [];
    const sandbox = await openSandbox({
      respond(_, call) {
        ordinals.push(call);
        return undefined;
      },
    });
    await ask(sandbox, 'a.com');
    await ask(sandbox, 'a.com');
    expect((await get(`${sandbox.url}/reset`, { method: 'POST' })).status).toBe(200);
    expect(sandbox.stats()).toMatchObject({ calls: 0, byStatus: {}, firstCallAt: null });
    await ask(sandbox, 'a.com');
    expect(ordinals).toEqual([1, 2, 1]);
  });
});
