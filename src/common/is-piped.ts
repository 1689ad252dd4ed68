/** Standard input, and the paths that shells make for `<(command)`. */
const PIPED = /^-$|^\/dev\/(?:stdin|fd\/\d+)$|^\/proc\/[^/]+\/fd\/\d+$/;

/** Whether an input is a pipe, beside which no files can be written. */
export function isPiped(input: unknown): boolean {
  return typeof input === 'string' && PIPED.test(input);
}
