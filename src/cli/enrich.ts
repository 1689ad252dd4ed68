import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { BrandfillError, EXIT } from '../common/errors.ts';
import { isPiped } from '../common/files.ts';
import { createRunId } from '../common/hashes.ts';
import { toCleanJson, withoutSecrets } from '../common/secrets.ts';
import { printable } from '../common/text.ts';
import type { EnrichOptions, Plan, Summary, Trial, TryOptions } from '../index.ts';
import { TRY_OPTIONS } from '../options/command-options.ts';
import { flagOf, OPTIONS, toOptions } from '../options/options.ts';
import type { RunEvent } from '../watch/events.ts';
import type { ProgressStyle } from '../watch/log.ts';
import { createStatusCounts, exitCodeOf } from '../watch/summary.ts';
import type { ConsoleView } from '../watch/views.ts';
import {
  addLogFlags,
  addSettings,
  addTokenFlag,
  type CliContext,
  flagOrArgument,
  type LogFlags,
  onInterrupt,
  openCommandLog,
  splitLogFlags,
} from './command.ts';

/** Adds `brandfill enrich <input>`. */
export function addEnrichCommand(program: Command, context: CliContext): void {
  const command = program
    .command('enrich')
    .description('look up every domain in a list, and write its rows back with the data found')
    .argument(
      '<input>',
      'XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    );
  addRunFlags(command).action(async (input: string, typed: Record<string, unknown>) => {
    context.finish(await enrichFile(input, typed, context));
  });
}

async function enrichFile(
  input: string,
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { flags, options } = splitRunFlags(typed);
  refuseRowsBesideJson({ ...options, input }, flags);
  // Loaded here, so that --help need not wait for it.
  const { enrich, plan } = await import('../commands/enrich.ts');
  const withInput: EnrichOptions = { ...options, input };
  return await watchRun(
    {
      plan: (watch) => plan({ ...withInput, ...watch }, flagOrArgument),
      run: async (watch, onSummary) =>
        onSummary(await enrich({ ...withInput, ...watch }, flagOrArgument)),
    },
    flags,
    context,
  );
}

/** Adds `brandfill run <file>`. */
export function addRunCommand(program: Command, context: CliContext): void {
  const command = program
    .command('run')
    .description('enrich a list as described in a job file; options override the file')
    .argument('<file>', 'job file, such as jobs/nightly-crm.yaml')
    .option('--input <FILE>', 'use this list instead of the one in the job file');
  addRunFlags(command).action(async (file: string, typed: Record<string, unknown>) => {
    context.finish(await runFile(file, typed, context));
  });
}

async function runFile(
  file: string,
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { flags, options: overrides } = splitRunFlags(typed);
  const { loadJob } = await import('../commands/run.ts');
  const { plan } = await import('../commands/enrich.ts');
  const { runJob } = await import('../commands/run.ts');
  const loading = { overrides, naming: flagOf };
  return await watchRun(
    {
      plan: async (watch) => {
        const { options, naming } = await loadJob(file, loading);
        return await plan({ ...options, ...watch }, naming);
      },
      run: (watch, onSummary) =>
        runJob(file, {
          ...loading,
          ...watch,
          onSummary,
          onLoaded: ({ options }) => refuseRowsBesideJson(options, flags),
        }),
    },
    flags,
    context,
  );
}

/** Flags of a command that runs a list, beside the settings. */
export interface RunFlags {
  readonly dryRun: boolean;
  readonly progress: ProgressStyle | 'auto';
  readonly json: boolean;
  readonly logFlags: LogFlags;
}

/** Gives a command all settings of a run, and the flags that only the command line has. */
function addRunFlags(command: Command): Command {
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
function splitRunFlags(typed: Readonly<Record<string, unknown>>): {
  readonly flags: RunFlags;
  readonly options: Partial<EnrichOptions>;
} {
  const { logFlags, others } = splitLogFlags(typed);
  const { dryRun = false, progress, json = false, ...given } = others;
  const flags = { dryRun, progress, json, logFlags } as RunFlags;
  return { flags, options: toOptions(given) };
}

/** @throws BrandfillError `INVALID_SETTING` when standard output is to take both rows and summary */
function refuseRowsBesideJson(
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
async function watchRun(
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
  // Loaded here, so that --help need not wait for it.
  const { createConsoleView, createLogView, openProgressView, quietView } = await import(
    '../watch/views.ts'
  );
  if (log.format !== 'shown') return createLogView(log, progress);
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

/** Whether somebody sits at the terminal and can be asked. */
function isOnTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks the person at the terminal whether these calls are intended; undefined without a terminal.
 */
function confirmOnTerminal(signal: AbortSignal): ((plan: Plan) => Promise<boolean>) | undefined {
  if (!isOnTerminal()) return undefined;
  return async ({ calls, second }) => {
    const named = (count: number): string =>
      count === 1 ? '1 call' : `${count.toLocaleString('en-US')} calls`;
    const more = second ? ` and at most ${named(second.calls)} to ${second.api}` : '';
    const what = `${named(calls)}${more}`;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    // Raw mode takes Ctrl-C from the signals.
    terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    // Ctrl-D closes it without a reply.
    const closed = new Promise<undefined>((resolve) => {
      terminal.on('close', () => resolve(undefined));
    });
    let reply: string | undefined;
    try {
      const asked = terminal.question(`Make ${what}? (--yes skips this question) [y/N] `, {
        signal,
      });
      reply = await Promise.race([asked, closed]);
      return /^y(es)?$/i.test(reply?.trim() ?? '');
    } finally {
      terminal.close();
      if (reply === undefined) process.stderr.write('\n');
    }
  };
}

/** Flags that only the command line has. */
interface TryFlags {
  readonly json?: boolean;
  readonly preset?: boolean;
  readonly explain?: boolean;
}

/** Adds `brandfill try <domain>`. */
export function addTryCommand(program: Command, context: CliContext): void {
  const command = program
    .command('try')
    .description('look up one domain; show the answer and the columns made from it')
    .argument('<domain>', 'a domain, or anything that a cell of a list may hold');
  addSettings(command, TRY_OPTIONS);
  command
    .option('--preset', 'print the columns to standard output as a file for --fields @FILE')
    .option('--explain', 'say what each answer means, and which rule of the profile decided')
    .option('--json', 'print everything to standard output as JSON')
    .addHelpText('after', `\nExit codes:\n${TRY_EXITS}`)
    .action(async (domain: string, typed: TryFlags & Record<string, unknown>) => {
      context.finish(await tryOne(domain, typed, context));
    });
}

async function tryOne(
  domain: string,
  { json = false, preset = false, explain = false, ...given }: TryFlags & Record<string, unknown>,
  context: CliContext,
): Promise<number> {
  const { tryDomain } = await import('../commands/try.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (line: string): void => {
    process.stderr.write(`${printable(withoutSecrets(line))}\n`);
  };
  const options: TryOptions = { ...toOptions(given), domain };
  const { signal } = interrupt;
  try {
    const trial = await tryDomain({ ...options, signal, onEvent: reporterOf(say) }, flagOf);
    const shown = { json, preset, explain, hasFields: given['fields'] !== undefined, text: domain };
    const { stopped } = trial;
    await show(trial, { ...shown, prefix: given['prefix'] as string | undefined, say });
    return exitCodeOf({ stopped, statuses: { ...createStatusCounts(), [trial.status]: 1 } });
  } finally {
    interrupt.dispose();
  }
}

interface ShowOptions extends Required<TryFlags> {
  readonly text: string;
  readonly hasFields: boolean;
  readonly prefix: string | undefined;
  readonly say: (line: string) => void;
}

async function show(trial: Trial, options: ShowOptions): Promise<void> {
  const { json, preset, say, ...rest } = options;
  const { describeAnswers, describeEnd, describeTrial } = await import(
    '../watch/describe-trial.ts'
  );
  const { printableLines } = await import('../common/text.ts');
  const described = { ...rest, nowMs: Date.now() };
  if (rest.explain && !json) describeAnswers(trial).forEach(say);
  const print = (lines: readonly string[]): void => {
    process.stdout.write(`${lines.join('\n')}\n`);
  };
  if (preset || (json && !trial.answer)) describeEnd(trial, described).forEach(say);
  if (preset && trial.answer) {
    const { formatPreset } = await import('../options/yaml-files.ts');
    process.stdout.write(formatPreset(trial, rest.prefix ?? TRY_OPTIONS.prefix.default));
  } else if (json) print([printableLines(JSON.stringify(trial))]);
  else if (!preset) print(describeTrial(trial, described));
}

/** Reports the events that are worth knowing while somebody waits. */
function reporterOf(say: (line: string) => void): (event: RunEvent) => void {
  let isQuiet = false;
  return (event) => {
    if (event.type === 'notice') say(`Note: ${event.message}`);
    if (event.type === 'stopping') isQuiet = true;
    if (event.type !== 'progress' || isQuiet || event.throttled === 0) return;
    isQuiet = true;
    say(
      'Note: The API throttles calls (429 and the like): waiting until it lets calls through again.',
    );
  };
}

const TRY_EXITS = `  0    the API answered, even if it knows no such brand
  1    unexpected error
  2    invalid option, or no domain
  3    the lookup failed
  4    no outcome: credential refused, quota used up, or signs of a wrong address
  130  interrupted`;
