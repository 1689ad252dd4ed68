import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { EXIT } from '../common/errors.ts';
import { aborted } from '../common/lifetime.ts';
import { APP_OPTIONS } from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import { addSettings, type CliContext, onInterrupt } from './command.ts';

/** Adds `brandfill app`. */
export function addAppCommand(program: Command, context: CliContext): void {
  const command = program
    .command('app')
    .description('open a page in the browser that does all of this, for people without a terminal');
  addSettings(command, APP_OPTIONS);
  command
    .option(
      '--token <TOKEN>',
      'token for the page; others on this machine can see it here, unlike with --token-file or BRANDFILL_APP_TOKEN',
    )
    .option('--no-open', 'print the address, and do not open the browser')
    .addHelpText('after', `\nExit codes:\n${EXIT_CODE_HELP}`)
    .action(async (given: Record<string, unknown>) => {
      context.finish(await runApp(given, context));
    });
}

async function runApp(
  { open, ...given }: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  // Loaded here, so that other commands need not wait for it.
  const { startApp } = await import('../commands/app.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  try {
    const app = await startApp(toOptions(given), flagOf);
    const { address, folder, isElsewhere } = app;
    try {
      say(
        isElsewhere
          ? `Brandfill runs already for ${folder}. Its page, with an address that works once: ${address}`
          : `Brandfill is on ${address}`,
      );
      if (open !== false && hasDisplay()) openBrowser(address);
      else if (!isElsewhere) say('Open this address in a browser. It works once.');
      if (isElsewhere) return EXIT.ok;
      say(`Lists, results and answers are in ${folder}.`);
      say(
        'Ctrl-C ends it. A run that goes on then goes on at the next start, and pays nothing twice.',
      );
      await aborted(interrupt.signal);
      return EXIT.ok;
    } finally {
      await app.close();
    }
  } finally {
    interrupt.dispose();
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Whether there is a screen that a browser could appear on. */
function hasDisplay(): boolean {
  const { platform, env } = process;
  if (platform === 'win32' || platform === 'darwin') return true;
  return Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY']);
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  darwin: ['open'],
};

/** Opens an address in the browser of the user. If that fails, the address was said. */
function openBrowser(address: string): void {
  const [file, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(file, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

const EXIT_CODE_HELP = `  0    told to stop, or the app of this folder runs already and gave an address
  1    unexpected error
  2    invalid option, or a folder or address that cannot be used`;
