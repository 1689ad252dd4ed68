import { describe, expect, it } from 'vitest';
import { meaningOf } from '../../src/brand/answer.ts';

describe('meaningOf', () => {
  it.each([
    [200, 'found'],
    [400, 'rejected'],
    [401, 'unauthorized'],
    [402, 'quota_used_up'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [408, 'try_again'],
    [409, 'try_again'],
    [420, 'try_again'],
    [421, 'try_again'],
    [423, 'try_again'],
    [424, 'try_again'],
    [430, 'try_again'],
    [449, 'try_again'],
    [498, 'try_again'],
    [201, 'found'],
    [202, 'pending'],
    [203, 'found'],
    [204, 'not_found'],
    [205, 'not_found'],
    [206, 'found'],
    [410, 'not_found'],
    [422, 'rejected'],
    [425, 'try_again'],
    [429, 'throttled'],
    [500, 'try_again'],
    [501, 'refused'],
    [502, 'try_again'],
    [503, 'try_again'],
    [504, 'try_again'],
    [505, 'refused'],
  ])('takes %i for %s', (status, meaning) => {
    expect(meaningOf(status)).toBe(meaning);
  });

  it.each([405, 406, 411, 413, 414, 418, 422, 426, 428, 431, 451, 499])(
    'takes %i, as any other 4xx, for rejected',
    (status) => {
      expect(meaningOf(status)).toBe('rejected');
    },
  );

  it.each([506, 507, 520, 521, 524, 530, 598, 599])(
    'takes %i, as any other 5xx, for worth another try',
    (status) => {
      expect(meaningOf(status)).toBe('try_again');
    },
  );

  it.each([300, 301, 302, 303, 304, 307, 308])('takes %i for a redirect', (status) => {
    expect(meaningOf(status)).toBe('redirect');
  });

  it.each([100, 101, 199, 207, 208, 226, 299, 600, 999])(
    'takes %i, which says nothing about a domain, for no answer at all',
    (status) => {
      expect(meaningOf(status)).toBe('refused');
    },
  );
});
