import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileExpression, ExpressionError } from '../../../src/collector/fields/expression.ts';
import { pointAt } from '../../../src/collector/fields/fields.ts';

/** What is wrong with an expression, with its place. */
function faultOf(expression: string): string {
  try {
    compileExpression(expression);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return `${error.message}\n${pointAt(expression, error.at)}`;
  }
  return 'nothing';
}

describe('a wrong expression', () => {
  it.each([
    ['location..city', '         ^', "'.' is not expected here"],
    ['a b', '  ^', "'b' is not expected here"],
    ['location.', '         ^', 'it ends where more is expected'],
    ['', '^', 'it ends where more is expected'],
    ["join(', ', tags) || 'none", '                    ^', 'this quote is never closed'],
    ['length(name) + uper(name)', '^', 'there is no function uper()'],
    ['length(a) || length(a, b)', '^', 'length() takes 1 argument but received 2'],
    ['{a b}', '   ^', "'b' is not expected here"],
  ])('%s: is shown where', (expression, caret, message) => {
    expect(faultOf(expression)).toBe(`${message}\n  ${expression}\n  ${caret}`);
  });

  it.each([
    ['a.größe', 'ö'],
    ['x == `nope`', 'nope'],
  ])('%s: is named', (expression, what) => {
    expect(faultOf(expression)).toContain(what);
  });

  it('is never more than an ExpressionError, and its place is in it', () => {
    const piece = fc.constantFrom(
      ...'a . [ ] [? * ( ) \' " ` { : 1 , & | || @ $ ö \\ - length( \u001b'.split(' '),
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const expression = pieces.join('');
        try {
          compileExpression(expression);
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
          expect(error.at).toBeGreaterThanOrEqual(0);
          expect(error.at).toBeLessThanOrEqual(expression.length);
          expect(error.message).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 200 },
    );
  });
});

it('a member that JavaScript has in every object is found only where it stands in the answer', () => {
  const find = compileExpression('constructor');
  expect(find({ name: 'Acme' })).toBeNull();
  expect(find(JSON.parse('{"constructor":"Ferrari"}'))).toBe('Ferrari');
});

describe('pointAt', () => {
  it('shows what is around the place of a long text', () => {
    const text = `${'a'.repeat(100)}!${'b'.repeat(100)}`;
    const [line = '', caret = ''] = pointAt(text, 100).split('\n');
    expect(line).toBe(`  …${'a'.repeat(50)}!${'b'.repeat(19)}…`);
    expect(line.charAt(caret.indexOf('^'))).toBe('!');
  });

  it('shows nothing that controls a terminal', () => {
    expect(pointAt('a\u001b[31m\n!', 7)).toBe('  a [31m !\n         ^');
  });
});
