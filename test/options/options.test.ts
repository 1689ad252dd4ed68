import { describe, expect, it } from 'vitest';
import { findNearest } from '../../src/common/text.ts';
import { read, refusalOf } from './read-settings.ts';

describe('settings', () => {
  it('come from the environment where they are not given', () => {
    const env = {
      BRANDFILL_BASE_URL: 'https://env.example',
      BRANDFILL_AUTH: 'bearer',
      BRANDFILL_STORE: '/env/store',
    };
    expect(read({}, env)).toMatchObject({
      baseUrl: 'https://env.example',
      auth: { kind: 'bearer' },
      store: '/env/store',
    });
    expect(
      read({ baseUrl: 'https://given.example', auth: 'none', store: 'given' }, env),
    ).toMatchObject({ baseUrl: 'https://given.example', auth: { kind: 'none' }, store: 'given' });
  });

  it('say whether a flag or a variable is wrong', () => {
    expect(refusalOf({ auth: 'x' })).toMatch(/^Cannot use --auth: /);
    expect(refusalOf({}, { BRANDFILL_AUTH: 'x' })).toMatch(/^Cannot use BRANDFILL_AUTH: /);
  });
});

it.each([
  ['freshh', 'fresh'],
  ['base-url', 'baseUrl'],
  ['BASE_URL', 'baseUrl'],
  ['concurency', 'concurrency'],
  ['headers', 'header'],
  ['domain', 'domainColumn'],
  ['output', 'out'],
  ['quota', undefined],
  ['x', undefined],
])('%s is probably %s', (word, meant) => {
  const known = [
    'baseUrl',
    'fresh',
    'freshNotFound',
    'concurrency',
    'header',
    'out',
    'domainColumn',
  ];
  expect(findNearest(word, known)).toBe(meant);
});
