import { expect } from 'vitest';
import type { Ended } from './command.ts';

/** Exit 2, one sentence (and at most a hint where help is), no stack trace. */
export function expectUsageError({ code, stdout, stderr }: Ended, expected: RegExp): void {
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  const [sentence, ...more] = stderr.trimEnd().split('\n');
  expect(sentence).toMatch(/^brandfill: /);
  expect(sentence).toMatch(expected);
  expect(more.filter((line) => !/^$|^\(see brandfill|Did you mean/.test(line))).toEqual([]);
}
