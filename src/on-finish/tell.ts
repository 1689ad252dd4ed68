import { dirname } from 'node:path';
import { redactDeep } from '../common/redactor.ts';
import { withoutCredentials } from '../common/secrets.ts';
import type { OnFinish } from '../job/job-file/on-finish-keys.ts';
import type { Environment } from '../job/job-file/variables.ts';
import { formatDuration } from '../job/values/duration.ts';
import { openGrace } from './grace.ts';
import { type PostOptions, postReport } from './post-report.ts';
import { createReport, type FinishedRun, reportVariables } from './report.ts';
import { runCommand } from './run-command.ts';

export interface TellContext {
  /** The command gets all of it but what holds a credential. */
  readonly env: Environment;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
  /** Called with a sentence when somebody could not be told. */
  readonly onNotice: (message: string) => void;
  readonly post?: Omit<PostOptions, 'hurry'>;
  /** Fires when the run, or the telling itself, is interrupted. @default never */
  readonly signal?: AbortSignal | undefined;
  /** How long commands and posts under way may take after that, in milliseconds. @default 30000 */
  readonly graceMs?: number;
}

/** Long, because a command may well send a file somewhere. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;
/**
 * Together with the end of the run this is less than a minute, the time that senders of signals are
 * advised to wait.
 */
const GRACE_MS = 30_000;
const NEVER = new AbortController().signal;

/**
 * Reports a run that is over: runs the command and posts to the URL, at the same time. Never
 * throws.
 */
export async function tell(
  { command, url, timeout = COMMAND_TIMEOUT_MS }: OnFinish,
  run: FinishedRun,
  { env, redact, onNotice, post, signal = NEVER, graceMs = GRACE_MS }: TellContext,
): Promise<void> {
  const report = redactDeep(createReport(run), redact);
  const json = JSON.stringify(report);
  const warn = (what: string) => (error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    onNotice(`${what}: ${why}. The run itself is not affected.`);
  };
  const grace = openGrace(signal, graceMs, () =>
    onNotice(
      `Interrupted: onFinish may take another ${formatDuration(graceMs)}. Interrupt again to end at once.`,
    ),
  );
  await Promise.all([
    command !== undefined &&
      runCommand(command, {
        hurry: grace.over,
        cwd: dirname(run.file),
        env: { ...withoutCredentials(env), ...reportVariables(report) },
        stdin: `${json}\n`,
        timeoutMs: timeout,
      }).catch(warn('The command of onFinish failed')),
    url !== undefined &&
      postReport(url, json, { ...post, hurry: grace.over }).catch(
        warn(`Cannot tell ${new URL(url).origin} that the run is over`),
      ),
  ]);
  grace.close();
}
