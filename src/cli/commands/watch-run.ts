import type { Plan } from '../../collector/first-reading.ts';
import { EXIT, refusal } from '../../common/errors.ts';
import { isPiped } from '../../common/files.ts';
import { countOf } from '../../common/format.ts';
import { createRunId } from '../../common/hashes.ts';
import { toCleanJson } from '../../common/secrets.ts';
import { flag, oneOf } from '../../options/kinds.ts';
import { option, type SettingsOf, under } from '../../options/option.ts';
import type { RunSurroundings } from '../../page/show-run.ts';
import type { ListInput } from '../../rows/open-list.ts';
import type { CallerOptions } from '../../run/run-context.ts';
import { endingOf } from '../../watch/describe.ts';
import { openDisplay } from '../../watch/display.ts';
import type { RunView } from '../../watch/run-view.ts';
import {
  LOG_OPTIONS,
  openCommandLog,
  type ProcessContext,
  print,
  shownText,
  untilInterrupted,
} from './command.ts';

/** Of `enrich` and `run`, about a single start. */
export const START_OPTIONS = {
  ...under('What is shown', {
    dryRun: option(flag(), { help: 'read the list and show the plan; make no calls' }),
    json: option(flag(), { help: 'print the run (or the plan) to standard output as JSON' }),
    progress: option(oneOf('auto', 'bar', 'lines', 'none'), {
      default: 'auto',
      placeholder: 'STYLE',
      help: 'how progress is shown, on standard error: bar, lines or none; auto is a bar on a terminal and lines elsewhere',
    }),
  }),
  ...LOG_OPTIONS,
};

type StartSettings = SettingsOf<typeof START_OPTIONS>;

/**
 * @throws BrandfillError `INVALID_SETTING` when standard output is to take both rows and summary
 */
export function refuseRowsBesideJson(
  input: ListInput,
  out: string | undefined,
  { json, dryRun }: StartSettings,
): void {
  if (!json || dryRun || !(out === '-' || (out === undefined && isPiped(input)))) return;
  throw refusal('Cannot put both the rows and --json on standard output: give --out a file.');
}

/** Connects a run with the console: its signal, id, events and confirmation. */
export interface Watch extends CallerOptions, Pick<RunSurroundings, 'onRecorder'> {
  /** Called when the files are written. */
  readonly onSummary: (summary: RunView) => void;
}

/**
 * Shows a run, or its plan, on the console, and stops it in order at Ctrl-C.
 *
 * @param work makes the run, or only the plan
 * @returns the exit code
 */
export async function watchRun(
  { settings, context }: { readonly settings: StartSettings; readonly context: ProcessContext },
  work: (watch: Watch) => Promise<RunView | Plan>,
): Promise<number> {
  const { dryRun, json, progress, logLevel: level } = settings;
  const runId = createRunId();
  const log = openCommandLog(settings, { command: 'enrich', run: runId }, context);
  const isAsked = process.stdin.isTTY && process.stderr.isTTY;
  const stream = process.stderr;
  const display = await openDisplay({ log, level, progress, redact: shownText, stream });
  let exitCode: number = EXIT.ok;
  const printJson = (made: RunView | Plan): void => {
    if (json) print(toCleanJson(made));
  };
  const endAtOnce = (code: number): void => {
    display.end();
    context.endAtOnce(code);
  };
  try {
    return await untilInterrupted(endAtOnce, async (signal) => {
      const made = await work({
        signal,
        runId,
        onEvent: display.show,
        confirm: isAsked ? (asked) => confirmCalls(asked, signal) : undefined,
        onRecorder: display.onRecorder,
        onSummary: (summary) => {
          exitCode = endingOf(summary).exitCode;
          display.finish(summary);
          printJson(summary);
        },
      });
      if (dryRun) printJson(made);
      return exitCode;
    });
  } finally {
    display.end();
  }
}

/** Asks the person at the terminal whether these calls are intended. */
async function confirmCalls({ calls }: Plan, signal: AbortSignal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Raw mode takes Ctrl-C from the signals.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // Ctrl-D closes it without a reply.
  const closed = new Promise<undefined>((resolve) => {
    terminal.on('close', () => resolve(undefined));
  });
  let reply: string | undefined;
  try {
    const asked = terminal.question(
      `Make ${countOf(calls, 'call')}? (--yes skips this question) [y/N] `,
      { signal },
    );
    reply = await Promise.race([asked, closed]);
    return /^y(es)?$/i.test(reply?.trim() ?? '');
  } finally {
    terminal.close();
    if (reply === undefined) process.stderr.write('\n');
  }
}
