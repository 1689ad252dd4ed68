import { compile, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import type { JsonObject } from '../brand/answer.ts';
import { BrandfillError } from '../errors.ts';

/** One output column and how its value is found in an answer. */
export interface Field {
  readonly name: string;
  /** How the value is found: fields that have this in common find the same in the same answer. */
  readonly expression?: string;
  /** Whether it is a piece of the flattened answer, rather than made by an expression. @default false */
  readonly isFlat?: boolean;
  /** The pieces in it, where it has several: each finds its value in that of the whole. */
  readonly parts?: readonly Field[];
  /** Undefined where the answer has nothing for it. */
  valueOf(answer: JsonObject): unknown;
}

/**
 * Reads `NAME=EXPR,NAME=EXPR,…`, each EXPR in JMESPath. A comma within brackets, braces, parentheses
 * or quotes belongs to its expression.
 *
 * @throws BrandfillError `INVALID_SETTING` for an empty name, a missing or a wrong expression.
 * @see {@link https://jmespath.site JMESPath}
 */
export function parseFields(spec: string): readonly Field[] {
  return splitOutside(spec).map((part) => {
    const equals = part.indexOf('=');
    const name = part.slice(0, equals).trim();
    const expression = part.slice(equals + 1).trim();
    if (equals < 1 || name === '' || expression === '') {
      throw new BrandfillError(
        'INVALID_SETTING',
        `expected NAME=EXPR,NAME=EXPR such as name=name,city=location.city, received '${part.trim()}'`,
      );
    }
    return createField(name, expression);
  });
}

/** A column of the list by its name, and what goes where it is blank. */
export interface FillSetting {
  readonly column: string;
  readonly field: Field;
}

const MOST_FILLS = 30;

/**
 * Reads `COLUMN=EXPR`, each EXPR in JMESPath.
 *
 * @param specs texts, or expressions by column
 * @throws BrandfillError `INVALID_SETTING`
 */
export function parseFills(
  specs: readonly string[] | Readonly<Record<string, string>>,
): readonly FillSetting[] {
  const pairs = Array.isArray(specs)
    ? specs.map((spec: string) => {
        const equals = spec.indexOf('=');
        const column = spec.slice(0, Math.max(0, equals)).trim();
        return [column, spec.slice(equals + 1).trim(), spec] as const;
      })
    : Object.entries(specs).map(
        ([column, expression]) => [column, expression, `${column}: ${expression}`] as const,
      );
  if (pairs.length > MOST_FILLS) {
    throw new BrandfillError('INVALID_SETTING', `expected at most ${MOST_FILLS} columns`);
  }
  return pairs.map(([column, expression, given], at) => {
    if (column === '' || expression === '' || expression === '*') {
      throw new BrandfillError(
        'INVALID_SETTING',
        `expected COLUMN=EXPR such as Industry=industry, received '${given}'`,
      );
    }
    if (pairs.findIndex(([other]) => other === column) !== at) {
      throw new BrandfillError('INVALID_SETTING', `the column '${column}' is given twice`);
    }
    return { column, field: createField(column, expression) };
  });
}

/** Makes a field from a JMESPath expression. */
export function createField(name: string, expression: string): Field {
  let compiled: ReturnType<typeof compile>;
  try {
    compiled = compile(expression);
    checkFunctions(compiled);
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `the expression of '${name}' is no JMESPath: ${error instanceof Error ? error.message : String(error)} in '${expression}'`,
      { cause: error },
    );
  }
  return {
    name,
    expression,
    valueOf: (answer) => {
      try {
        return TreeInterpreter.search(compiled, answer as JSONValue) ?? undefined;
      } catch {
        // A function was given a type it does not take: this answer has nothing to offer here.
        return undefined;
      }
    },
  };
}

/**
 * Finds calls of functions that do not exist, or with a wrong number of arguments, before the first
 * answer is paid for. Each is tried with nulls: a complaint about types depends on the answer.
 */
function checkFunctions(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node && node.type === 'Function' && 'children' in node) {
    const children = Array.isArray(node.children) ? node.children : [];
    const trial = { ...node, children: children.map(() => ({ type: 'Literal', value: null })) };
    try {
      TreeInterpreter.search(trial as unknown as ReturnType<typeof compile>, null);
    } catch (error) {
      if (error instanceof Error && /^(Unknown function|Invalid arity)/.test(error.message)) {
        throw error;
      }
    }
  }
  Object.values(node).forEach(checkFunctions);
}

const OPENING = '([{';
const CLOSING = ')]}';
const QUOTES = `'"\``;

function splitOutside(spec: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = '';
  let start = 0;
  for (let at = 0; at < spec.length; at += 1) {
    const character = spec.charAt(at);
    if (quote) {
      if (character === '\\') at += 1;
      else if (character === quote) quote = '';
    } else if (QUOTES.includes(character)) quote = character;
    else if (OPENING.includes(character)) depth += 1;
    else if (CLOSING.includes(character)) depth -= 1;
    else if (character === ',' && depth === 0) {
      parts.push(spec.slice(start, at));
      start = at + 1;
    }
  }
  if (quote !== '' || depth !== 0) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `a quote or bracket is never closed in '${spec.slice(start).trim()}'`,
    );
  }
  return [...parts, spec.slice(start)];
}
