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
  const quotes = findQuotes(expression);
  const open = quotes.find(({ isClosed }) => !isClosed);
  // The library would accept the text up to the end as the quoted part.
  if (open) throw new ExpressionError('this quote is never closed', open.from);
  let compiled: Compiled;
  try {
    compiled = compile(expression);
  } catch (error) {
    throw toExpressionError(expression, quotes, error);
  }
  checkFunctions(compiled, expression);
  const find = (answer: unknown): unknown => TreeInterpreter.search(compiled, answer as JSONValue);
  // The library also finds members that all objects inherit in JavaScript.
  return namesInherited(compiled) ? (answer) => find(withoutInherited(answer)) : find;
}

function namesInherited(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if ('type' in node && node.type === 'Field' && 'name' in node && isInherited(String(node.name))) {
    return true;
  }
  return Object.values(node).some(namesInherited);
}

/** The position is not searched in longer expressions, because that takes quadratic time. */
const MOST_SEARCHED = 2_000;

/** The library does not report a position. So the shortest invalid beginning is looked for. */
function toExpressionError(
  expression: string,
  quotes: readonly Quoted[],
  error: unknown,
): ExpressionError {
  if (error instanceof RangeError) return new ExpressionError('it is nested too deep', 0);
  if (expression.length > MOST_SEARCHED) return new ExpressionError(messageOf(error), 0);
  const tokens = tokensOf(expression);
  if (!tokens) return findBadCharacter(expression, quotes);
  for (const [at, { start }] of tokens.entries()) {
    const end = tokens[at + 1]?.start ?? expression.length;
    if (isViable(expression.slice(0, end))) continue;
    const text = expression.slice(start, end).trim();
    return new ExpressionError(`'${shorten(text)}' is not expected here`, start);
  }
  return new ExpressionError('it ends where more is expected', expression.trimEnd().length);
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

function findBadCharacter(expression: string, quotes: readonly Quoted[]): ExpressionError {
  const bad = quotes.find(({ from, to }) => !tokensOf(expression.slice(from, to)));
  for (let end = 1; end <= (bad?.from ?? expression.length); end += 1) {
    const isWithinQuotes = quotes.some(({ from, to }) => end > from && end < to);
    if (isWithinQuotes || tokensOf(expression.slice(0, end))) continue;
    const character = expression.charAt(end - 1);
    return new ExpressionError(
      `'${shorten(character)}' is not expected here; a name with such a character goes in double quotes`,
      end - 1,
    );
  }
  const what = expression.charAt(bad?.from ?? 0) === '`' ? 'backticks' : 'double quotes';
  return new ExpressionError(
    `what is between these ${what} is not written as in JSON`,
    bad?.from ?? 0,
  );
}

function tokensOf(expression: string): readonly { readonly start: number }[] | undefined {
  try {
    return tokenize(expression);
  } catch {
    return undefined;
  }
}

/** A quoted piece of an expression, including its quotes. */
interface Quoted {
  readonly from: number;
  readonly to: number;
  readonly isClosed: boolean;
}

function findQuotes(expression: string): readonly Quoted[] {
  const quotes: Quoted[] = [];
  for (let at = 0; at < expression.length; at += 1) {
    const quote = expression.charAt(at);
    if (!`'"\``.includes(quote)) continue;
    const from = at;
    at += 1;
    while (at < expression.length && expression.charAt(at) !== quote) {
      at += expression.charAt(at) === '\\' ? 2 : 1;
    }
    quotes.push({ from, to: at + 1, isClosed: at < expression.length });
  }
  return quotes;
}

/**
 * Finds calls of functions that do not exist, or with a wrong number of arguments, before the first
 * answer is paid for. Each call is tried with nulls. Errors about types are ignored, because they
 * depend on the answer.
 */
function checkFunctions(compiled: Compiled, expression: string): void {
  const met = new Map<string, number>();

  function check(node: unknown): void {
    if (typeof node !== 'object' || node === null) return;
    if ('type' in node && node.type === 'Function' && 'name' in node && 'children' in node) {
      const name = String(node.name);
      met.set(name, (met.get(name) ?? 0) + 1);
      const problem = findProblemOfCall(node, Array.isArray(node.children) ? node.children : []);
      if (problem !== undefined) {
        throw new ExpressionError(problem, placeOfCall(expression, name, met.get(name) ?? 1));
      }
    }
    Object.values(node).forEach(check);
  }

  check(compiled);
}

function findProblemOfCall(node: object, args: readonly unknown[]): string | undefined {
  const trial = { ...node, children: args.map(() => ({ type: 'Literal', value: null })) };
  try {
    TreeInterpreter.search(trial as unknown as Compiled, null);
  } catch (error) {
    const [, kind, what] = /^(Unknown function|Invalid arity): (.*)$/.exec(messageOf(error)) ?? [];
    if (kind !== undefined) return kind === 'Invalid arity' ? what : `there is no function ${what}`;
  }
  return undefined;
}

/** The position of the nth call of a function. */
function placeOfCall(expression: string, name: string, nth: number): number {
  const tokens = tokenize(expression);
  const calls = tokens.filter(({ value }, at) => value === name && tokens[at + 1]?.value === '(');
  return calls[nth - 1]?.start ?? calls[0]?.start ?? 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether all JavaScript objects inherit a member of this name, such as `constructor`. */
function isInherited(name: string): boolean {
  return name in Object.prototype;
}

/** A copy of a JSON value whose objects have only the members that are in the JSON. */
function withoutInherited(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutInherited);
  const own = Object.entries(value).map(([name, inner]) => [name, withoutInherited(inner)]);
  return Object.setPrototypeOf(Object.fromEntries(own), null);
}
