import { BrandfillError } from '../errors.ts';
import { describeError, EXIT, exitCodeOfError } from '../exit-codes.ts';

/** Says on standard error what went wrong, and with which exit code to end. */
export function reportError(error: unknown): number {
  const code = exitCodeOfError(error);
  if (code !== EXIT.unexpected || error instanceof BrandfillError) {
    process.stderr.write(`brandfill: ${describeError(error)}\n`);
    return code;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`brandfill: Something unexpected happened, please report it.\n${text}\n`);
  return code;
}
