import { type Command, Option } from 'commander';
import { BrandfillError } from '../common/errors.ts';
import { isPiped } from '../common/files.ts';
import { createRunId } from '../common/hashes.ts';
import { toCleanJson, withoutSecrets } from '../common/secrets.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import type { EnrichOptions, Plan, Summary } from '../index.ts';
import { OPTIONS, toOptions } from '../options/options.ts';
import type { ProgressStyle } from '../watch/views/open-progress-view.ts';
import type { ConsoleView } from '../watch/views/views.ts';
import { confirmOnTerminal, isOnTerminal } from './confirm.ts';
import type { CliContext } from './context.ts';
import { addTokenFlag } from './dashboard.ts';
import { onInterrupt } from './interrupt.ts';
import { addLogFlags, type LogFlags, openCommandLog, splitLogFlags } from './log-flags.ts';
import { addSettings } from './setting-options.ts';

/** Flags of a command that runs a list, beside the settings. */
export interface RunFlags {
  readonly dryRun: boolean;
  readonly progress: ProgressStyle | 'auto';
  readonly json: boolean;
  readonly logFlags: LogFlags;
}

/** Gives a command all settings of a run, and the flags that only the command line has. */
export function addRunFlags(command: Command): Command {
  addSettings(command, OPTIONS);
  addTokenFlag(command)
    .option('--dry-run', 'read the list and show the plan; make no calls')
    .addOption(
      new Option('--progress <style>', 'how to show progress, on standard error')
        .choices(['auto', 'bar', 'lines', 'none'])
        .default('auto'),
    )
    .option('--json', 'print the summary (or the plan) to standard output as JSON');
  return addLogFlags(command).addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`);
}

/** Separates the flags of a run from the library's options among what was typed. */
export function splitRunFlags(typed: Readonly<Record<string, unknown>>): {
  readonly flags: RunFlags;
  readonly options: Partial<EnrichOptions>;
} {
  const { logFlags, others } = splitLogFlags(typed);
  const { dryRun = false, progress, json = false, ...given } = others;
  const flags = { dryRun, progress, json, logFlags } as RunFlags;
  return { flags, options: toOptions(given) };
}

/** @throws BrandfillError `INVALID_SETTING` when standard output is to take both rows and summary */
export function refuseRowsBesideJson(
  { input, out }: Partial<Pick<EnrichOptions, 'input' | 'out'>>,
  { json, dryRun }: RunFlags,
): void {
  if (!json || dryRun || !(out === '-' || (out === undefined && isPiped(input)))) return;
  throw new BrandfillError(
    'INVALID_SETTING',
    'Cannot put both the rows and --json on standard output: give --out a file.',
  );
}

/** Connects a run with the console: its signal, id, events and confirmation. */
export type Watch = Pick<EnrichOptions, 'signal' | 'runId' | 'onEvent' | 'confirm'>;

export interface WatchedRun {
  /** Makes the plan only. */
  readonly plan: (watch: Watch) => Promise<Plan>;
  /** Makes the run, and passes on the summary when the files are written. */
  readonly run: (watch: Watch, onSummary: (summary: Summary) => void) => Promise<unknown>;
}

/** Shows a run on the console, and stops it in order at Ctrl-C. Returns the exit code. */
export async function watchRun(
  { plan, run }: WatchedRun,
  flags: RunFlags,
  context: CliContext,
): Promise<number> {
  const { dryRun, json } = flags;
  const runId = createRunId();
  const view = await openView(flags, runId, context);
  const interrupt = onInterrupt((code) => {
    view.end();
    context.endAtOnce(code);
  });
  let exitCode: number = EXIT.ok;
  const onSummary = (summary: Summary): void => {
    exitCode = exitCodeOf(summary);
    view.finish(summary);
    if (json) process.stdout.write(`${toCleanJson(summary)}\n`);
  };
  const confirm = confirmOnTerminal(interrupt.signal);
  const watch = {
    signal: interrupt.signal,
    runId,
    onEvent: view.show,
    ...(confirm && { confirm }),
  };
  try {
    if (dryRun) {
      const planned = await plan(watch);
      if (json) process.stdout.write(`${toCleanJson(planned)}\n`);
    } else {
      await run(watch, onSummary);
    }
    return exitCode;
  } finally {
    view.end();
    interrupt.dispose();
  }
}

/** Shows a run to the person who started it; in a log each line carries the id of the run. */
async function openView(
  { progress, logFlags }: RunFlags,
  runId: string,
  context: CliContext,
): Promise<ConsoleView> {
  const fields = { command: 'enrich', run: runId };
  const log = await openCommandLog(logFlags, { fields, context });
  if (log.format !== 'shown') {
    const { createLogView } = await import('../watch/views/views.ts');
    return createLogView(log, progress);
  }
  const { createConsoleView } = await import('../watch/views/views.ts');
  const { openProgressView } = await import('../watch/views/open-progress-view.ts');
  const { quietView } = await import('../watch/views/views.ts');
  const { stderr } = process;
  const view = createConsoleView({
    write: (line) => void stderr.write(`${line}\n`),
    progress: await openProgressView(progress, stderr),
    isTerminal: isOnTerminal(),
    runId,
    redact: withoutSecrets,
  });
  return quietView(view, logFlags.logLevel);
}

const EXIT_CODE_HELP = `  0    done, no row failed
  1    unexpected error
  2    invalid option, or an input or output that cannot be used; no output was changed
  3    done, but some rows failed, are pending or keep an older answer; or nothing was found
  4    stopped early; run the same command to continue
  130  interrupted; run the same command to continue`;
