import { BrandfillError } from '../errors.ts';
import { EXIT } from './exit-codes.ts';

/** Says on standard error what went wrong, and with which exit code to end. */
export function reportError(error: unknown): number {
  if (error instanceof BrandfillError) {
    process.stderr.write(`brandfill: ${error.message}\n`);
    return error.code === 'COUNTS_DIFFER' ? EXIT.unexpected : EXIT.usage;
  }
  if (error instanceof Error && error.name === 'SandboxError') {
    process.stderr.write(`brandfill: ${error.message}\n`);
    return EXIT.usage;
  }
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write('brandfill: Interrupted before the first call; nothing was changed.\n');
    return EXIT.interrupted;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`brandfill: Something unexpected happened, please report it.\n${text}\n`);
  return EXIT.unexpected;
}
