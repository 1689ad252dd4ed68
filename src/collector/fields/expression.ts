import { compile, type JSONValue, TreeInterpreter, tokenize } from '@jmespath-community/jmespath';
import { shorten } from '../../rows/columns/names.ts';

type Compiled = ReturnType<typeof compile>;

/** An error in a JMESPath expression, with its position. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** The index of the character in error; the length of the expression for its end. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/**
 * Compiles a JMESPath expression.
 *
 * @returns a function that finds its value in an answer; null for none
 * @throws ExpressionError for an invalid expression, before there is any answer
 * @see {@link https://jmespath.site JMESPath}
 */
export function compileExpression(expression: string): (answer: unknown) => unknown {
  const open = openQuoteIn(expression);
  if (open !== -1) throw new ExpressionError('this quote is never closed', open);
  let compiled: Compiled;
  try {
    compiled = compile(expression);
  } catch (error) {
    throw locate(expression, error);
  }
  checkFunctions(compiled);
  return (answer) => {
    const value: unknown = TreeInterpreter.search(compiled, answer as JSONValue);
    // The library also finds what all objects of JavaScript inherit, such as `constructor`.
    return typeof value === 'function' || value === Object.prototype ? null : value;
  };
}

/** Whether a text is an expression by its form, with nothing open at its end. */
export function isExpression(text: string): boolean {
  try {
    compile(text);
    return openQuoteIn(text) === -1;
  } catch {
    return false;
  }
}

/** The library would accept the text up to the end as the quoted part. */
function openQuoteIn(expression: string): number {
  return expression.replaceAll(QUOTED, ({ length }) => ' '.repeat(length)).search(/['"`]/);
}

const QUOTED = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/gs;
/** The place is not searched in longer expressions, because that takes quadratic time. */
const MOST_SEARCHED = 2_000;

/**
 * The library does not report a place. So the shortest beginning is looked for that cannot be one.
 */
function locate(expression: string, error: unknown): ExpressionError {
  if (error instanceof RangeError) return new ExpressionError('it is nested too deep', 0);
  const tokens = expression.length > MOST_SEARCHED ? undefined : tokensOf(expression);
  if (!tokens) return new ExpressionError(shorten(messageOf(error)), 0);
  for (const [at, { start }] of tokens.entries()) {
    const end = tokens[at + 1]?.start ?? expression.length;
    if (isViable(expression.slice(0, end))) continue;
    const text = expression.slice(start, end).trim();
    return new ExpressionError(`'${shorten(text)}' is not expected here`, start);
  }
  return new ExpressionError('it ends where more is expected', expression.trimEnd().length);
}

function tokensOf(expression: string): readonly { readonly start: number }[] | undefined {
  try {
    return tokenize(expression);
  } catch {
    return undefined; // the message names the character
  }
}

/** Whether an expression may begin with this text. */
function isViable(beginning: string): boolean {
  try {
    compile(beginning);
    return true;
  } catch (error) {
    // The library reads the token after the last one without checking that it exists.
    return error instanceof TypeError || /\bEOF\b/.test(messageOf(error));
  }
}

/**
 * Finds calls of functions that do not exist, or with a wrong number of arguments, before the first
 * answer is paid for. Each call is tried with nulls. Errors about types are ignored, because they
 * depend on the answer.
 */
function checkFunctions(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node && node.type === 'Function' && 'children' in node) {
    const args = Array.isArray(node.children) ? node.children : [];
    const trial = { ...node, children: args.map(() => ({ type: 'Literal', value: null })) };
    try {
      TreeInterpreter.search(trial as unknown as Compiled, null);
    } catch (error) {
      const [, kind, what] =
        /^(Unknown function|Invalid arity): (.*)$/.exec(messageOf(error)) ?? [];
      if (kind === 'Unknown function') throw new ExpressionError(`there is no function ${what}`, 0);
      if (what !== undefined) throw new ExpressionError(what, 0);
    }
  }
  Object.values(node).forEach(checkFunctions);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
