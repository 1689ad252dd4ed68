import { describe, expect, it } from 'vitest';
import { formatPreset, readPreset } from '../../src/options/preset.ts';
import { openFolder } from '../integration/support/folder.ts';

const ANSWER = { name: 'Acme', at: { 'po-box': 7 }, no: true };

function read(text: string): Record<string, unknown> {
  const fields = readPreset(openFolder().write('brand.yaml', text));
  return Object.fromEntries(fields.map(({ name, valueOf }) => [name, valueOf(ANSWER)]));
}

describe('a preset', () => {
  it.each([
    ['YAML', '# mine\nn: name\nbox: at."po-box"\n', { n: 'Acme', box: 7 }],
    ['quotes', `"the name": 'name'\nbox: "at.\\"po-box\\""\n`, { 'the name': 'Acme', box: 7 }],
    ['what YAML takes for something else', 'no: no\n1: name\n', { no: true, 1: 'Acme' }],
    ['JSON', '\uFEFF{\n\t"n": "name"\n}', { n: 'Acme' }],
    ['several lines', 'n: >\n  name ||\n  `1`\n', { n: 'Acme' }],
  ])('may be %s', (_, text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each([
    [
      'n: name\ncity: at..city\n',
      "brand.yaml:2:7: the expression of 'city' is no JMESPath: '.' is not expected here\n  at..city\n     ^",
    ],
    [
      'a: x.\nb: no(y)\n',
      "brand.yaml: 2 things are wrong.\n  brand.yaml:1:4: the expression of 'a' is no JMESPath: it ends where more is expected\n    x.\n      ^\n  brand.yaml:2:4: the expression of 'b' is no JMESPath: there is no function no()\n    no(y)\n    ^",
    ],
    ['n: name\ncity:\n', 'brand.yaml:2:6: city: expected an expression such as location.city'],
    ['"": name\n', 'brand.yaml:1:5: expected the name of a column'],
    ['n: name\nn: legal\n', 'brand.yaml:2:1: Map keys must be unique'],
    [
      '- n=name\n',
      "brand.yaml:1:1: expected names with expressions, such as 'city: location.city'",
    ],
    [
      'n: `1`\n',
      'brand.yaml:1:4: Plain value cannot start with reserved character `; what begins with ` goes in quotes',
    ],
    [
      Buffer.from('gr\xfc\xdfe: name\n', 'latin1'),
      'cannot read the preset brand.yaml: it is not in UTF-8; save it as UTF-8',
    ],
    ['a'.repeat(1_000_001), 'cannot read the preset brand.yaml: it is longer than a megabyte'],
  ])('is refused, with its place: case %#', (text, expected) => {
    const folder = openFolder();
    const path = folder.write('brand.yaml', text);
    const refused = (): unknown => readPreset(path);
    expect(refused).toThrow(expected.replaceAll('brand.yaml', path));
  });
});

describe('formatPreset', () => {
  it('writes what is read as the same columns', () => {
    const expressions = ['name', 'at."po-box"', '"no"', '`7`'];
    const names = ['name', 'po-box: #1', 'no', '007'];
    const columns = names.map((name, at) => ({
      name: `x_${name}`,
      expression: expressions[at],
    }));
    const rest = { name: 'x_json', expression: undefined };
    const source = { domain: 'a.com', fetchedAt: '2026-11-21T10:00:00.000Z' };
    const text = formatPreset({ ...source, columns: [...columns, rest] }, 'x_');
    expect(text).toMatch(/^# Columns as a\.com had them on 2026-11-21,/);
    expect(text).toContain('There is more in the answer');
    expect(read(text)).toEqual({ name: 'Acme', 'po-box: #1': 7, no: true, '007': 7 });
  });
});
