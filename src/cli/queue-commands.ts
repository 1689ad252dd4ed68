import { type ChildProcess, fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { AddOptions, AddSummary } from '../commands/add.ts';
import type { CollectOptions } from '../commands/collect.ts';
import type { WorkOptions } from '../commands/worker.ts';
import { BrandfillError, EXIT } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { printable } from '../common/text.ts';
import {
  ADD_OPTIONS,
  COLLECT_OPTIONS,
  DASHBOARD_OPTIONS,
  WORKER_OPTIONS,
} from '../options/command-options.ts';
import { LISTEN } from '../options/network-kinds.ts';
import { flagOf, toOptions } from '../options/options.ts';
import { describeStop } from '../watch/describe.ts';
import { chooseStyle, type Log } from '../watch/log.ts';
import type { WorkerBlock } from '../watch/progress-block.ts';
import {
  addLogFlags,
  addSettings,
  addTokenFlag,
  type CliContext,
  flagOrArgument,
  onInterrupt,
  type Service,
  serve,
  splitLogFlags,
} from './command.ts';

/** Flags that only the command line has. */
interface AddFlags {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Adds `brandfill add <input>`. */
export function addAddCommand(program: Command, context: CliContext): void {
  const command = program
    .command('add')
    .description('put the domains of a list on a queue; brandfill collect receives the outcomes')
    .argument(
      '<input>',
      'XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    );
  addSettings(command, ADD_OPTIONS);
  command
    .option('--dry-run', 'read and count only; add nothing')
    .option('--json', 'print the counts to standard output as JSON')
    .addHelpText('after', `\nExit codes:\n${ADD_EXITS}`)
    .action(async (input: string, options: AddFlags & Record<string, unknown>) => {
      const { dryRun = false, json = false, ...given } = options;
      context.finish(await runAdd(input, given, { dryRun, json, context }));
    });
}

async function runAdd(
  input: string,
  given: Readonly<Record<string, unknown>>,
  { dryRun, json, context }: Required<AddFlags> & { readonly context: CliContext },
): Promise<number> {
  const { add } = await import('../commands/add.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const say = (message: string): void => {
    process.stderr.write(`${printable(withoutSecrets(message))}\n`);
  };
  const { signal } = interrupt;
  const options = { ...toOptions(given), input, dryRun, signal, onNotice: say } as AddOptions;
  try {
    const summary = await add(options, flagOrArgument);
    describeAdded(summary, dryRun).forEach(say);
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    if (summary.isInterrupted) return EXIT.interrupted;
    // As for a run that finds nothing: a list of nothing but invalid rows is hardly the one that was meant.
    return summary.rows > 0 && summary.uniqueDomains === 0 ? EXIT.someFailed : EXIT.ok;
  } finally {
    interrupt.dispose();
  }
}

function describeAdded(summary: AddSummary, isDryRun: boolean): readonly string[] {
  const { rows, uniqueDomains, duplicateRows, invalidRows, firstInvalid } = summary;
  const { lookups, alreadyWaiting, notAdded, ref } = summary;
  const unshown = invalidRows - firstInvalid.length;
  const lines = [
    ...firstInvalid.map(
      ({ row, sheetRow, line, reason, cell }) =>
        `${sheetRow === undefined ? `Row ${formatCount(row)}${line === undefined ? '' : ` in line ${line}`}` : `Sheet row ${sheetRow}`} has no domain (${reason})${cell === '' ? '' : `: '${cell}'`}`,
    ),
    unshown > 0 && `${formatCount(unshown)} more without a domain`,
    `${countOf(rows, 'row')}: ${countOf(uniqueDomains, 'domain')}, ${formatCount(duplicateRows)} repeated, ${formatCount(invalidRows)} invalid`,
    isDryRun
      ? `${countOf(lookups, 'lookup')} would be put on the queue.`
      : `${countOf(lookups, 'lookup')} put on the queue, with the reference '${ref}'.`,
    alreadyWaiting > 0 &&
      `${formatCount(alreadyWaiting)} waited there already and were not added twice.`,
    notAdded > 0 &&
      `Interrupted: ${formatCount(notAdded)} were not added; run the same command again to add them.`,
  ];
  return lines.filter((line) => line !== false);
}

const ADD_EXITS = `  0    done
  1    unexpected error
  2    invalid option, or a list or queue that cannot be used; nothing was added
  3    no row has a domain; nothing was added
  130  interrupted; run the same command to add the rest`;

/** Adds `brandfill collect`. */
export function addCollectCommand(program: Command, context: CliContext): void {
  const command = program
    .command('collect')
    .description(
      'write the outcomes of backfills from a queue to hourly files, until told to stop',
    );
  addSettings(command, COLLECT_OPTIONS);
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${COLLECT_EXITS}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runCollect(given, context));
    });
}

async function runCollect(
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { logFlags, others: given } = splitLogFlags(typed);
  const stopping =
    'Stopping: outcomes that have arrived are written, and files are finished. Interrupt again to end at once.';
  return await serve({ command: 'collect', logFlags, context, stopping }, async (service) => {
    const { collect } = await import('../commands/collect.ts');
    const options = { ...toOptions(given), ...service.common } as CollectOptions;
    const { enriched, failures, repeated } = await collect(options, flagOf);
    const lines = countOf(enriched + failures, 'line');
    const replies = countOf(repeated, 'reply', 'replies');
    const again = repeated > 0 ? `; ${replies} came again, already written` : '';
    const others = countOf(failures, 'other');
    service.say(`Stopped after ${lines}: ${formatCount(enriched)} found, ${others}${again}.`);
    return EXIT.ok;
  });
}

const COLLECT_EXITS = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue or folder that cannot be used`;

/** Adds `brandfill dashboard`. */
export function addDashboardCommand(program: Command, context: CliContext): void {
  const command = program
    .command('dashboard')
    .description(
      'show the runs, workers and schedules of a queue on a web page, until told to stop',
    );
  addSettings(command, DASHBOARD_OPTIONS);
  addTokenFlag(command);
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${DASHBOARD_EXITS}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runDashboard(given, context));
    });
}

async function runDashboard(
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { logFlags, others: given } = splitLogFlags(typed);
  return await serve({ command: 'dashboard', logFlags, context }, async ({ common }) => {
    const { dashboard } = await import('../commands/dashboard.ts');
    await dashboard({ ...toOptions(given), ...common }, flagOf);
    return EXIT.ok;
  });
}

const DASHBOARD_EXITS = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue that cannot be used`;

/** Adds `brandfill worker`. */
export function addWorkerCommand(program: Command, context: CliContext): void {
  const command = program
    .command('worker')
    .description('make the lookups waiting on a queue, for any number of runs, until told to stop');
  addSettings(command, WORKER_OPTIONS);
  command.option(
    '--processes <N>',
    'processes to run, one for each core; each makes up to --concurrency calls at a time, all keep one pace, and with --listen each has the next port (default: 1)',
    parseProcesses,
  );
  addLogFlags(command)
    .addHelpText('after', `\nExit codes:\n${WORKER_EXITS}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runWorker(given, context));
    });
}

async function runWorker(
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { logFlags, others } = splitLogFlags(typed);
  const { processes, ...given } = others;
  const isSeveral = typeof processes === 'number' && processes > 1;
  const stopping = isSeveral
    ? undefined
    : 'Stopping: no further call is made, calls in flight are finished. Interrupt again to end at once.';
  return await serve({ command: 'worker', logFlags, context, stopping }, async (service) => {
    if (!isSeveral) return await workHere(given, service);
    const { listen } = given;
    return await runWorkerProcesses({
      count: processes,
      listen: typeof listen === 'string' ? listen : undefined,
      signal: service.common.signal,
      onNotice: (message) => service.log.write('warn', message),
    });
  });
}

async function workHere(
  given: Readonly<Record<string, unknown>>,
  { log, say, common, interrupt }: Service,
): Promise<number> {
  const { work } = await import('../commands/worker.ts');
  const block = await openBlock(log);
  const options: WorkOptions = {
    ...toOptions(given),
    ...common,
    onReady: () => reportReady(interrupt),
    ...(block && { onProgress: block.show }),
  };
  try {
    const { stopped, calls, isHandedBack } = await work(options, flagOf);
    block?.end();
    const isAsked = stopped.reason === 'interrupted';
    if (!isAsked) log.write('error', describeStop(stopped), { reason: stopped.reason });
    const rest = isHandedBack ? '; any unfinished lookups are back on the queue' : '';
    say(`Stopped after ${countOf(calls, 'call')}${rest}.`);
    return isAsked ? EXIT.ok : EXIT.stopped;
  } finally {
    block?.end();
  }
}

/**
 * Shows progress where somebody may look: at a terminal, unless a log or less output was asked for.
 */
async function openBlock(log: Log): Promise<WorkerBlock | undefined> {
  const { stderr } = process;
  const style = chooseStyle('auto', { isTTY: stderr.isTTY, env: process.env });
  if (style !== 'bar' || isOneOfSeveral() || log.format !== 'shown' || !log.tells('info'))
    return undefined;
  const { createWorkerBlock } = await import('../watch/progress-block.ts');
  return createWorkerBlock(stderr);
}

interface WorkerProcessesOptions {
  /** How many. */
  readonly count: number;
  /** The address at which the first one listens; each further one at the next port. */
  readonly listen: string | undefined;
  /** Fires when they are to stop. */
  readonly signal: AbortSignal;
  readonly onNotice: (message: string) => void;
}

/** What a process says when it waits for lookups. */
const READY = 'ready';
const RESTART_MS = 1_000;
const MOST_PROCESSES = 256;

/** @throws BrandfillError `INVALID_SETTING` */
function parseProcesses(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MOST_PROCESSES) return count;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use --processes ${text}: give a whole number from 1 to ${MOST_PROCESSES}.`,
  );
}

/**
 * Runs this command in several processes, each of which is a worker of its own, and returns their exit code.
 *
 *   first started ─┬─ ends before it is ready: nothing else is started (the options are wrong)
 *                  └─ ready: the others are started
 *   each, once started ─┬─ told to stop ──────────► ends
 *                       ├─ stops by itself ───────► stays away: the reason holds for the others too
 *                       └─ is lost (crash, kill) ─► started again after a second
 *
 * A process that loses this one stops as if it were told to.
 */
async function runWorkerProcesses(options: WorkerProcessesOptions): Promise<number> {
  const { count, signal, onNotice } = options;
  const codes: number[] = [];
  setMaxListeners(0, signal); // each process listens; with more than ten, Node.js suspects a leak

  function start(number: number): ChildProcess {
    const child = fork(process.argv[1] ?? '', argumentsOf(number, options), {
      // In a group of its own, so that Ctrl-C comes once, from here.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const stop = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', stop);
    child.once('exit', () => signal.removeEventListener('abort', stop));
    if (signal.aborted) stop();
    return child;
  }

  /** Keeps one going until it is told to stop or stops by itself. */
  async function keep(number: number, first = start(number)): Promise<void> {
    for (let child = first; ; child = start(number)) {
      const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
      const isLost = code === null || code === EXIT.unexpected;
      if (!isLost || signal.aborted) return void codes.push(code ?? EXIT.unexpected);
      const how = killedBy === null ? `with exit code ${code}` : `by ${killedBy}`;
      onNotice(`Process ${number} of ${count} was ended ${how}; it is started again.`);
      await delay(RESTART_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  const first = start(1);
  const ready = once(first, 'message');
  const ended = once(first, 'exit') as Promise<[number | null]>;
  const early = await Promise.race([ready.then(() => undefined), ended]);
  if (early) return early[0] ?? EXIT.unexpected;
  const others = Array.from({ length: count - 1 }, (_, at) => keep(at + 2));
  await Promise.all([keep(1, first), ...others]);
  return Math.max(EXIT.ok, ...codes);
}

/** Tells the process that started this one, if any, that it is ready; and notices when that one is gone. */
function reportReady(onAlone: () => void): void {
  if (!process.send) return;
  process.send(READY);
  process.once('disconnect', onAlone);
}

/** Whether this process is one of several of a worker. */
function isOneOfSeveral(): boolean {
  return process.send !== undefined;
}

/** The arguments of this process, without the number of processes. */
function argumentsOf(number: number, { listen }: WorkerProcessesOptions): readonly string[] {
  const given = process.argv.slice(2);
  const at = given.findIndex((argument) => /^--processes(=|$)/.test(argument));
  const others = given.toSpliced(at, given[at] === '--processes' ? 2 : 1);
  if (listen === undefined) return others;
  const { port } = LISTEN.parse(listen);
  const next = listen.replace(/\d+$/, String(port === 0 ? 0 : port + number - 1));
  return [...others, '--listen', next];
}

const WORKER_EXITS = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue that cannot be used
  4    the API refuses the credential or all calls alike, is out for longer than --max-outage, or its quota or --max-calls-per is used up`;
