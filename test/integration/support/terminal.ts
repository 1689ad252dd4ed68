import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { promisify, stripVTControlCharacters } from 'node:util';
import headless from '@xterm/headless';
import { onTestFinished } from 'vitest';
import { isLeftOut } from '../../support/left-out.ts';
import { builtCommand } from './build.ts';
import { ENVIRONMENT } from './command.ts';

const run = promisify(execFile);

/** A command at a terminal of its own; what it shows and what is typed are one stream. */
export type Terminal = Awaited<ReturnType<typeof openTerminal>>;
export type TerminalEnd = Awaited<Terminal['ended']>;

export interface TerminalOptions {
  readonly cwd: string;
  /** @default 80 */
  readonly columns?: number;
  /** @default as many as are kept */
  readonly rows?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Whether there is a `script` that makes terminals, as util-linux has it on every Debian. Says what
 * is left out where there is none.
 */
export function canOpenTerminal(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return !isLeftOut('what is shown on a terminal, because there is no script of util-linux');
  }
}

/** What else says whether there is colour stays with whoever runs the tests. */
const UNDECIDED = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined } as const;

/** Starts the real command at a terminal. */
export async function openTerminal(
  args: readonly string[],
  { cwd, columns = 80, rows = ROWS, env = {} }: TerminalOptions,
) {
  const words = [process.execPath, builtCommand(), ...args];
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const line = `stty cols ${columns} rows ${rows}; tty >&3; exec 3>&-; exec ${command}`;
  const child = spawn('script', ['-q', '-e', '-c', line, '/dev/null'], {
    cwd,
    env: { ...ENVIRONMENT, ...UNDECIDED, SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [, output, , named] = child.stdio;
  if (!output || !(named instanceof Readable)) throw new TypeError('these are pipes');
  const device = once(named, 'data').then(([name]) => String(name).trim());
  const parts: Part[] = [{ columns, text: '' }];
  const raw = (): string => parts.map(({ text }) => text).join('');
  output.setEncoding('utf8').on('data', (text: string) => {
    const part = parts.at(-1);
    if (part) part.text += text;
  });
  return {
    /** Resolves when a text was shown; rejects when the command ends without. */
    shows: (text: string) =>
      new Promise<void>((resolve, reject) => {
        const look = (): void => {
          if (raw().includes(text)) resolve();
        };
        output.on('data', look);
        child.once('close', () => reject(new Error(`'${text}' was not shown: ${raw()}`)));
        look();
      }),
    type: (keys: string) => void child.stdin?.write(keys),
    /** Gives the window another size; the command is told. */
    resize: async (columns: number) => {
      await run('stty', ['-F', await device, 'cols', String(columns)]);
      parts.push({ columns, text: '' });
    },
    ended: once(child, 'close').then(async ([code]) => ({
      code: code as number | null,
      /** All that was shown, as it came. */
      raw: raw(),
      /** The same without what moves the cursor. */
      shown: plainText(raw()),
      /** What is then to be seen, line by line. */
      seen: await look(parts),
    })),
  };
}

const ROWS = 24;

/** What was shown in a window of one size. */
interface Part {
  readonly columns: number;
  text: string;
}

/** Shows it all to a terminal that understands it. */
async function look(parts: readonly Part[]): Promise<readonly string[]> {
  const terminal = new headless.Terminal({ rows: ROWS, allowProposedApi: true });
  for (const { columns, text } of parts) {
    terminal.resize(columns, ROWS);
    await new Promise<void>((resolve) => terminal.write(text, resolve));
  }
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, at) => active.getLine(at));
  return lines.map((line) => line?.translateToString(true).trimEnd() ?? '');
}

function plainText(shown: string): string {
  return stripVTControlCharacters(shown).replaceAll('\r', '');
}
