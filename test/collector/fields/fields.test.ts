import { describe, expect, it } from 'vitest';
import { parseFields } from '../../../src/collector/fields/fields.ts';

const ANSWER = { name: 'Acme', size: 7, tags: ['a', 'b'], at: { city: 'Oslo, N' } };

function values(spec: string): Record<string, unknown> {
  return Object.fromEntries(parseFields(spec).map(({ name, valueOf }) => [name, valueOf(ANSWER)]));
}

describe('parseFields', () => {
  it.each([
    ['n=name', { n: 'Acme' }],
    [' n = name , s = size ', { n: 'Acme', s: 7 }],
    ["t=join(', ', tags)", { t: 'a, b' }],
    ['l=[name,size],o={x: name, y: size}', { l: ['Acme', 7], o: { x: 'Acme', y: 7 } }],
    ["c=tags[?@=='a'] | [0],d=at.city", { c: 'a', d: 'Oslo, N' }],
    ["q='it\\'s, so'", { q: "it's, so" }],
    ['b=`{"a": "x,y"}`', { b: { a: 'x,y' } }],
    ['e=size == `7`', { e: true }],
    ['none=no.such', { none: undefined }],
    ['wrong=length(size)', { wrong: undefined }],
  ])('reads %s', (spec, expected) => {
    expect(values(spec)).toEqual(expected);
  });

  it.each(['', '=name', 'name', 'a=', 'a=b,', 'a=b,,c=d', 'a=b[', "a='open", 'a=nofunc(name)'])(
    'refuses %j',
    (spec) => {
      expect(() => parseFields(spec)).toThrow(expect.objectContaining({ code: 'INVALID_SETTING' }));
    },
  );
});
