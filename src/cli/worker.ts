import type { Command } from 'commander';
import { countOf } from '../common/format.ts';
import { EXIT } from '../exit-codes.ts';
import { WORKER_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import { describeStop } from '../watch/describe/describe.ts';
import type { WorkerBlock } from '../watch/terminal/worker-block.ts';
import type { Log } from '../watch/views/log.ts';
import { chooseStyle } from '../watch/views/open-progress-view.ts';
import type { WorkOptions } from '../work.ts';
import type { CliContext } from './context.ts';
import { onInterrupt } from './interrupt.ts';
import { addLogFlags, noticesTo, openCommandLog, splitLogFlags } from './log-flags.ts';
import { addSettings } from './setting-options.ts';
import {
  isOneOfSeveral,
  parseProcesses,
  reportReady,
  runWorkerProcesses,
} from './worker-processes.ts';

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
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
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
  const log = await openCommandLog(logFlags, { fields: { command: 'worker' }, context });
  const { work } = await import('../work.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  if (typeof processes === 'number' && processes > 1) {
    const listen = given['listen'];
    return await runWorkerProcesses({
      count: processes,
      listen: typeof listen === 'string' ? listen : undefined,
      signal: interrupt.signal,
      onNotice: (message) => log.write('warn', message),
    });
  }
  const say = (message: string): void => log.write('info', message);
  interrupt.signal.addEventListener('abort', () => {
    say(
      'Stopping: no further call is made, calls in flight are finished. Interrupt again to end at once.',
    );
  });
  const { signal } = interrupt;
  const block = await openBlock(log);
  const options: WorkOptions = {
    ...toOptions(given),
    signal,
    onNotice: noticesTo(log),
    onReady: () => reportReady(interrupt.interrupt),
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
    interrupt.dispose();
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
  const { createWorkerBlock } = await import('../watch/terminal/worker-block.ts');
  return createWorkerBlock(stderr);
}

const EXIT_CODE_HELP = `  0    told to stop
  1    unexpected error
  2    invalid option, or a queue that cannot be used
  4    the API refuses the credential or all calls alike, is out for longer than --max-outage, or its quota or --max-calls-per is used up`;
