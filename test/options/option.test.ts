import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { refusal } from '../../src/common/errors.ts';
import { next, text } from '../../src/options/kinds.ts';
import {
  kind,
  metaOf,
  option,
  pick,
  readOptions,
  refusing,
  required,
  under,
  varied,
} from '../../src/options/option.ts';

const OPTIONS = under('Letters', {
  word: option(text('WORD'), { env: 'WORD' }),
  size: option(text('SIZE'), { default: 'small', help: 'how large' }),
});

describe('the value of an option', () => {
  it.each([
    ['what was given', { given: { word: 'given' } }, 'given'],
    ['else what the profile says', { given: {} }, 'profile'],
    ['else what the environment says', { given: { word: undefined }, ofProfile: {} }, 'env'],
    ['else its default', { given: {}, ofProfile: {}, env: {} }, undefined],
  ])('is %s', (_, sources, word) => {
    const all = { ofProfile: { word: 'profile' }, env: { WORD: 'env' }, ...sources };
    expect(readOptions('write', OPTIONS, all)).toEqual({ word, size: 'small' });
  });

  it.each([
    [OPTIONS.word, "Cannot run write without option 'word': give it, or set WORD."],
    [option(text('WORD'), {}), "Cannot run write without option 'word': give it."],
  ])('may be needed', (word, message) => {
    const read = (given: object) => readOptions('write', { word: required(word) }, { given });
    expect(() => read({})).toThrow(message);
    expect(() => read({ word: '' })).toThrow("Cannot use option 'word': expected a text");
    expect(read({ word: 'a' })).toEqual({ word: 'a' });
  });

  it('that cannot be read is refused; a defect is one', () => {
    const broken = kind(z.string(), (): string => {
      throw new TypeError('no such thing');
    });
    expect(() => broken.safeParse('a')).toThrow(TypeError);
    const fail = (error: Error) => (): never => {
      throw error;
    };
    expect(() => refusing('Cannot read it:', fail(refusal('it is odd')))).toThrow(
      'Cannot read it: it is odd.',
    );
    expect(() => refusing('Cannot read it:', fail(new TypeError('odd')))).toThrow(/^odd$/);
  });
});

it('an option that is made of another has what is said of that', () => {
  const { size } = OPTIONS;
  expect(metaOf(varied(size, { default: 'large' }))).toEqual({
    placeholder: 'SIZE',
    default: 'large',
    help: 'how large',
    group: 'Letters',
  });
  expect(metaOf(required(OPTIONS.word))).toMatchObject({ env: 'WORD', isRequired: true });
  expect(pick(OPTIONS, 'size')).toEqual({ size });
});

it.each([
  ['not_found', ['not_found']],
  ['failed, rejected', ['failed', 'rejected']],
  [
    ['failed', 'not_found'],
    ['failed', 'not_found'],
  ],
])('the next API is asked after %j', (given, outcomes) => {
  expect(next().parse(given)).toEqual(new Set(outcomes));
  expect(next().safeParse('found').error?.issues[0]?.message).toContain(
    "expected not_found, rejected, failed, received 'found'",
  );
});
