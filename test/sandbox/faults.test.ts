import { describe, expect, it } from 'vitest';
import { hashText } from '../../src/sandbox/brand-answer.ts';
import type { SandboxOptions, SandboxReply } from '../../src/sandbox/options.ts';
import { createReplies } from '../../src/sandbox/replies.ts';
import { ask, askAll, createDomains, openCall, openSandbox } from './sandboxes.ts';

const domains = createDomains(5000);

/** The statuses of one call for each domain; 0 for no answer. */
function statusesOf(options: SandboxOptions, ordinal = 1): number[] {
  const replies = createReplies(options);
  return domains
    .map((domain) => ({
      domain,
      hash: hashText(domain, options.seed ?? 1),
      ordinal,
      host: '',
      isReused: false,
    }))
    .map(replies)
    .map((reply) => (typeof reply === 'string' ? 0 : (reply.status ?? 200)));
}

describe('sandbox faults', () => {
  it('hit the share of calls they should', () => {
    const failed = statusesOf({ errors: 0.2 }).filter((status) => status >= 500);
    expect(failed.length / domains.length).toBeCloseTo(0.2, 1);
    expect(new Set(failed)).toEqual(new Set([500, 502, 503]));
  });

  it('are the same for the same seed, and others for another seed or call', () => {
    const first = statusesOf({ errors: 0.3, seed: 7 });
    expect(statusesOf({ errors: 0.3, seed: 7 })).toEqual(first);
    expect(statusesOf({ errors: 0.3, seed: 8 })).not.toEqual(first);
    const second = statusesOf({ errors: 0.3, seed: 7 }, 2);
    const twice = domains.filter(
      (_, index) => (first[index] ?? 0) >= 500 && (second[index] ?? 0) >= 500,
    );
    expect(twice.length / domains.length).toBeCloseTo(0.09, 1);
  });

  it('leave no answer usable when broken, in five ways', async () => {
    const sandbox = await openSandbox({ broken: 1 });
    const got = await askAll(sandbox, domains.slice(0, 60));
    expect(got.filter(({ text }) => isJson(text))).toEqual([]);
    expect(new Set(got.map(({ text }) => text.slice(0, 9)))).toEqual(
      new Set(['', '<!doctype', '{"name":"']),
    );
    const { faulted, unanswered, charged } = sandbox.stats();
    expect(faulted).toBe(60);
    expect(unanswered).toBeGreaterThan(0);
    expect(charged).toBe(0);
  });
});

describe('respond', () => {
  it('scripts answers call by call and leaves the rest to the sandbox', async () => {
    const script: SandboxReply[] = [
      { status: 503, headers: { 'Retry-After': '7' }, body: 'later' },
      { status: 200, body: { fine: true } },
    ];
    const sandbox = await openSandbox({
      respond: (domain, call) => (domain === 'a.com' ? script[call - 1] : undefined),
    });
    const later = await ask(sandbox, 'a.com');
    expect([later.status, later.headers.get('retry-after'), later.text]).toEqual([
      503,
      '7',
      'later',
    ]);
    expect((await ask(sandbox, 'a.com')).text).toBe('{"fine":true}');
    expect(JSON.parse((await ask(sandbox, 'a.com')).text)).toMatchObject({ domain: 'a.com' });
  });

  it('can reset, hang or break off', async () => {
    const replies: Record<string, SandboxReply> = {
      'reset.com': 'reset',
      'hang.com': 'hang',
      'cut.com': { body: { long: 'x'.repeat(1000) }, breakOff: true },
    };
    const sandbox = await openSandbox({ respond: (domain) => replies[domain] });
    await expect(ask(sandbox, 'reset.com')).rejects.toThrow();
    await expect(ask(sandbox, 'cut.com')).rejects.toThrow();
    const hanging = await openCall(sandbox, 'hang.com');
    expect(sandbox.stats()).toMatchObject({
      calls: 3,
      faulted: 3,
      unanswered: 2,
      byStatus: { 200: 1 },
    });
    await hanging.leave();
    expect(sandbox.stats().concurrency.now).toBe(0);
  });

  it('that throws answers 500 with what it threw', async () => {
    const defect = new TypeError("Cannot read properties of undefined (reading 'name')");
    const respond = (): never => {
      throw defect;
    };
    const { status, text } = await ask(await openSandbox({ respond }), 'a.com');
    const error = { code: 'respond_threw', message: String(defect) };
    expect([status, JSON.parse(text)]).toEqual([500, { error }]);
  });

  it.each<[string, unknown, RegExp]>([
    ['a status that there is not', { status: 99 }, /status from 200 to 999, received 99/],
    ['a header that no HTTP carries', { headers: { a: 'b\r\nc' } }, /Invalid character in header/],
    ['a header with a space in its name', { headers: { 'a b': 'c' } }, /valid HTTP token/],
    ['a body of which JSON has nothing', { body: () => 1 }, /JSON, received a function/],
    ['another word', 'rest', /expected an answer, 'reset' or 'hang', received a string/],
    ['a promise', Promise.resolve({ body: {} }), /'reset' or 'hang', received a promise/],
  ])('that gives %s answers 500 with why', async (_, reply, why) => {
    const sandbox = await openSandbox({ respond: () => reply as SandboxReply });
    const { status, text } = await ask(sandbox, 'a.com');
    expect(status).toBe(500);
    expect(text).toMatch(why);
    expect(sandbox.stats().byStatus).toEqual({ 500: 1 });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
