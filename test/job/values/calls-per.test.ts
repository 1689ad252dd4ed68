import { expect, it } from 'vitest';
import { parseCallsPer } from '../../../src/job/values/quantities.ts';

it.each([
  ['1000/day', { count: 1_000, unit: 'day' }],
  [' 5 / d ', { count: 5, unit: 'day' }],
  ['100/hour', { count: 100, unit: 'hour' }],
  ['100/h', { count: 100, unit: 'hour' }],
  ['60/min', { count: 60, unit: 'minute' }],
  ['60/minute', { count: 60, unit: 'minute' }],
  ['50000/month', { count: 50_000, unit: 'month' }],
])('calls per time are read: %s', (text, calls) => {
  expect(parseCallsPer(text)).toEqual(calls);
});

it.each([
  '1000',
  '0/day',
  '-1/day',
  '1.5/day',
  '1000/m',
  '1000/s',
  '1000/week',
  'day',
  '',
  '9e9/day',
  '99999999999999999999/day',
])('what is no number of calls per time is refused: %s', (text) => {
  expect(() => parseCallsPer(text)).toThrow(
    `expected calls per min, hour, day or month such as 1000/day, received '${text}'`,
  );
});
