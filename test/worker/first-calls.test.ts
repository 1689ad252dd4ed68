import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { FirstCalls } from '../../src/worker/first-calls.ts';
import * as answer from './meanings.ts';

const wrong = (reason: Meaning['reason']): Meaning => ({ ...answer.away(), reason });
const seen = (what: string) => ({ reason: 'misdirected', seen: what });

/** What each of these domains gets, a call each; all stops and other ends that came. */
function ask(
  answers: readonly Meaning[],
  { callOf = (at: number): object => ({ at }), first = 5 } = {},
) {
  const calls = new FirstCalls({ first });
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
  { differs: 'the name', one: '"name":"Anders"', other: '"name":"Brandt"', isOver: true },
])('records that differ in $differs show companies: $isOver', ({ one, other, isOver }) => {
  const calls = new FirstCalls({});
  const record = (member: string): Meaning => answer.found(`{ "kind": "firm", ${member}}`);
  expect([calls.found(record(one), {}), calls.found(record(other), {})]).toEqual([false, isOver]);
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
  calls.isOver = true;
  expect(calls.mayStart(99)).toBe(true);
});
