import type { JsonObject } from '../../brand/json-object.ts';
import { refusal } from '../../common/errors.ts';
import { shorten } from '../../rows/columns/names.ts';
import { compileExpression, ExpressionError, isExpression } from './expression.ts';

/** One output column and the way to its value in an answer. */
export interface Field {
  readonly name: string;
  /**
   * How the value is found. Fields with the same expression find the same value in the same answer.
   */
  readonly expression?: string;
  /** The way to its value in an answer, for a column of the flattened answer. */
  readonly path?: readonly string[];
  /** Whether it has what no other column has, so that what is in it depends on other rows. */
  readonly isRest?: boolean;
  /**
   * Whether its expression was chosen by names that answers often have, so that it may find
   * nothing.
   */
  readonly isGuessed?: boolean;
  /** Undefined when the answer has no value for it. */
  valueOf(answer: JsonObject): unknown;
}

/**
 * Reads `NAME=EXPR,NAME=EXPR,…`, each EXPR in JMESPath. A comma within brackets, braces,
 * parentheses or quotes belongs to its expression.
 *
 * @throws BrandfillError `INVALID_SETTING` for an empty name, or a missing or invalid expression.
 * @see {@link https://jmespath.site JMESPath}
 */
export function parseFields(spec: string): readonly Field[] {
  return splitFields(spec).map((part) => {
    const equals = part.indexOf('=');
    const name = part.slice(0, equals).trim();
    const expression = part.slice(equals + 1).trim();
    if (equals < 1 || name === '' || expression === '') {
      throw refusal(
        `expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city, received '${part.trim()}'`,
      );
    }
    return createField(name, expression);
  });
}

/**
 * Reads `COLUMN=EXPR`, each EXPR in JMESPath: names of columns of the list, and the fields that
 * fill their blank cells.
 *
 * @param specs as texts, or as expressions by column
 * @throws BrandfillError `INVALID_SETTING`
 */
export function parseFills(specs: readonly string[] | Readonly<Record<string, string>>) {
  const pairs = Array.isArray(specs)
    ? specs.map((spec: string) => spec.split(/=(.*)/s))
    : Object.entries(specs);
  return pairs.map(([name = '', value]) => {
    const [column, expression] = [name.trim(), value?.trim() ?? ''];
    if (column === '' || expression === '' || expression === '*') {
      const received = value === undefined ? name : `${name}=${value}`;
      throw refusal(`expected COLUMN=EXPR such as Industry=industry, received '${received}'`);
    }
    return { column, field: createField(column, expression) };
  });
}

/**
 * Makes a field from a JMESPath expression.
 *
 * @throws BrandfillError `INVALID_SETTING` that shows the position. Its cause is an
 *   `ExpressionError`.
 */
export function createField(name: string, expression: string): Field {
  const find = compileOrRefuse(name, expression);
  return {
    name,
    expression,
    valueOf: (answer) => {
      try {
        return find(answer) ?? undefined;
      } catch {
        // A function was called with a wrong type. The answer then has no value here.
        return undefined;
      }
    },
  };
}

function compileOrRefuse(name: string, expression: string): ReturnType<typeof compileExpression> {
  try {
    return compileExpression(expression);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw refusal(
      `the expression of '${shorten(name)}' is no JMESPath: ${error.message}\n${pointAt(expression, error.at)}`,
      error,
    );
  }
}

/**
 * Cuts at the commas in front of which an expression is complete: within one, something is open.
 */
function splitFields(spec: string): readonly string[] {
  const parts: string[] = [];
  let open: string | undefined;
  for (const piece of spec.split(',')) {
    const part: string = open === undefined ? piece : `${open},${piece}`;
    const [, expression = ''] = part.split(/=(.*)/s);
    open = expression.trim() === '' || isExpression(expression) ? undefined : part;
    if (open === undefined) parts.push(part);
  }
  return open === undefined ? parts : [...parts, open];
}

/**
 * How much of a text is shown before the position, and in all: as much as fits on a terminal line.
 */
const MOST_BEFORE = 50;
const MOST_SHOWN = 70;

/**
 * Shows a position in a text: a line with the text around it, and a line with a caret below it.
 * Control characters are shown as spaces.
 *
 * @param at the index of the character
 */
export function pointAt(text: string, at: number): string {
  const printable = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (found) => ' '.repeat(found.length));
  const from = Math.max(0, at - MOST_BEFORE);
  const to = from + MOST_SHOWN;
  const before = from > 0 ? '…' : '';
  const behind = to < text.length ? '…' : '';
  const line = `${before}${printable.slice(from, to)}${behind}`;
  return `  ${line}\n  ${' '.repeat(before.length + at - from)}^`;
}
