import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { FirstCalls, stopOf } from '../../src/worker/first-calls.ts';
import * as answer from './meanings.ts';

const wrong = (reason: Meaning['reason']): Meaning => ({ ...answer.away(), reason });
const seen = (what: string) => ({ reason: 'misdirected', seen: what });

interface Asking {
  readonly callOf?: (at: number) => object;
  readonly first?: number;
  readonly isKnown?: boolean;
}

/** What each of these domains gets, a call each; all stops and other ends that came. */
function ask(
  answers: readonly Meaning[],
  { callOf = (at: number): object => ({ at }), ...options }: Asking = {},
) {
  const calls = new FirstCalls(options);
  const kinds = new AnswerKinds();
  const ends = answers.map((meaning, at) => {
    const domain = `${at}.example`;
    if (meaning.kind === 'found') return calls.found(meaning, callOf(at)) || undefined;
    return calls.bad(kinds.of(meaning), meaning, domain, callOf(at));
  });
  return { calls, ends, at: ends.findIndex((end) => end !== undefined) + 1 };
}

const times = (count: number, ...meanings: readonly Meaning[]): readonly Meaning[] =>
  Array.from({ length: count }, (_, at) => meanings[at % meanings.length] ?? answer.away());

describe('five domains that all get the same end a run', () => {
  it.each([
    {
      gets: answer.unauthorized('no key'),
      is: { reason: 'unauthorized', refusal: { said: 'no key' } },
    },
    { gets: answer.unpaid(), is: { reason: 'quota', refusal: { httpStatus: 402 } } },
    { gets: answer.forbidden(), is: { reason: 'forbidden' } },
    { gets: { ...answer.forbidden(), reason: 'wall' } as Meaning, is: seen('wall') },
    { gets: answer.invalid('no plan'), is: { reason: 'refused', refusal: { said: 'no plan' } } },
    { gets: answer.unknown(), is: seen('none_known') },
    {
      gets: { ...answer.unknown(), said: undefined, wrote: 'no route' } as Meaning,
      is: { reason: 'misdirected', refusal: { httpStatus: 404, said: 'no route' } },
    },
    { gets: answer.page(), is: seen('not_found_page') },
    { gets: wrong('no_json'), is: seen('no_json') },
    { gets: wrong('redirect_to_another_origin'), is: seen('redirect_to_another_origin') },
    { gets: wrong('tls_failure'), is: seen('tls_failure') },
    { gets: answer.away(), is: 'down' },
    { gets: answer.throttled(), is: 'down' },
  ])('$gets.reason ($gets.kind, $gets.form)', ({ gets, is }) => {
    const { ends } = ask(times(5, gets));
    expect(ends.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect({ is: ends[4] }).toMatchObject({ is });
  });
});

it.each([
  {
    what: 'twenty of several kinds, most of them alike',
    gets: times(25, answer.forbidden(), answer.forbidden(), answer.page()),
    at: 20,
  },
  {
    what: 'seven verdicts where seven go first',
    gets: times(9, answer.unknown()),
    first: 7,
    at: 7,
  },
  {
    what: 'five refusals where seven go first',
    gets: times(9, answer.forbidden()),
    first: 7,
    at: 5,
  },
  { what: 'batches count as one call each', gets: times(12, answer.forbidden()), size: 2, at: 9 },
  {
    what: 'two records that differ',
    gets: [answer.found('a'), answer.found('a'), answer.found('b')],
    at: 3,
  },
  { what: 'one record five times', gets: times(9, answer.found('holding')), at: 5 },
])('$what: it ends with answer $at', ({ gets, at, first = 5, size = 1 }) => {
  const whole = gets.map(() => ({}));
  expect(ask(gets, { first, callOf: (nth) => whole[Math.floor(nth / size)] ?? {} }).at).toBe(at);
});

describe('where nothing listens', () => {
  const refused: Meaning = { ...wrong('connection_refused'), form: 'none' };
  const byProxy: Meaning = { ...wrong('proxy_connection_refused'), form: 'none' };

  it.each([
    { gets: times(5, refused), isKnown: undefined, is: 'down' },
    { gets: times(5, refused), isKnown: true, is: 'down' },
    { gets: times(5, refused), isKnown: false, is: seen('connection_refused') },
    { gets: times(5, byProxy), isKnown: false, is: seen('proxy_connection_refused') },
    { gets: [answer.broken(), ...times(19, refused)], isKnown: false, is: 'down' },
  ])('whether it was reached before decides: %#', ({ gets, isKnown, is }) => {
    const { ends } = ask(gets, isKnown === undefined ? {} : { isKnown });
    expect({ is: ends.at(-1) }).toMatchObject({ is });
  });
});

it.each([
  { what: 'fails', meaning: wrong('tls_failure'), is: 'down' },
  { what: 'does not know a domain', meaning: answer.unknown(), is: seen('none_known') },
])('an API that answered earlier runs, and $what, is no wrong address unless it answers', (row) => {
  const { ends } = ask(times(5, row.meaning), { isKnown: true });
  expect({ is: ends.at(-1) }).toMatchObject({ is: row.is });
});

describe('of several kinds', () => {
  it('the one that most domains got decides', () => {
    const refused = [answer.page(), answer.forbidden(), answer.forbidden()];
    expect(ask(times(20, ...refused)).ends.at(-1)).toMatchObject({ reason: 'forbidden' });
    const failing = [answer.forbidden(), answer.away(), answer.away()];
    expect(ask(times(22, ...failing)).ends.at(-1)).toBe('down');
  });

  it('none is alike, be it that each call got all of them, or that a record came', () => {
    const call = [{}, {}, {}, {}, {}];
    const both = times(10, answer.forbidden(), answer.page());
    expect(ask(both, { callOf: (at) => call[Math.floor(at / 2)] ?? {} }).at).toBe(0);
    expect(ask([answer.found('a'), ...times(8, answer.forbidden())]).at).toBe(0);
  });
});

it.each([
  { what: 'a wrong address', gets: wrong('no_json'), first: 3, at: 3 },
  { what: 'an outage', gets: answer.away(), first: 3, at: 5 },
  { what: 'domains that are not known', gets: answer.unknown(), first: 3, at: 5 },
  { what: 'domains that are refused', gets: answer.invalid(), first: 3, at: 3 },
  { what: 'a limit', gets: answer.throttled(), first: 7, at: 7 },
])('where $first go first, $what shows in $at', ({ gets, first, at }) => {
  expect(ask(times(9, gets), { first }).at).toBe(at);
});

it('a domain counts once, however often it fails', () => {
  const calls = new FirstCalls({});
  const kind = new AnswerKinds().of(answer.forbidden());
  const ends = times(9, answer.forbidden()).map((one) => calls.bad(kind, one, 'a.com', {}));
  expect(ends.every((end) => end === undefined)).toBe(true);
});

it('a record is known to have come', () => {
  expect(ask(times(1, answer.forbidden())).calls.hasRecord).toBe(false);
  expect(ask([answer.found('a')]).calls.hasRecord).toBe(true);
});

describe('a stop for what all domains get', () => {
  it.each<[Meaning, object]>([
    [answer.away(), { reason: 'outage', trouble: 'http_503' }],
    [answer.machine, { reason: 'outage', trouble: 'http_0' }],
    [answer.quota('used up'), { reason: 'quota', refusal: { httpStatus: 402, said: 'used up' } }],
    [{ ...answer.forbidden(), isSure: true }, { reason: 'unauthorized' }],
    [{ ...answer.invalid(), isSure: true }, { reason: 'refused' }],
    [{ ...answer.invalid(), httpStatus: 401 }, { reason: 'refused' }],
    [answer.found('one'), { ...seen('same_answer'), refusal: { said: '{"name":"one"}' } }],
  ])('%#', (meaning, stop) => {
    expect(stopOf(meaning)).toMatchObject(stop);
  });
});

it.each([
  { differs: 'nothing', one: '"x":1', other: '"x":1', isOver: false },
  {
    differs: 'the domain',
    one: '"domain":"a.example"',
    other: '"domain": "b.example"',
    isOver: false,
  },
  {
    differs: 'an id',
    one: '"trace":"ab12-cd34-ef56"',
    other: '"trace":"98FE-76dc-54ba-b8"',
    isOver: false,
  },
  {
    differs: 'a time',
    one: '"at":"2026-01-02T03:04:05.6Z"',
    other: '"at":"2026-01-02 03:04:06Z"',
    isOver: false,
  },
  { differs: 'a number', one: '"left": 17 ', other: '"left": 16.5 ', isOver: false },
  {
    differs: 'an address under a longer name',
    one: '"company-website_of" : "a"',
    other: '"company-website_of" : "b"',
    isOver: false,
  },
  {
    differs: 'numbers of a list',
    one: '"all":[1,-2, 3 ]',
    other: '"all":[4,5.5, -6 ]',
    isOver: false,
  },
  { differs: 'the name', one: '"name":"Anders"', other: '"name":"Brandt"', isOver: true },
])('records that differ in $differs show companies: $isOver', ({ one, other, isOver }) => {
  const calls = new FirstCalls({});
  const record = (member: string): Meaning => answer.found(`{ "kind": "firm", ${member}}`);
  expect([calls.found(record(one), {}), calls.found(record(other), {})]).toEqual([false, isOver]);
});

it('records that say nothing but what differs from call to call are compared as they are', () => {
  const calls = new FirstCalls({});
  const record = (id: string): Meaning => answer.found(`{"id":"${id}"}`);
  expect([calls.found(record('a'), {}), calls.found(record('b'), {})]).toEqual([false, true]);
});

it.each([
  { gets: [], is: undefined },
  { gets: [answer.forbidden()], is: undefined },
  { gets: [answer.unauthorized()], is: { reason: 'unauthorized' } },
  { gets: times(2, answer.forbidden()), is: { reason: 'forbidden' } },
  { gets: times(4, answer.invalid()), is: undefined },
  { gets: times(4, answer.away()), is: undefined },
])('a list of $gets.length ends with %#', ({ gets, is }) => {
  const stop = ask(gets).calls.stopOfFew();
  expect(stop).toEqual(is && expect.objectContaining(is));
});

it('only so many calls are under way as may still be needed, and one always', () => {
  const { calls } = ask(times(3, answer.away()));
  expect([0, 1, 2].map((underWay) => calls.mayStart(underWay))).toEqual([true, true, false]);
  calls.redirected();
  expect([0, 1].map((underWay) => calls.mayStart(underWay))).toEqual([true, false]);
  calls.redirected();
  expect(calls.mayStart(0)).toBe(true);
  calls.isOver = true;
  expect(calls.mayStart(99)).toBe(true);
});

it('as many are under way as go first', () => {
  const calls = new FirstCalls({ first: 7 });
  expect([6, 7].map((underWay) => calls.mayStart(underWay))).toEqual([true, false]);
});
