import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import type { StopReason } from '../../src/calls/stops.ts';
import { Diagnosis, type DiagnosisOptions, type Signal } from '../../src/worker/diagnosis.ts';
import { createPace } from '../../src/worker/pace.ts';
import type { Subject } from '../../src/worker/withheld.ts';
import * as answer from './meanings.ts';

/** A diagnosis whose answers a test gives. Earlier runs had good ones, unless it says otherwise. */
function open(options: Partial<DiagnosisOptions> = {}) {
  const stops: StopReason[] = [];
  const did: string[] = [];
  const pace = { ...createPace(0, { limitPerMs: 0, cap: 0 }), flowPerMs: 1 };
  const note = (what: string) => (): void => {
    pace.climbToPerMs = what === 'resume' ? 0 : 1;
    pace.ratePerMs = 1;
    did.push(what);
  };
  const diagnosis = new Diagnosis({
    onStop: ({ reason }) => stops.push(reason),
    home: { pace, slow: note('slow'), climb: note('climb'), resume: note('resume') },
    nowMs: () => 0,
    retries: 5,
    hasAnswered: true,
    ...options,
  });
  const lookups = new Map<string, Subject>();
  const verdicts = new Map<string, string>();
  let named = 0;
  /** A domain is answered. Returns what that tells of the pace. */
  function hear(
    domain: string,
    meaning: Meaning = answer.found(domain),
    call = diagnosis.begin(),
    asked = lookups.get(domain) ?? { domain },
  ) {
    lookups.set(domain, asked);
    const { signal, verdict } = diagnosis.note(meaning, asked, call);
    verdicts.set(domain, typeof verdict === 'string' ? verdict : 'held');
    if (typeof verdict !== 'string') void verdict.then((told) => verdicts.set(domain, told));
    return signal;
  }
  /** So many new domains are answered. */
  function several(count: number, meaningOf: (domain: string) => Meaning = answer.found) {
    const domains = Array.from({ length: count }, () => `n${(named += 1)}.example`);
    for (const domain of domains) hear(domain, meaningOf(domain));
    return domains;
  }
  /** What became of the answers about some domains. */
  async function became(domains: readonly string[]) {
    await nextTurn();
    return domains.map((domain) => verdicts.get(domain));
  }
  /**
   * Of so many domains each is refused as often as others are well in between; nine new ones, then.
   */
  async function refuse(domains: number, times: number, meaningOf = answer.forbidden) {
    for (let at = 0; at < domains; at += 1) {
      const domain = `odd${at}.example`;
      for (let time = 0; time < times; time += 1) {
        hear(domain, meaningOf(domain));
        several(1);
        await nextTurn();
      }
      several(9);
    }
  }
  const probed = (meaning: Meaning): Signal => diagnosis.noteProbe(meaning, diagnosis.begin());
  return { diagnosis, did, stops, hear, several, became, refuse, probed };
}

/** A reply about so many new domains, of which the first ones are answered otherwise. */
function replyAbout(count: number, odd: readonly Meaning[] = []) {
  return Array.from({ length: count }, (_, at) => {
    const domain = `part${(parts += 1)}.example`;
    return [odd[at] ?? answer.found(domain), { domain }] as const;
  });
}
let parts = 0;

const allOf = (count: number, what: string): string[] => Array<string>(count).fill(what);

describe('a refusal is asked again', () => {
  it('after a good answer to another domain whose call began when it was known', async () => {
    const { diagnosis, hear, became } = open();
    hear('first.example');
    const earlier = diagnosis.begin();
    hear('odd.example', answer.forbidden());
    hear('early.example', undefined, earlier);
    expect(await became(['odd.example'])).toEqual(['held']);
    hear('next.example');
    expect(await became(['odd.example'])).toEqual(['again']);
  });

  it('the latest domain after each good answer', async () => {
    const { several, became } = open();
    several(100);
    const odd = several(4, answer.forbidden);
    several(1);
    expect(await became(odd)).toEqual(['held', 'held', 'held', 'again']);
    several(3);
    expect(await became(odd)).toEqual(allOf(4, 'again'));
  });

  it('until four domains show that it is their own; then it is believed, and checked at times', async () => {
    const { several, became, refuse } = open();
    several(100);
    await refuse(4, 2);
    const told: (string | undefined)[] = [];
    for (let domain = 0; domain < 100; domain += 1) {
      const odd = several(1, answer.forbidden);
      several(9);
      told.push(...(await became(odd)));
    }
    const checked = told.flatMap((what, at) => (what === 'again' ? [at + 1] : []));
    expect(checked).toEqual([2, 4, 8, 16, 32, 50, 100]);
  });

  it('repeats that came after the same good answer count once', async () => {
    const { hear, several, became } = open();
    several(100);
    const odd = several(4, answer.forbidden);
    several(20);
    expect(await became(odd)).toEqual(allOf(4, 'again'));
    for (const domain of odd) hear(domain, answer.forbidden(domain));
    const next = several(1, answer.forbidden);
    several(9);
    expect(await became(next)).toEqual(['again']);
  });

  it('and one that is as good as any other by then is tried as after a failure', async () => {
    const { hear, several, became } = open();
    several(100);
    for (const domain of several(3, answer.forbidden)) {
      several(1);
      await nextTurn();
      hear(domain);
    }
    expect(await became(several(1, answer.forbidden))).toEqual(['soon']);
  });
});

describe('a row that chance does not explain asks for a probe', () => {
  /** Thirty were found, and then so many get JSON 404, as in a deploy. */
  function deploy(count = 6) {
    const opened = open();
    opened.several(30);
    const odd = opened.several(count, () => answer.unknown());
    return { ...opened, odd };
  }

  it('when two fail all is down: no call starts, and what came is no verdict', async () => {
    const { diagnosis, odd, several, became, probed } = deploy();
    expect(diagnosis.probe).toMatch(/^n\d+\.example$/);
    const [before] = [diagnosis.probe];
    expect([probed(answer.unknown()), probed(answer.unknown())]).toEqual(['none', 'failing']);
    expect(diagnosis.probe).not.toBe(before);
    expect(diagnosis.mayStart(0)).toBe(false);
    expect(diagnosis.trouble).toMatchObject({ isDown: true, meaning: { httpStatus: 404 } });
    expect(probed(answer.found('n1.example'))).toBe('good');
    expect(await became(odd)).toEqual(allOf(6, 'again'));
    expect([diagnosis.probe, diagnosis.trouble, diagnosis.mayStart(9)]).toEqual([
      undefined,
      undefined,
      true,
    ]);
    several(1);
    expect(await became(odd)).toEqual(allOf(6, 'again'));
  });

  it('when one is well the verdicts are believed', async () => {
    const { diagnosis, odd, became, probed } = deploy();
    expect(probed(answer.found('n1.example'))).toBe('good');
    expect(await became(odd)).toEqual(allOf(6, 'believe'));
    expect(diagnosis.probe).toBeUndefined();
  });

  it('when one is well, what fails is tried again once, though retries better it for nobody', async () => {
    const { diagnosis, several, became, refuse, probed } = open();
    several(2_000);
    await refuse(5, 4, answer.away);
    expect(diagnosis.findings()).toMatchObject([{ about: 'own' }]);
    const odd = several(12, answer.away);
    expect((await became(odd)).slice(-1)).toEqual(['held']);
    probed(answer.found('n1.example'));
    expect((await became(odd)).slice(-1)).toEqual(['retry']);
  });

  it('when none can be paid for it is taken for down, and one lookup after the other is asked again', async () => {
    const { diagnosis, odd, hear, became } = deploy();
    diagnosis.giveUpProbe();
    diagnosis.askAgain();
    expect(await became(odd)).toEqual(['again', ...allOf(5, 'held')]);
    expect(hear(odd[0] ?? '', answer.unknown())).toBe('failing');
    diagnosis.askAgain();
    await nextTurn();
    hear(odd[1] ?? '');
    expect(await became(odd)).toEqual(['again', 'believe', ...allOf(4, 'again')]);
  });

  it('an answer to a call of before is no sign that all is well again', async () => {
    const { diagnosis, hear, several, became } = open();
    several(30);
    const earlier = diagnosis.begin();
    const odd = several(6, () => answer.unknown());
    hear('early.example', undefined, earlier);
    expect(await became(odd)).toEqual(allOf(6, 'held'));
  });

  it('records of another domain that are alike are a row, and a probe with that record fails', async () => {
    const { diagnosis, several, became, probed } = open();
    several(30);
    const alike = several(8, () => answer.found('Sign in'));
    expect(await became(alike)).toEqual([...allOf(4, 'believe'), ...allOf(4, 'held')]);
    several(3, () => answer.found('Sign in'));
    if (diagnosis.probe) expect(probed(answer.found('Sign in'))).toBe('none');
  });
});

it('a refusal is its domain’s own, whatever failed in between', async () => {
  const { hear, several, became } = open();
  several(300);
  for (let time = 0; time < 8; time += 1) {
    hear('odd.example', answer.invalid());
    several(1);
    if (time % 3 === 0) {
      hear('odd.example', answer.broken());
      several(1);
    }
    await nextTurn();
  }
  expect(await became(['odd.example'])).toEqual(['believe']);
});

describe('at the end of a list', () => {
  it('what is withheld is asked again one by one, after pauses, and believed when a probe is well', async () => {
    const { diagnosis, hear, several, became, probed } = open();
    several(30);
    const odd = several(2, answer.forbidden);
    const [first = '', last = ''] = odd;
    expect(diagnosis.pauseMs).toBe(150);
    diagnosis.idle(0);
    expect(await became(odd)).toEqual(['held', 'again']);
    hear(last, answer.forbidden(last));
    expect(diagnosis.pauseMs).toBe(450);
    diagnosis.idle(0);
    expect(await became(odd)).toEqual(['again', 'held']);
    hear(first, answer.forbidden(first));
    expect(diagnosis.pauseMs).toBe(0);
    diagnosis.idle(0);
    expect(await became(odd)).toEqual(['held', 'held']);
    probed(answer.found('n30.example'));
    diagnosis.idle(0);
    expect(await became(odd)).toEqual(['believe', 'believe']);
  });

  it('one that is well after a pause gives all others more tries', async () => {
    const { diagnosis, hear, several, became } = open();
    several(30);
    const odd = several(3, answer.forbidden);
    const [first = '', second = '', last = ''] = odd;
    diagnosis.idle(0);
    await nextTurn();
    hear(last);
    expect(await became(odd)).toEqual(['held', 'again', 'believe']);
    for (const domain of [second, first, second, first]) {
      hear(domain, answer.forbidden(domain));
      diagnosis.idle(0);
      expect(await became([first, second])).toContain('again');
    }
  });

  it('what a domain that is well got of late, too, is tried again after a pause', async () => {
    const { diagnosis, hear, several, became, probed } = open();
    several(30);
    const odd = several(2, answer.forbidden);
    for (let time = 0; time < 3; time += 1) {
      diagnosis.idle(0);
      if (time > 0) {
        probed(time === 1 ? answer.forbidden() : answer.found('n30.example'));
        if (diagnosis.probe) probed(answer.found('n30.example'));
        diagnosis.idle(0);
      }
      if (time < 2) for (const domain of odd) hear(domain, answer.forbidden(domain));
    }
    expect(await became(odd)).toEqual(['retry', 'retry']);
  });

  it('what is about who asks is no verdict when two probes get it too', async () => {
    const { diagnosis, hear, several, became, probed } = open();
    several(30);
    const odd = several(2, answer.unauthorized);
    for (const domain of odd.toReversed()) {
      diagnosis.idle(0);
      await nextTurn();
      hear(domain, answer.unauthorized());
    }
    diagnosis.idle(0);
    expect(probed(answer.unauthorized())).toBe('none');
    expect(probed(answer.unauthorized())).toBe('failing');
    expect(diagnosis.trouble).toMatchObject({ isDown: true, meaning: { httpStatus: 401 } });
    diagnosis.end();
    expect(await became(odd)).toEqual(['drop', 'drop']);
  });

  it.each([
    { probes: [answer.found('n30.example')], holds: 'retry' },
    { probes: [answer.away(), answer.found('n30.example')], holds: 'again' },
    { probes: [answer.away(), answer.away()], holds: 'held' },
  ])('one that fails again beside nobody who is well waits for probes: $holds', async (given) => {
    const { diagnosis, hear, several, became, probed } = open();
    several(30);
    hear('last.example', answer.away());
    expect(await became(['last.example'])).toEqual(['retry']);
    hear('last.example', answer.away());
    expect(await became(['last.example'])).toEqual(['held']);
    diagnosis.idle(0);
    for (const meaning of given.probes) probed(meaning);
    expect(await became(['last.example'])).toEqual([given.holds]);
    expect(diagnosis.trouble?.isDown ?? false).toBe(given.holds === 'held');
  });

  it('twice the same is no verdict where others, who share the pace, may have seen it bettered', async () => {
    const pace = createPace(0, { limitPerMs: 0, cap: 0 });
    const others = { areThere: true, found: undefined };
    const home = { pace, slow: () => {}, climb: () => {}, resume: () => {}, others };
    const { diagnosis, hear, several, became, probed } = open({ home });
    several(30);
    const became4: unknown[] = [];
    for (let time = 0; time < 4; time += 1) {
      hear('odd.example', answer.forbidden());
      diagnosis.idle(0);
      if (diagnosis.probe) probed(answer.found('n30.example'));
      diagnosis.idle(0);
      became4.push(...(await became(['odd.example'])));
    }
    expect(became4).toEqual(['again', 'again', 'again', 'believe']);
  });

  it.each([
    { who: 'nobody else is there', areThere: false, holds: 'believe' },
    { who: 'others share the pace', areThere: true, holds: 'again' },
  ])('a page for the only domain that was asked about here, where $who', async (given) => {
    const pace = createPace(0, { limitPerMs: 0, cap: 0 });
    const others = { areThere: given.areThere, found: undefined };
    const home = { pace, slow: () => {}, climb: () => {}, resume: () => {}, others };
    const { diagnosis, hear, became } = open({ home });
    hear('only.example', answer.page());
    diagnosis.idle(0);
    expect(await became(['only.example'])).toEqual([given.holds]);
  });

  it('what comes by chance is asked again, beside a probe that is well, and costs no attempt', async () => {
    const { diagnosis, hear, several, became, probed } = open();
    several(100);
    for (const domain of several(12, answer.forbidden)) {
      several(1);
      await nextTurn();
      hear(domain);
    }
    hear('last.example', answer.forbidden());
    hear('last.example', answer.forbidden());
    expect(await became(['last.example'])).toEqual(['held']);
    diagnosis.idle(0);
    probed(answer.found('n30.example'));
    expect(await became(['last.example'])).toEqual(['again']);
  });

  it('five that are not known ask for a probe first', async () => {
    const { diagnosis, several, became, probed } = open();
    several(2_000);
    const odd = ['a', 'b', 'c', 'd', 'e'].flatMap((name) =>
      several(1, () => answer.forbidden(name)),
    );
    diagnosis.idle(0);
    if (!diagnosis.probe) throw new Error('No probe is wanted.');
    expect(await became(odd)).toEqual(allOf(5, 'held'));
    probed(answer.found(''));
    expect((await became(odd)).includes('again')).toBe(true);
  });

  it.each([
    { gets: answer.found('Holding'), stops: [], holds: 'believe' },
    { gets: answer.unknown(), stops: [], holds: 'believe' },
    { gets: answer.forbidden(), stops: [], holds: 'believe' },
    { gets: answer.unauthorized(), stops: ['unauthorized'], holds: 'drop' },
  ])('of one domain, $gets.reason: $holds', async ({ gets, stops, holds }) => {
    const opened = open({ hasAnswered: false });
    opened.hear('only.example', gets);
    opened.diagnosis.idle(0);
    expect(await opened.became(['only.example'])).toEqual([holds]);
    expect(opened.stops).toEqual(stops);
  });
});

describe('a stop', () => {
  it('lets what is held go: records that were paid for, and verdicts that are known', async () => {
    const { diagnosis, several, became } = open();
    several(100);
    const alike = several(5, () => answer.found('Holding'));
    const [unknown, forbidden] = [several(1, () => answer.unknown()), several(1, answer.forbidden)];
    diagnosis.end();
    diagnosis.idle(0);
    expect(await became([...unknown, ...forbidden])).toEqual(['believe', 'drop']);
    expect(await became(alike)).toEqual(allOf(5, 'believe'));
  });

  it('keeps no verdict of a time in which all was doubted', async () => {
    const { diagnosis, several, became } = open();
    several(30);
    const odd = several(6, () => answer.unknown());
    diagnosis.end();
    expect(diagnosis.probe).toBeUndefined();
    diagnosis.idle(0);
    expect(await became(odd)).toEqual(allOf(6, 'drop'));
  });

  it.each([
    {
      gets: { ...answer.unauthorized(), isSure: true },
      count: 1,
      stops: ['unauthorized'],
      last: 'fail',
    },
    { gets: answer.quota(), count: 1, stops: ['quota'], last: 'drop' },
    { gets: answer.later(answer.quota(), 1_000), count: 5, stops: [], last: 'again' },
    { gets: answer.found('Sign in'), count: 5, stops: ['misdirected'], last: 'drop' },
    { gets: answer.unknown(), count: 5, stops: ['misdirected'], last: 'drop' },
  ])(
    'comes at the start with $count times $gets.reason ($gets.kind): $stops',
    async ({ gets, count, stops, last }) => {
      const opened = open({ hasAnswered: false });
      const domains = opened.several(count, () => gets);
      expect(opened.stops).toEqual(stops);
      opened.diagnosis.idle(0);
      const became = await opened.became(domains);
      expect(became.at(-1)).toBe(last);
      expect(became).not.toContain('believe');
    },
  );

  it.each([{ isTrusting: true }, { wasBadBefore: () => true }])(
    'does not come for refusals alone with %o',
    async (options) => {
      const { several, stops } = open({ hasAnswered: false, ...options });
      several(50, () => answer.invalid('none'));
      expect(stops).toEqual([]);
    },
  );
});

describe('first calls that would stop a worker that shares its pace', () => {
  it.each([
    { found: undefined, atMs: 2_999, probe: undefined, stops: [], starts: false },
    { found: undefined, atMs: 3_000, probe: undefined, stops: ['forbidden'], starts: false },
    { found: 'known.example', atMs: 100, probe: 'known.example', stops: [], starts: false },
  ])(
    'give others three seconds to find a domain, which is then asked about: $found at $atMs ms',
    ({ found, atMs, probe, stops, starts }) => {
      let nowMs = 0;
      const others: { areThere: boolean; found: string | undefined } = {
        areThere: true,
        found: undefined,
      };
      const pace = createPace(0, { limitPerMs: 0, cap: 0 });
      const home = { pace, slow: () => {}, climb: () => {}, resume: () => {}, others };
      const opened = open({ hasAnswered: undefined, home, nowMs: () => nowMs });
      opened.several(5, answer.forbidden);
      expect(opened.stops).toEqual([]);
      nowMs = atMs;
      others.found = found;
      opened.diagnosis.hearOthers();
      expect(opened.stops).toEqual(stops);
      expect(opened.diagnosis.probe).toBe(probe);
      expect(opened.diagnosis.mayStart(0)).toBe(starts);
    },
  );

  it('are the domains’ own where that one is well, and stop where it is not', () => {
    for (const [meaning, stops] of [
      [answer.found('known.example'), []],
      [answer.forbidden(), ['forbidden']],
    ] as const) {
      const opened = open({ hasAnswered: true, foundBefore: ['known.example'] });
      opened.several(5, answer.forbidden);
      opened.probed(meaning);
      opened.probed(meaning);
      expect(opened.stops).toEqual(stops);
    }
  });
});

describe('a refusal for the rate', () => {
  it('costs no attempt, and is about its domain when that gets it again and again', async () => {
    const { hear, several, became } = open();
    several(100);
    const signals: Signal[] = [];
    for (let time = 0; time < 7; time += 1) {
      signals.push(hear('busy.example', answer.throttled()));
      several(20);
    }
    expect(signals).toEqual(['limit', 'limit', ...allOf(5, 'none')]);
    expect(await became(['busy.example'])).toEqual(['retry']);
  });

  it('asks for a probe when nothing else came for five times, unless it states a wait', () => {
    const { diagnosis, several } = open();
    several(30);
    several(9, () => answer.later(answer.throttled(), 2_000));
    several(1);
    several(4, answer.throttled);
    expect(diagnosis.probe).toBeUndefined();
    several(1, answer.throttled);
    expect(diagnosis.probe).toBeDefined();
  });

  it('is not asked for ever where nobody else is answered', async () => {
    const { hear, became } = open({ hasAnswered: false });
    for (let time = 0; time < 7; time += 1) hear('only.example', answer.throttled());
    expect(await became(['only.example'])).toEqual(['again']);
    hear('only.example', answer.throttled());
    expect(await became(['only.example'])).toEqual(['fail']);
  });

  it('is what nearly all get at any rate for a while, such as 500: no attempt is lost to it', async () => {
    const { hear, several, became } = open();
    several(100);
    for (let domain = 0; domain < 9; domain += 1) {
      const odd = several(9, answer.away);
      several(1);
      await nextTurn();
      hear(odd[0] ?? '');
    }
    expect(hear('next.example', answer.away())).toBe('failing');
    expect(await became(['next.example'])).toEqual(['again']);
    // When most are well again, those that are not are refused for the rate.
    several(40);
    expect(hear('late.example', answer.away())).toBe('limit');
  });

  it.each([
    { what: 'as often when slower', isFault: true, ends: 'resume' },
    { what: 'not at all when slower', isFault: false, ends: 'climb' },
  ])('may be told by 403, which is tried once it is chance: $what', async ({ isFault, ends }) => {
    const { hear, several, did } = open();
    several(100);
    for (let domain = 0; domain < 60 && did.length === 0; domain += 1) {
      for (const odd of several(1, answer.forbidden)) {
        several(1);
        await nextTurn();
        hear(odd);
      }
    }
    expect(did).toEqual(['slow']);
    for (let call = 0; call < 600 && did.at(-1) === 'slow'; call += 1) {
      several(1, isFault && call % 2 === 0 ? answer.forbidden : undefined);
    }
    expect(did.at(-1)).toBe(ends);
  });
});

describe('of a call about several domains', () => {
  const party: Subject = { domain: 'a.example', isSeveral: true };

  const serve = (
    { diagnosis }: ReturnType<typeof open>,
    odd: readonly Meaning[] = [],
    of = party,
  ) => diagnosis.noteTogether(replyAbout(20, odd), of, diagnosis.begin());

  it('good answers are heard first, and a bad one then waits for the next that is good', async () => {
    const opened = open();
    const told = serve(opened, [answer.forbidden()]);
    expect(told.map(({ signal }) => signal)).toEqual(['none', ...allOf(19, 'good')]);
    serve(opened);
    expect(await told[0]?.verdict).toBe('again');
  });

  it('a refusal of it as a whole is one, and one that came again while others were well is of one', async () => {
    const opened = open();
    const { diagnosis } = opened;
    const other = (): Subject => ({ ...party });
    const refuse = (of = party) => diagnosis.note(answer.invalid(), of, diagnosis.begin());
    for (let at = 0; at < 9; at += 1) serve(opened, [], other());
    const { verdict } = refuse();
    serve(opened, [], other());
    expect(await verdict).toBe('again');
    expect(refuse()).toMatchObject({ verdict: 'fail' });
    serve(opened, [], other());
    // A half is what is left of it.
    expect(refuse({ ...party, partOf: party })).toMatchObject({ verdict: 'fail' });
  });

  it('calls are compared with calls: half of them refused is too many, however many domains each has', async () => {
    const opened = open();
    const { diagnosis, did } = opened;
    for (let at = 0; at < 60; at += 1) {
      const one = { domain: `p${at}.example`, isSeveral: true };
      diagnosis.note(answer.away(), one, diagnosis.begin());
      serve(opened, [], { ...party });
      serve(opened, [], one);
    }
    expect(did).toContain('slow');
  });

  it('what came in a reply that was served is no limit, and the same alone is of its domain', async () => {
    const opened = open();
    const { diagnosis, hear, did } = opened;
    const refused = { ...answer.invalid(), httpStatus: 403 };
    const odd = replyAbout(4, [refused, refused, refused, refused]);
    diagnosis.noteTogether([...replyAbout(9), ...odd], party, diagnosis.begin());
    for (const time of [1, 2, 3]) {
      for (const [, one] of odd) {
        serve(opened);
        expect(hear(one.domain, refused, diagnosis.begin(), one), `${time}`).not.toBe('limit');
      }
    }
    // Half of all were: of a call as a whole it would be a limit by now.
    expect(diagnosis.findings()).toMatchObject([{ about: 'own' }]);
    expect(did).toEqual([]);
  });
});
