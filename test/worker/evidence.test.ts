import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { type Asked, createEvidence } from '../../src/worker/evidence.ts';
import type { Stop } from '../../src/worker/stop-switch.ts';
import { createLimits } from '../simulation/limits.ts';
import type { Limit } from '../simulation/world.ts';
import { createRandom } from '../support/random.ts';
import { away, found, limited, refused, rejected, run, type Script, throttled } from './harness.ts';

const SAID: Record<string, Meaning> = {
  home: found('Home'),
  no: rejected('no'),
  page: { ...rejected('404', 404), kind: 'not_found', form: 'page' },
  slow: throttled(),
  sure: { ...refused(401), isSure: true },
  html: { ...away(200), reason: 'no_json' },
};
const saidOf = (what: string, domain: string): Meaning => {
  if (what === 'found') return found(domain);
  if (what === 'odd') return rejected(domain);
  return SAID[what] ?? (what < '500' ? refused(Number(what)) : away(Number(what)));
};

/** What becomes of answers, other than good ones, and of what was held. A number: so many domains. */
async function weigh(steps: string): Promise<string> {
  const said: string[] = [];
  const onStop = ({ reason }: Stop): void => void said.push(`stop ${reason}`);
  const evidence = createEvidence({ callers: 8, first: 7, onStop });
  const lookups = new Map<string, Asked>();
  let ratePerMs = 1;
  for (const step of steps.split(', ')) {
    const [who = '', what = 'found', waits] = step.split(' ');
    let last = '';
    const ask = (domain: string): void => {
      const asked = lookups.get(domain) ?? { ...ASKED, domain };
      lookups.set(domain, asked);
      asked.begun = waits === 'late' ? 0 : evidence.begin();
      const retryAfterMs = waits === 'wait' ? 3_000 : undefined;
      const meaning = { ...saidOf(what, domain), retryAfterMs };
      const now = { isOut: false, ratePerMs, underWay: 0 };
      const { signal, verdict, isCleared } = evidence.note(meaning, asked, now);
      last = `${isCleared ? 'cleared ' : ''}${signal} `;
      if (typeof verdict === 'string') last += verdict;
      else void verdict.then((told) => said.push(`${domain[0]} ${told}`));
    };
    if (who === 'idle') evidence.idle();
    else if (who === 'askAgain') evidence.askAgain();
    else if (who === 'rate') ratePerMs = Number(what);
    else if (!Number(who)) ask(who);
    for (let left = Number(who); left > 0; left -= 1) ask(`n${lookups.size}`);
    said.push(last.trim());
    await nextTurn();
  }
  const bad = said.filter((word) => word !== '' && word !== 'good believe');
  return bad.filter((word, at) => word !== bad[at - 1]).join(', ');
}

const ASKED = { failures: 0, begun: 0, refusals: 0, refusedAs: '', successesThen: 0 };

/** Each of these domains gets the same so often, while others succeed. */
const often = (domains: string, what: string, times: number): string =>
  domains
    .split('')
    .map((domain) => Array(times).fill(`${domain} ${what}, 1`).join(', '))
    .join(', ');

it.each([
  ['a no, 1, 1, 1', 'none, a believe'],
  ['a no wait, n7, a no wait, a no wait', 'none, a again, none, none believe'],
  [
    `${often('ab', 'page', 2)}, c page, 1, d page, e no, 1 found late, n9 page, c page`,
    'none, a again, none believe, none, b again, none believe, none, c again, none, cleared none believe, d believe',
  ],
  [
    `${often('abc', '403', 3)}, d 403, 19 403, 1 403`,
    'none, a again, none, a again, none believe, none, b again, none, b again, none believe, none, c again, none, c again, cleared none believe, none believe, doubt',
  ],
  ['5 no, 1, e no', 'doubt, n again, none'],
  ['5 no, n6, a no, 1, a no, a no, 1, a no', 'doubt, n again, limit again, none believe'],
  ['1 no, 5 403, 1, 4 no', 'none, doubt, n again, none'],
  ['3 401, 3 403, 3 no, 1 odd', 'none'],
  ['19 odd, 1 odd', 'none, doubt'],
  ['19 html, 1 html', 'none retry, doubt again'],
  ['3 500, 2 502', 'none retry, doubt again'],
  ['5 500, n6, a 500, rate 0.5, 19 500, 1 500', 'doubt again, limit again, none retry'],
  [`${often('abcde', '500', 3)}, 9 500`, 'none retry, cleared none retry, none retry'],
  [often('a', '500 wait', 4), 'out again, own retry'],
  [`${often('a', 'slow', 4)}, 4, a slow`, 'limit again, own retry'],
  ['5 no, askAgain, n2 no, idle', 'doubt, n again, doubt, n again, n believe'],
  ['5 500, n2 500, n3 500, askAgain, 1, n4 500', 'doubt again, doubt, n again, none retry'],
  ['a 500, n9 500, a 403, 1', 'none retry, none, a again'],
  ['5 no wait, n6, n2 no wait', 'doubt, n again, limit again'],
  ['a no, 5 500, askAgain, 1', 'none, doubt again'],
  ['5 home, a home, 1, idle', 'none, doubt, n again, a again'],
  ['a 403, b no, idle', 'none, a again, b believe'],
])('once others were found, %s: %s', async (steps, told) => {
  expect(await weigh(`2, ${steps}`)).toBe(`n believe, ${told}`);
});

it.each([
  ['4 slow, 1, a slow', 'limit again, good, limit again'],
  ['a sure', 'stop unauthorized, none fail'],
  ['4 401, 1 401', 'none, stop unauthorized, none drop'],
  ['4 402, 1 402', 'none, stop quota, none drop'],
  ['6 page, 1 page', 'doubt, stop misdirected, none drop'],
  ['6 html, 1 html', 'none, stop misdirected, none drop'],
  ['4 home, 1 home, idle', 'none, stop misdirected, none drop, n drop'],
  ['1, a home, 1, b home, 4', 'good, n believe, none, b believe'],
  ['a 403, idle', 'none, a believe'],
  ['a no, b 401, idle', 'none, stop unauthorized, a drop, b drop'],
])('from the first call on, %s: %s', async (steps, told) => {
  expect(await weigh(steps)).toBe(told);
});

/** All are found, but for one domain in so many. */
function oddOnes(every: number, answer: (domain: string) => ReturnType<Script>): Script {
  return ({ domain, at }) => (at % every === every - 1 ? answer(domain) : found(domain));
}

describe('a refusal of a few domains, while others succeed, is about them', () => {
  it.each([401, 402, 403])('%i, however often it is asked', async (status) => {
    const ran = await run(oddOnes(20, () => refused(status)));
    expect(ran).toMatchObject({ statuses: { found: 57, rejected: 3 }, stopped: undefined });
    expect(Math.max(...ran.callsOf.values())).toBeLessThanOrEqual(3);
  });

  it('429, with a time and without, closes nothing for long', async () => {
    for (const retryAfterMs of [undefined, 10_000]) {
      const ran = await run(oddOnes(20, () => throttled(retryAfterMs)));
      expect(ran).toMatchObject({ statuses: { found: 57, failed: 3 }, stopped: undefined });
      expect(Math.max(...ran.callsOf.values())).toBeLessThanOrEqual(8);
      expect(ran.elapsedMs).toBeLessThan(120_000);
      expect(ran.pace.limit.limitIs).toBe('unknown');
    }
  });

  it('a plain one is asked once', async () => {
    const ran = await run(oddOnes(4, (domain) => rejected(`none of ${domain}`, 422)));
    expect(ran).toMatchObject({ statuses: { found: 45, rejected: 15 }, calls: 60 });
  });

  it('also where they are the last ones, with a time to ask again', async () => {
    const ran = await run(
      ({ domain, at }) =>
        at >= 30 ? { ...rejected('none here'), retryAfterMs: 5_000 } : found(domain),
      { concurrency: 32, domains: 50, maxWaitMs: 900_000 },
    );
    expect(ran.stopped).toBeUndefined();
    expect(Math.max(...ran.callsOf.values())).toBeLessThanOrEqual(4);
  });

  it('as is the 404 page of one in ten, with a time to ask again', async () => {
    const page = { ...rejected('404 page', 404), kind: 'not_found', form: 'page' } as const;
    const ran = await run(
      oddOnes(10, () => ({ ...page, retryAfterMs: 5_000 })),
      { domains: 300, concurrency: 256, rate: { count: 50, perMs: 1_000 } },
    );
    expect(ran.statuses).toEqual({ found: 270, not_found: 30 });
    expect(Math.max(...ran.callsOf.values())).toBeLessThanOrEqual(3);
    expect(ran.elapsedMs).toBeLessThan(15_000);
  });

  it.for([2, 3, 5])(
    'also where one of %i fails, which is no limit and no outage',
    async (every) => {
      const ran = await run(
        oddOnes(every, () => away(500)),
        { domains: 900, concurrency: 32, maxWaitMs: 600_000 },
      );
      const failed = 900 / every;
      expect(ran).toMatchObject({ statuses: { found: 900 - failed, failed }, stopped: undefined });
      expect(ran.elapsedMs).toBeLessThan(60_000);
    },
  );

  it('also where they come three in a row, so that they could take all callers', async () => {
    const ran = await run(({ at }) => (at % 10 < 3 ? away(500) : found(`d${at}.com`)), {
      domains: 900,
      concurrency: 32,
      maxWaitMs: 600_000,
    });
    expect(ran).toMatchObject({ statuses: { found: 630, failed: 270 }, stopped: undefined });
    expect(ran.elapsedMs).toBeLessThan(90_000);
  });
});

describe('a limit is found out by slowing down, whatever it is told with', () => {
  const family: Record<string, Meaning> = {
    500: away(500),
    503: away(503),
    509: away(509),
    529: away(529),
    'a reset': { ...away(0), httpStatus: undefined, form: 'none' },
    '403 without a word': refused(403),
    400: rejected('Rate exceeded'),
    'a 200 without a record': { ...found('{}'), json: '{}' } as Meaning,
    429: throttled(),
  };
  const limits = [
    { count: 15, perMs: 1_000, domains: 400 },
    { count: 1, perMs: 20, domains: 400 },
    { count: 300, perMs: 5_000, domains: 1_500 },
    { count: 60, perMs: 60_000, domains: 300 },
  ];
  it.each(
    Object.entries(family).flatMap(([name, refusal]) =>
      limits.map(({ count, perMs, domains }) => [name, count, perMs, domains, refusal] as const),
    ),
  )('%s beyond %i in %i ms', async (_, count, perMs, domains, refusal) => {
    const ran = await run(limited(count, refusal, perMs), {
      domains,
      concurrency: 256,
      maxWaitMs: 900_000,
    });
    expect(ran.stopped).toBeUndefined();
    expect(ran.statuses).toEqual({ found: domains });
    expect(ran.outcomes.filter(({ json }) => json === '{}').length).toBeLessThanOrEqual(1);
    expect(ran.calls).toBeLessThan(1.3 * domains);
    expect((ran.pace.limit.limitPerSecond ?? 0) / (count / perMs)).toBeGreaterThan(800);
    expect((ran.pace.limit.limitPerSecond ?? 0) / (count / perMs)).toBeLessThan(1_200);
  });

  it.each<readonly [string, number, Limit]>([
    ['20/s, burst 20', 20, { kind: 'leaky', count: 20, perMs: 1_000, burst: 20 }],
    ['200 in any 4 s', 50, { kind: 'sliding', count: 200, perMs: 4_000 }],
    ['300 in 5 s with waits', 60, { kind: 'fixed', count: 300, perMs: 5_000 }],
  ])('%s takes few 429s, none of them for a domain of its own', async (_, perSecond, limit) => {
    for (const refusalMs of [1, 20]) {
      const limits = createLimits({ limits: [limit] });
      const ran = await run(
        ({ domain, nowMs }) => {
          const { isAccepted, waitMs } = limits.arrive(nowMs);
          const retryAfterMs =
            limit.kind === 'fixed' ? Math.ceil(waitMs / 1_000) * 1_000 : undefined;
          return isAccepted ? found(domain) : throttled(retryAfterMs);
        },
        { domains: 1_200, concurrency: 256, maxWaitMs: 900_000, refusalMs },
      );
      expect(ran.statuses).toEqual({ found: 1_200 });
      expect(ran.calls).toBeLessThan((refusalMs === 1 ? 1.03 : 1.06) * 1_200);
      expect(ran.elapsedMs).toBeLessThan((1.15 * 1_200_000) / perSecond);
    }
  });

  it('but not for long from failures of one call in thirty, after a second in which all failed', async () => {
    const ran = await run(
      ({ domain, total, nowMs }) => {
        const isShort = nowMs > 1_000 && nowMs < 2_000;
        return isShort || (total * 7_919) % 31 === 0 ? away(500) : found(domain);
      },
      { domains: 20_000, concurrency: 64, retries: 6 },
    );
    expect(ran.statuses).toEqual({ found: 20_000 });
    expect(ran.elapsedMs).toBeLessThan(30_000); // 64 at once take 7 s
  });
});

describe('what all domains get is about the caller', () => {
  it.each([
    ['not_found_page', { ...rejected('', 404), kind: 'not_found', form: 'page' }],
    ['bad_request_page', { ...rejected('', 400), form: 'page' }],
    ['no_json', { ...away(200), reason: 'no_json', form: 'page' }],
    [
      'redirect_without_domain',
      { ...away(302), kind: 'failed', reason: 'redirect_without_domain' },
    ],
    [
      'redirect_to_another_origin',
      { ...away(302), kind: 'failed', reason: 'redirect_to_another_origin' },
    ],
    ['tls_failure', { ...away(0), httpStatus: undefined, reason: 'tls_failure', form: 'none' }],
  ] as const)('%s from the first five is a wrong address', async (seen, meaning) => {
    const ran = await run(() => meaning);
    expect(ran).toMatchObject({ calls: 5, outcomes: [], stopped: { reason: 'misdirected', seen } });
  });

  it('401 for the two domains of a list keeps nothing; a list that was bad before is believed', async () => {
    const evidence = { wasBadBefore: () => true };
    for (const status of [401, 403]) {
      const ran = await run(() => refused(status), { domains: 2 });
      expect(ran).toMatchObject({ outcomes: [], stopped: { refusal: { httpStatus: status } } });
      const again = await run(() => refused(status), { domains: 2, evidence });
      expect(again).toMatchObject({ statuses: { rejected: 2 }, stopped: undefined });
    }
  });

  it.each<readonly [string, Meaning, Record<string, number>]>([
    ['a 400', rejected('No such company'), { found: 3, rejected: 1 }],
    ['a record', found('d0.com'), { found: 4 }],
    ['a 403', refused(403), { found: 3 }],
  ])(
    'an interrupt waits for calls under way, and they tell of %s that came first',
    async (_, first, statuses) => {
      const ran = await run(({ domain, at }) => (at === 0 ? first : found(domain)), {
        interruptAt: 2,
      });
      expect(ran).toMatchObject({ calls: 4, statuses });
    },
  );

  it('401 for the last eight stops the run in the end, of the last three it is believed', async () => {
    for (const last of [8, 3]) {
      const ran = await run(({ domain, at }) => (at < 60 - last ? found(domain) : refused(401)));
      expect(ran.statuses).toEqual({ found: 60 - last, ...(last === 3 && { rejected: 3 }) });
      expect(ran.stopped?.reason).toBe(last === 3 ? undefined : 'unauthorized');
    }
  });

  it('a quota with a time is waited for, and what is not known is a good answer', async () => {
    const out = { ...throttled(2_000), kind: 'quota', said: 'none left' } as const;
    const unknown = { ...rejected('', 404), kind: 'not_found' } as const;
    const ran = await run(({ nowMs }) => (nowMs < 1_500 ? out : unknown));
    expect(ran).toMatchObject({ statuses: { not_found: 60 }, stopped: undefined });
    expect(ran.calls).toBeLessThanOrEqual(65);
  });

  it('one record for all stops it after five, and none is kept', async () => {
    const ran = await run(() => found('Home'));
    expect(ran).toMatchObject({ calls: 5, outcomes: [], stopped: { reason: 'misdirected' } });
  });

  it('that no call reaches the API costs five calls; of fewer domains each is tried again', async () => {
    const nowhere = { ...away(0), reason: 'proxy_407', form: 'none' } as const;
    const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
    const some = fc.tuple(upTo(9), upTo(4), upTo(3), upTo(99));
    const tried = fc.asyncProperty(some, async ([domains, more, retries, seed]) => {
      const random = createRandom(seed);
      const ran = await run(() => nowhere, { domains, concurrency: 4 + more, retries, random });
      const tries = [domains * (1 + retries), domains === 0 ? {} : { failed: domains }];
      expect([ran.calls, ran.statuses]).toEqual(domains >= 5 ? [5, {}] : tries);
    });
    await fc.assert(tried);
  });

  it('other refusals stop it after --max-wait, slowly, and what was found is kept', async () => {
    const ran = await run(
      ({ domain, total }) => (total > 20 ? rejected('no plan') : found(domain)),
      {
        maxWaitMs: 20_000,
        domains: 300,
      },
    );
    expect(ran.stopped).toMatchObject({ reason: 'refused', refusal: { said: 'no plan' } });
    expect(ran.statuses['found']).toBe(20);
    expect(ran.statuses['rejected']).toBeUndefined();
    expect(ran.calls).toBeLessThan(80);
  });

  it.for([
    ['refused', 12, rejected('invalid')],
    ['failed', 12, away(500)],
  ] as const)(
    'domains that are %s, %i before all good ones, make nothing slow for long, and none is paid for twice',
    async ([, odd, answer]) => {
      const ran = await run(({ domain, at }) => (at < odd ? answer : found(domain)), {
        domains: 3_000,
        concurrency: 32,
        maxWaitMs: 600_000,
      });
      expect(ran.stopped).toBeUndefined();
      expect(ran.statuses['found']).toBe(3_000 - odd);
      expect(Math.max(...[...ran.callsOf.values()].slice(odd))).toBe(1);
      expect(ran.elapsedMs).toBeLessThan(60_000);
    },
  );
});

describe('an outage', () => {
  it('holds calls back until it is over, and no lookup is lost', async () => {
    const ran = await run(
      ({ domain, nowMs }) => (nowMs > 200 && nowMs < 20_000 ? away(503) : found(domain)),
      { domains: 400, retries: 5 },
    );
    expect(ran).toMatchObject({ statuses: { found: 400 }, stopped: undefined });
    expect(ran.calls).toBeLessThan(470);
  });

  it('from the first call on costs no more than it takes', async () => {
    const out = { ...away(503), retryAfterMs: 2_000 };
    const ran = await run(({ domain, nowMs }) => (nowMs < 2_000 ? out : found(domain)), {
      concurrency: 4,
    });
    expect(ran.statuses).toEqual({ found: 60 });
    expect(ran.elapsedMs).toBeLessThan(5_000);
  });

  it('is noticed within a few tens of calls, and tried with one at a time', async () => {
    const metMs: number[] = [];
    const ran = await run(
      ({ domain, nowMs }) => {
        if (nowMs < 500 || nowMs > 40_000) return found(domain);
        metMs.push(nowMs);
        return away(500);
      },
      { domains: 2_000, concurrency: 32 },
    );
    expect(ran.statuses).toEqual({ found: 2_000 });
    expect(metMs.length).toBeLessThan(32 + 40);
    const probesMs = metMs.filter((nowMs) => nowMs > 1_000);
    for (const [at, nowMs] of probesMs.entries()) {
      expect(nowMs - (probesMs[at - 1] ?? 0)).toBeGreaterThan(20); // what a call takes
    }
  });

  it('that lasts stops the run', async () => {
    const ran = await run(({ domain, total }) => (total > 40 ? away(503) : found(domain)), {
      domains: 400,
    });
    expect(ran.stopped).toEqual({ reason: 'outage', trouble: 'http_503' });
  });
});

it('with --max-failed 100% a long row of refusals is believed', async () => {
  const ran = await run(() => rejected('none'), { evidence: { isTrusting: true } });
  expect(ran).toMatchObject({ calls: 60, statuses: { rejected: 60 }, stopped: undefined });
});

it('what a rule calls a quota, without a time, stops the run at once', async () => {
  const ran = await run(() => ({ ...throttled(), kind: 'quota', said: 'none left' }));
  expect(ran).toMatchObject({ statuses: {}, stopped: { reason: 'quota' } });
  expect(ran.calls).toBeLessThanOrEqual(5);
});

it('whatever the answers, the calls of a domain are bounded', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const ran = await run(
      ({ domain, at, nth }) => {
        const kinds = [found(domain), refused(403), throttled(), away(500), rejected('x')] as const;
        return kinds[(at * 7 + nth * seed + seed) % kinds.length] ?? found(domain);
      },
      { domains: 40, maxWaitMs: 30_000 },
    );
    expect(Math.max(...ran.callsOf.values())).toBeLessThanOrEqual(40);
  }
});

it('a fixed rate is never exceeded, and a budget neither', async () => {
  const startsMs: number[] = [];
  const ran = await run(
    ({ domain, nowMs }) => {
      startsMs.push(nowMs);
      return found(domain);
    },
    { domains: 60, rate: { count: 10, perMs: 1_000 }, maxCalls: 45 },
  );
  expect(ran).toMatchObject({ calls: 45, stopped: { reason: 'max_calls' } });
  for (const [at, startMs] of startsMs.entries()) {
    const eleventh = startsMs[at + 10];
    if (eleventh !== undefined) expect(eleventh - startMs).toBeGreaterThanOrEqual(990);
  }
});
