import { BrandfillError, describeError, EXIT, exitCodeOfError } from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { printableLines } from '../common/text.ts';
import { inFlags } from '../options/options.ts';
import type { Log } from '../watch/log.ts';

/** Reports an error on standard error, and returns the exit code to end with. */
export function reportError(error: unknown, log?: Log): number {
  const code = exitCodeOfError(error);
  const isExpected = code !== EXIT.unexpected || error instanceof BrandfillError;
  const message = isExpected
    ? describeError(error)
    : 'Something unexpected happened, please report it.';
  const stack = isExpected ? undefined : stackOf(error);
  if (log && log.format !== 'shown') {
    log.write('error', message, { event: 'error', exitCode: code, ...(stack && { stack }) });
    if (log.format === 'text')
      for (const line of stack?.split('\n') ?? []) log.write('error', line);
  } else {
    const text = `brandfill: ${message}${stack === undefined ? '' : `\n${stack}`}`;
    process.stderr.write(`${printableLines(inFlags(withoutSecrets(text)))}\n`);
  }
  return code;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
