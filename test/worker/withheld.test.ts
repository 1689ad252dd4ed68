import { expect, it } from 'vitest';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { type Verdict, Withheld } from '../../src/worker/withheld.ts';
import * as answer from './meanings.ts';

/** Answers of a kind that is not known, and of one that is the domains' own. */
function open() {
  const kinds = new AnswerKinds();
  const withheld = new Withheld();
  const released: string[] = [];
  const withhold = (domain: string, meaning = answer.forbidden()): void => {
    const history = { kind: kinds.of(meaning), bad: 1, same: 0, alike: 1, answeredAt: 0 };
    const note = (verdict: Verdict): unknown => released.push(`${domain} ${verdict}`);
    void withheld.withhold({ domain }, meaning, history).then(note);
  };
  return { withheld, released, withhold };
}

it('those are counted whose kind is not known yet, also when others are released', () => {
  const { withheld, withhold } = open();
  withhold('a.com');
  withhold('b.com');
  withhold('own.com', answer.unknown());
  expect([withheld.length, withheld.unknown]).toEqual([3, 2]);
  withheld.release(({ subject }) => (subject.domain === 'a.com' ? 'again' : undefined));
  expect([withheld.length, withheld.unknown]).toEqual([2, 1]);
});

it('only those are released for which there is a verdict', async () => {
  const { withheld, released, withhold } = open();
  for (const domain of ['a.com', 'b.com', 'c.com']) withhold(domain);
  withheld.release(({ subject }) => (subject.domain === 'b.com' ? 'believe' : undefined));
  withheld.releaseFirst('again');
  await Promise.resolve();
  expect(released).toEqual(['b.com believe', 'a.com again']);
  expect([...withheld].map(({ subject }) => subject.domain)).toEqual(['c.com']);
});

it('one of them is enough', () => {
  const { withheld, withhold } = open();
  const isOwn = (): boolean => withheld.some(({ history }) => history.kind.about === 'own');
  withhold('a.com');
  expect(isOwn()).toBe(false);
  withhold('own.com', answer.unknown());
  expect(isOwn()).toBe(true);
});

it('nobody is released where nothing is withheld', () => {
  expect(() => new Withheld().releaseFirst('again')).not.toThrow();
});
