import { describe, expect, it } from 'vitest';
import { BrandfillError } from '../../src/common/errors.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import { refusalOf } from './read-job-file.ts';

function refusalOfProfile(text: string): string {
  try {
    parseProfile('jobs/job.yaml', text);
  } catch (error) {
    if (error instanceof BrandfillError) return error.message;
    throw error;
  }
  return '';
}

const many = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

describe('a file that nobody writes by hand is refused with line and column:', () => {
  it.each([
    ['lists in lists', '['.repeat(200_000), '1:101: it is nested too deep'],
    ['maps in maps', `a: ${'{a: '.repeat(50_000)}`, '1:397: it is nested too deep'],
    [
      'maps by indentation',
      many(900, (at) => `${' '.repeat(at)}a:`),
      '100:101: it is nested too deep',
    ],
    ['lists on a line', `a:\n  ${'- '.repeat(90_000)}`, '2:200: it is nested too deep'],
    ['questions', '? '.repeat(90_000), '1:200: it is nested too deep'],
    [
      '60,000 keys',
      many(60_000, (at) => `name${at}: 1`),
      '2858:1: here is more than any such file has',
    ],
    ['a long list', `a: [${'b,'.repeat(90_000)}]`, '1:13335: here is more than any such file has'],
    ['documents', '---\n'.repeat(90_000), '10001:1: here is more than any such file has'],
    ['a prototype', 'a: 1\n__proto__: {x: 1}', "2:1: there is no key '__proto__'"],
    ['a prototype in quotes', '{"a": 1, "__proto__": null}', "1:10: there is no key '__proto__'"],
    ['a prototype within', 'fields:\n  __proto__: name', "2:3: there is no key '__proto__'"],
    ['what objects have', 'constructor: 1\ntoString: 2', "1:1: there is no key 'constructor'"],
  ])('%s', (_, text, expected) => {
    expect(refusalOf(text)).toContain(`jobs/job.yaml:${expected}`);
    expect(refusalOfProfile(text)).toContain(`jobs/job.yaml:${expected}`);
  });

  it('keys that do not exist, twenty of them', () => {
    const text = many(2_000, (at) => `name${at}: 1`);
    expect(refusalOf(text)).toMatch(/^Cannot use jobs\/job\.yaml: 20 or more things are wrong\.\n/);
    expect(refusalOf(text).split('\n')).toHaveLength(21);
  });
});
