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

  it.each([405, 406, 409, 411, 413, 414, 418, 421, 424, 426, 428, 431, 451, 499])(
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

  it('takes 202 for an answer that is not ready', () => {
    expect(meaningOf(202)).toBe('pending');
  });

  it.each([100, 101, 199, 201, 203, 204, 205, 206, 226, 299, 600, 999])(
    'takes %i, which says nothing about a domain, for no answer at all',
    (status) => {
      expect(meaningOf(status)).toBe('refused');
    },
  );
});
