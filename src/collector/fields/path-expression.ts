/** A name that JMESPath accepts without quotes. `let` begins an expression of its own. */
const BARE_NAME = /^(?!let$|in$)[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The JMESPath of a path: `location.city`, `"legal-name"."x.y"`.
 *
 * @see {@link https://jmespath.site JMESPath}
 */
export function expressionOf(path: readonly string[]): string {
  return path.map((name) => (BARE_NAME.test(name) ? name : JSON.stringify(name))).join('.');
}
