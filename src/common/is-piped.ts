/** Standard input, and what shells make of `<(command)`. */
const PIPED = /^-$|^\/dev\/(?:stdin|fd\/\d+)$|^\/proc\/[^/]+\/fd\/\d+$/;

/** Whether an input has no place of its own, beside which files could be. */
export function isPiped(input: unknown): boolean {
  return typeof input === 'string' && PIPED.test(input);
}
