import { expect, it } from 'vitest';
import { describeAnswer } from '../../src/web/live-run.ts';

it.each([
  ['{"id":"7","name":"Acme"}', 'Acme'],
  ['{"id":7,"title":"Acme Ltd","name":null}', 'Acme Ltd'],
  ['{"id":7}', '{"id":7}'],
  ['{"name":"<img src=x onerror=alert(1)>"}', '<img src=x onerror=alert(1)>'],
  [JSON.stringify({ name: 'é'.repeat(500) }), `${'é'.repeat(120)}…`],
])('an answer such as %j is told as %j', (json, line) => {
  expect(describeAnswer(json)).toBe(line);
});
