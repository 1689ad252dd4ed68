import { expect, it } from 'vitest';
import { findNearest } from '../../src/job/known-options.ts';

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
