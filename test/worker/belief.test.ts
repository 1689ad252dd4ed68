import { describe, expect, it } from 'vitest';
import type { Answer, Tells, Writer } from '../../src/brand/answer.ts';
import {
  type Belief,
  type CredenceOptions,
  createCredence,
  type Disbelief,
} from '../../src/worker/credence.ts';

// What answers are worth one after the other, without a worker around them.

type Form = Writer['form'];

const writer = (form: Form, server = 'api', names: readonly string[] = []): Writer => ({
  form,
  server,
  names,
});
const found = (json = '{}', tells: Tells = 'some'): Answer => ({
  kind: 'found',
  httpStatus: 200,
  json,
  shape: [],
  writer: { ...writer('json'), tells },
});
const unknown = (by: Writer = writer('json', 'api', ['error'])): Answer => ({
  kind: 'not_found',
  httpStatus: 404,
  writer: by,
});
const refusal = (
  kind: 'rejected' | 'forbidden' | 'invalid_response',
  by: Writer = writer('json'),
): Answer => ({ kind, httpStatus: 400, reason: 'no', isWhole: true, writer: by });
const denied = (kind: 'unauthorized' | 'quota_used_up', by: Writer): Answer => ({
  kind,
  httpStatus: 401,
  reason: 'no',
  writer: by,
});
const status = (server: string): Answer => ({
  ...found('{"status":"ok"}'),
  writer: { ...writer('json', server), tells: 'nothing', wording: '200 ok' },
});
const page = (): Answer => ({ ...unknown(writer('page')), sign: 'not_found_page' });

function openJudge(options: Partial<CredenceOptions> = {}) {
  const stops: Disbelief[] = [];
  const credence = createCredence({ onDisbelief: (why) => stops.push(why), ...options });
  let domains = 0;
  /** A lookup of a new domain gets this answer, and ends with it. */
  const end = (answer: Answer, domain = `d${(domains += 1)}.com`) => {
    const weighed = credence.weigh(answer, domain);
    credence.note(weighed, domain, () => true);
    return { kind: weighed.kind, belief: credence.believe(weighed, domain) };
  };
  const times = (count: number, answer: Answer): void => {
    for (let time = 0; time < count; time += 1) end(answer);
  };
  /** What an answer in mid-run is taken for, of which nothing is noted. */
  const kindOf = (answer: Answer) => credence.weigh(answer, 'asked.com').kind;
  return { credence, stops, end, times, kindOf };
}

describe('an answer in mid-run is the API’s own', () => {
  it.each<[answer: string, good: number, unknown: number, Answer, isOwn: boolean]>([
    ['JSON of another server after four good ones', 4, 0, unknown(writer('json', 'other')), true],
    ['JSON of another server after five', 5, 0, unknown(writer('json', 'other')), false],
    ['JSON of its server in other words, after two', 5, 2, unknown(writer('json')), true],
    ['JSON of its server in other words, after three', 5, 3, unknown(writer('json')), false],
    [
      'JSON with one of the names that it uses',
      5,
      3,
      unknown(writer('json', 'api', ['more', 'error'])),
      true,
    ],
    ['nothing at all', 5, 3, unknown(writer('empty', 'other')), true],
    ['404 in plain words', 1, 0, unknown(writer('text')), false],
    ['404 with a page', 1, 0, unknown(writer('page')), false],
    ['400 in plain words', 1, 0, refusal('rejected', writer('text')), true],
    ['403 in plain words', 1, 0, refusal('forbidden', writer('text')), true],
    ['400 with a page', 1, 0, refusal('rejected', writer('page')), false],
    [
      '400 in plain words where it said no in JSON',
      5,
      3,
      refusal('rejected', writer('text')),
      false,
    ],
    ['403 in JSON of another server', 5, 0, refusal('forbidden', writer('json', 'other')), false],
    ['403 in JSON without a server', 5, 0, refusal('forbidden', writer('json', '')), true],
    ['401 with a page', 1, 0, denied('unauthorized', writer('page')), false],
    ['402 with a page', 1, 0, denied('quota_used_up', writer('page')), false],
    ['401 of another server', 5, 0, denied('unauthorized', writer('json', 'other')), false],
    ['401 in plain words', 5, 3, denied('unauthorized', writer('text')), true],
    ['200 of another server that tells nothing', 5, 0, status('other'), false],
    ['200 of its server that tells nothing', 5, 0, status('api'), true],
    ['plain words that should be JSON', 1, 0, refusal('invalid_response', writer('text')), false],
    ['JSON that is no object', 1, 0, refusal('invalid_response', writer('json')), true],
    ['404 of nobody', 1, 0, { kind: 'not_found', httpStatus: 404 }, true],
  ])('or not: %s', (_, good, misses, answer, isOwn) => {
    const { times, kindOf } = openJudge();
    times(good, found());
    times(misses, unknown());
    expect(kindOf(answer)).toBe(isOwn ? answer.kind : 'try_again');
  });

  it('when it says always in JSON without a name that a domain is unknown, such as {}', () => {
    const { times, kindOf } = openJudge();
    const nameless = unknown(writer('json', 'api', []));
    times(5, nameless);
    expect(kindOf(nameless)).toBe('not_found');
    expect(kindOf(unknown(writer('json', 'api', ['message'])))).toBe('try_again');
  });

  it('when it says nothing with 404 but for once', () => {
    const { times, kindOf } = openJudge();
    times(9, unknown(writer('empty')));
    expect(kindOf(unknown(writer('json', 'api', ['error'])))).toBe('not_found');
  });

  it('when it spoke so among the first calls, and for people; to the same effect, and no other', () => {
    const { end, times, kindOf } = openJudge();
    end(page());
    end({ ...unknown(writer('json', 'other', ['message'])), sign: 'not_found_page' });
    times(5, found());
    times(3, unknown());
    expect(kindOf(unknown(writer('page')))).toBe('not_found');
    expect(kindOf(unknown(writer('page', 'other')))).toBe('try_again');
    expect(kindOf(unknown(writer('text')))).toBe('try_again');
    expect(kindOf(refusal('rejected', writer('page')))).toBe('try_again');
    expect(kindOf(unknown(writer('json', 'other', ['message'])))).toBe('try_again');
  });

  it('when it lasted on three domains with a success between, and not without', () => {
    const { end, times, kindOf } = openJudge();
    const text = unknown(writer('text'));
    times(1, found());
    times(3, text);
    expect(kindOf(text)).toBe('try_again');
    times(1, found());
    end(text, 'd2.com');
    expect(kindOf(text)).toBe('not_found');
  });

  it('not because refusals in plain words or pages lasted', () => {
    const { end, times, kindOf } = openJudge();
    times(1, found());
    for (const answer of [refusal('rejected', writer('text')), unknown(writer('page'))]) {
      for (let time = 0; time < 4; time += 1) {
        end(answer);
        times(1, found());
      }
    }
    expect(kindOf(unknown(writer('text')))).toBe('try_again');
    expect(kindOf(unknown(writer('page')))).toBe('try_again');
  });
});

describe('refusals in the same words', () => {
  it('are not about the domain because of a success that was under way when they came', async () => {
    const { credence, stops, end } = openJudge();
    end(found());
    const before = credence.begin();
    const { belief } = end(refusal('rejected'));
    credence.weigh(found(), 'slow.com', before);
    for (let more = 0; more < 8; more += 1) end(refusal('rejected'));
    expect(stops).toHaveLength(1);
    expect(await belief).toBe('dropped');
  });

  it('are about the domain once a call that began later was a success', async () => {
    const { credence, end } = openJudge();
    end(found());
    const { belief } = end(refusal('rejected'));
    credence.weigh(found(), 'later.com', credence.begin());
    expect(await belief).toBe('kept');
  });

  it.each([
    ['of another server', refusal('forbidden', writer('json', 'other')), 'forbidden'],
    ['pages where the API has no other way', denied('unauthorized', writer('page')), 'refused'],
  ])('are of the caller also where they are not the API’s: %s', (_, answer, reason) => {
    const { times, stops } = openJudge();
    times(5, found());
    times(4, answer);
    expect(stops).toEqual([]);
    times(1, answer);
    expect(stops).toMatchObject([{ reason }]);
  });

  it('are not of the caller when they are pages that refuse', () => {
    const { times, stops } = openJudge();
    times(5, found());
    times(9, refusal('forbidden', writer('page')));
    expect(stops).toEqual([]);
  });

  it('are of the caller from five domains on, whatever the first calls were', () => {
    const { times, stops } = openJudge();
    times(4, refusal('rejected'));
    expect(stops).toEqual([]);
    times(9, refusal('rejected'));
    expect(stops).toEqual([{ reason: 'refused', refusal: { httpStatus: 400, said: 'no' } }]);
  });

  it('are counted when they come, also in a call that shows no sign', () => {
    const { credence, stops } = openJudge();
    for (let domain = 0; domain < 5; domain += 1) {
      credence.weigh(refusal('forbidden'), `d${domain}.com`);
    }
    expect(stops).toMatchObject([{ reason: 'forbidden' }]);
  });

  it('are of the domains where they were half of the answers, up to fourteen in a row', () => {
    const { end, times, stops } = openJudge();
    for (let pair = 0; pair < 10; pair += 1) {
      end(refusal('rejected'));
      end(found());
    }
    times(13, refusal('rejected'));
    expect(stops).toEqual([]);
    times(1, refusal('rejected'));
    expect(stops).toHaveLength(1);
  });

  it.each([
    ['JSON that came whole', true, 1],
    ['JSON that was cut', false, 0],
  ])('may be no usable answers at all: %s', (_, isWhole, stopped) => {
    const { times, stops } = openJudge();
    times(1, found());
    times(9, { ...refusal('invalid_response'), isWhole } as Answer);
    expect(stops).toHaveLength(stopped);
  });

  it('count once for each domain, and not at all when they are trusted, or a rule is sure of them', () => {
    const { end, stops } = openJudge();
    for (let time = 0; time < 9; time += 1) end(refusal('rejected'), 'same.com');
    expect(stops).toEqual([]);
    const trusting = openJudge({ isTrusting: true });
    trusting.times(9, refusal('rejected'));
    expect(trusting.stops).toEqual([]);
    const sure = openJudge();
    sure.times(9, { ...refusal('rejected'), isSure: true });
    expect(sure.stops).toEqual([]);
  });
});

describe('the first calls', () => {
  it.each([
    ['two pages where two calls go ahead', 2, page(), 2],
    ['one and the same answer where two go ahead', 2, found('{"a":1}', 'record'), 5],
    ['one and the same answer where twenty go ahead', 20, found('{"a":1}', 'record'), 20],
  ])('stop the run at %s', (_, calls, answer, most) => {
    const { times, stops } = openJudge({ calls });
    times(most - 1, answer);
    expect(stops).toEqual([]);
    times(1, answer);
    expect(stops).toMatchObject([{ reason: 'misdirected' }]);
  });

  it('are over with two signs that differ, or with an answer that has none', () => {
    const { credence, end } = openJudge();
    end(page());
    expect(credence.isOpen).toBe(false);
    end({ ...refusal('invalid_response'), isWhole: false, sign: 'no_json' } as Answer);
    expect(credence.isOpen).toBe(true);
  });

  it.each<[hasAnswered: boolean | undefined, Form, Belief]>([
    [undefined, 'page', 'kept'],
    [false, 'text', 'kept'],
    [true, 'page', 'failed'],
    [true, 'text', 'failed'],
    [true, 'json', 'kept'],
  ])(
    'of a short list (answered before: %s) end with %s as %s',
    async (hasAnswered, form, belief) => {
      const { credence } = openJudge({ hasAnswered });
      const held = credence.believe({ ...unknown(writer(form)), sign: 'not_found_page' }, 'd.com');
      credence.idle();
      expect(await held).toBe(belief);
    },
  );

  it('hold back no lookup that is asked again anyway, before a stop as after it', async () => {
    const pending: Answer = { kind: 'pending', httpStatus: 202, retryAfterMs: undefined };
    const { end, times } = openJudge();
    expect(end(pending).belief).toBe('kept');
    const { belief } = end(page());
    times(4, page());
    expect(await belief).toBe('dropped');
    expect(end(pending).belief).toBe('kept');
    expect(await end(unknown()).belief).toBe('dropped');
  });
});
