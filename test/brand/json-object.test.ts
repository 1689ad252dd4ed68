import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonObject, findRoundedJsonObject, withoutNaN } from '../../src/brand/json-object.ts';
import { pathsOf } from '../collector/answers.ts';

describe('findJsonObject', () => {
  it('takes a field called __proto__ for a field', () => {
    const value = findJsonObject('{"__proto__":{"isAdmin":true}}');
    expect(Object.keys(value ?? {})).toEqual(['__proto__']);
    expect(value?.['isAdmin']).toBeUndefined();
  });

  it.each(['', '{', '{"a":1', '{"a":1}}', "{'a':1}", '[{}]', 'null', '"a"', '<html>'])(
    'has nothing for %j',
    (body) => {
      expect(findJsonObject(body)).toBeUndefined();
    },
  );
});

const nest = (open: string, close: string, levels: number): string =>
  `{"deep":${open.repeat(levels)}1${close.repeat(levels)},"wide":"${'{'.repeat(3_000)}"}`;

it.each([
  ['[', ']'],
  ['{"a":', '}'],
])('an answer that is nested %s is read up to a thousand levels', (open, close) => {
  expect(findJsonObject(nest(open, close, 999))).toBeDefined();
  expect(findJsonObject(nest(open, close, 1_001))).toBeUndefined();
  expect(findJsonObject(nest(open, close, 100_000))).toBeUndefined();
});

describe('a number in an answer', () => {
  it.each([
    ['12345678901234567890', '12345678901234567890'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['9007199254740993', '9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1e400', '1e400'],
  ])('that JavaScript cannot hold, such as %s, is a text', (written, value) => {
    const nested = findJsonObject(`{"a":${written},"b":[{"c":${written}}]}`);
    expect(nested).toEqual({ a: value, b: [{ c: value }] });
  });

  it.each(['9007199254740991', '-9007199254740991', '0.30000000000000004', '1e3', '1E+3', '1.5'])(
    'that JavaScript can hold, such as %s, is one',
    (written) => {
      expect(findJsonObject(`{"a":${written},"long":12345678901234567890}`)).toMatchObject({
        a: Number(written),
      });
    },
  );

  it('is left alone within a text or a name', () => {
    const value = { '12345678901234567890': 'id "12345678901234567890\\" 1e400', b: '\\' };
    const body = `{"n":12345678901234567890,${JSON.stringify(value).slice(1)}`;
    expect(findJsonObject(body)).toEqual({ n: '12345678901234567890', ...value });
  });

  it('changes nothing else about any answer', () => {
    const long = { id: 'x' };
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const plain = JSON.stringify({ value, ...long });
        const withLong = plain.replace(/"x"\}$/, '12345678901234567890}');
        expect(findJsonObject(withLong)).toEqual({
          ...(JSON.parse(plain) as object),
          id: '12345678901234567890',
        });
      }),
    );
  });

  it('takes no time to look for in an answer that is cut within a text', () => {
    const html = '<a href=\\"/x\\">'.repeat(30_000);
    expect(findJsonObject(`{"id":12345678901234567890,"html":"${html}`)).toBeUndefined();
  });
});

it('NaN and Infinity are null, but where they are a text', () => {
  const body = '{"NaN":NaN,"a":[-Infinity,"Infinity","is \\"NaN"]}';
  expect(JSON.parse(withoutNaN(body))).toEqual({ NaN: null, a: [null, 'Infinity', 'is "NaN'] });
});

it('findRoundedJsonObject finds the same objects with the same columns, whatever the numbers', async () => {
  const bodies = fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string(),
    fc.constantFrom('{"a":12345678901234567890}', '{"a":1e400}', '{"a":[1e999],"b":{"c":-1E-9}}'),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      const exact = findJsonObject(body);
      const rounded = findRoundedJsonObject(body);
      expect(rounded && pathsOf(rounded)).toEqual(exact && pathsOf(exact));
    }),
  );
});
