import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { AnswerKinds } from '../../src/worker/answer-kinds.ts';
import { Histories, HOPELESS } from '../../src/worker/histories.ts';
import type { Subject } from '../../src/worker/withheld.ts';
import * as answer from './meanings.ts';

/** What lookups got, as a test tells it. */
function open() {
  const kinds = new AnswerKinds();
  const counts = { answers: 0, goods: 0, calls: 0 };
  const histories = new Histories(kinds, counts);
  /** Another domain is well, whose call began when all answers so far had come. */
  const othersAreWell = (): void => {
    histories.noteGood(counts.answers);
    counts.answers += 1;
    counts.goods += 1;
  };
  const bad = (subject: Subject, meaning: Meaning): void => {
    const kind = kinds.of(meaning);
    const history = histories.of(subject, kind);
    counts.answers += 1;
    histories.note(history, kind, subject.domain);
    history.answeredAt = counts.answers;
  };
  /** A domain gets some answers, and others are well after each of them. */
  const gets = (domain: string, ...meanings: readonly Meaning[]) => {
    const subject = { domain };
    for (const meaning of meanings) {
      bad(subject, meaning);
      othersAreWell();
    }
    return histories.get(subject);
  };
  return { kinds, counts, histories, othersAreWell, bad, gets };
}

const times = (count: number, meaning: Meaning): Meaning[] => Array<Meaning>(count).fill(meaning);

describe('what a lookup got', () => {
  it('is counted: how often, how often alike at last, and again after others were well', () => {
    const { gets } = open();
    const got = gets('a.com', answer.forbidden(), answer.forbidden(), answer.away(), answer.away());
    expect(got).toMatchObject({ bad: 4, alike: 2, same: 1, kind: { reason: 'http_503' } });
  });

  it('is no sign of anything where nobody else was well in between', () => {
    const { histories, bad, othersAreWell } = open();
    const subject = { domain: 'a.com' };
    bad(subject, answer.forbidden());
    bad(subject, answer.forbidden());
    expect(histories.get(subject)).toMatchObject({ bad: 2, alike: 2, same: 0 });
    othersAreWell();
    bad(subject, answer.forbidden());
    expect(histories.get(subject)).toMatchObject({ bad: 3, same: 1 });
  });

  it('goes on after a failure in between as before it', () => {
    const { gets, kinds } = open();
    const [refused, failed] = [answer.forbidden(), answer.away()];
    expect(gets('a.com', refused, refused, failed)).toMatchObject({ same: 0, alike: 1 });
    expect(gets('b.com', refused, refused, failed, refused)).toMatchObject({ same: 2, alike: 1 });
    expect(kinds.of(refused).same).toEqual(new Set(['a.com', 'b.com']));
  });

  it('begins with what those got of which it is a half', () => {
    const { histories, kinds, bad } = open();
    const whole = { domain: 'a.com', isSeveral: true };
    bad(whole, answer.forbidden());
    const half = histories.of({ domain: 'b.com', partOf: whole }, kinds.of(answer.away()));
    expect(half).toMatchObject({ bad: 1, kind: { reason: 'http_403' } });
    expect(half).not.toBe(histories.get(whole));
  });

  it('is forgotten', () => {
    const { histories, bad } = open();
    const subject = { domain: 'a.com' };
    bad(subject, answer.forbidden());
    histories.forget(subject);
    expect(histories.get(subject)).toBeUndefined();
  });

  it('is not alone before its first answer', () => {
    const { histories, kinds } = open();
    expect(histories.isAlone(histories.of({ domain: 'a.com' }, kinds.of(answer.away())))).toBe(
      false,
    );
  });
});

describe('a domain that is well at last', () => {
  it('shows that what it got was none of its own', () => {
    const { histories, kinds, gets } = open();
    const got = gets('a.com', answer.forbidden());
    if (got) histories.bettered(got);
    expect(kinds.of(answer.forbidden())).toMatchObject({ bettered: 1, lifted: 0 });
  });

  it('shows what a pause does, where nobody else was well in between', () => {
    const { histories, kinds, bad } = open();
    const subject = { domain: 'a.com' };
    bad(subject, answer.forbidden());
    histories.bettered(histories.of(subject, kinds.of(answer.forbidden())));
    expect(kinds.of(answer.forbidden())).toMatchObject({ bettered: 0, lifted: 1 });
  });
});

it('what a domain got before an answer that is its own was none of its own', () => {
  const { gets, kinds } = open();
  gets('a.com', answer.broken(), answer.unknown());
  gets('b.com', answer.broken(), answer.forbidden());
  expect(kinds.of(answer.broken()).bettered).toBe(1);
});

/** Evidence that leaves all to whether retries bettered it. */
const BY_CHANCE = -8;

describe('a kind that no retry bettered', () => {
  it.each<[string, number, Meaning, string]>([
    ['four domains', 4, answer.broken(), 'unknown'],
    ['five domains', 5, answer.broken(), 'own'],
    ['five domains, though it is called a limit,', 5, answer.throttled(), 'own'],
  ])('of %s counts as what it is', (_, domains, meaning, about) => {
    const { gets, kinds } = open();
    for (let at = 0; at < domains; at += 1) {
      kinds.of(meaning).evidence = BY_CHANCE;
      gets(`d${at}.com`, ...times(HOPELESS + 1, meaning));
    }
    expect(kinds.of(meaning)).toMatchObject({ hopeless: domains, about });
  });

  it('is no domain’s own while it is found to be a limit, or where it bettered one', () => {
    const { gets, kinds, histories } = open();
    kinds.of(answer.forbidden()).about = 'limit';
    const bettered = gets('a.com', answer.broken());
    if (bettered) histories.bettered(bettered);
    for (let at = 0; at < 5; at += 1) {
      for (const meaning of [answer.forbidden(), answer.broken()]) {
        kinds.of(meaning).evidence = BY_CHANCE;
        gets(`d${at}.com`, ...times(HOPELESS + 1, meaning));
      }
    }
    expect(kinds.of(answer.forbidden())).toMatchObject({ hopeless: 5, about: 'limit' });
    expect(kinds.of(answer.broken())).toMatchObject({ hopeless: 5, about: 'unknown' });
  });

  it('is counted once for each domain', () => {
    const { gets, kinds } = open();
    gets('a.com', ...times(HOPELESS + 5, answer.broken()));
    expect(kinds.of(answer.broken()).hopeless).toBe(1);
  });
});
