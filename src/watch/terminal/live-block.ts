import { stripVTControlCharacters } from 'node:util';
import {
  cursorForward,
  cursorHide,
  cursorLeft,
  cursorShow,
  cursorUp,
  eraseDown,
  eraseEndLine,
  synchronizedOutput,
} from 'ansi-escapes';

/** Lines at the bottom of a terminal that are redrawn in place. */
export interface LiveBlock {
  /** Shows these lines from now on. */
  draw(frame: Frame): void;
  /**
   * Leaves what was shown last; later output starts below. May be called twice, and drawing may
   * start again after it.
   */
  readonly end: () => void;
}

/**
 * Makes the lines; called again when the window has another width. None may be longer than
 * `columns`.
 */
export type Frame = (columns: number) => readonly string[];

/** The part of a terminal that is used. */
export type Terminal = Pick<NodeJS.WriteStream, 'write' | 'on' | 'off' | 'columns' | 'rows'>;

/** The part of the process that is used. */
export type Host = Pick<NodeJS.Process, 'on' | 'off' | 'env'>;

/** For a terminal that does not report its size, such as one behind a serial line. */
const USUAL = { columns: 80, rows: 24 };
/** A window that is being dragged changes its size many times a second. */
const SETTLE_MS = 60;
/**
 * Erases in two parts: tmux keeps in its history whatever is erased at once from the very beginning
 * of the screen.
 */
const CLEAR = `${cursorLeft}${eraseEndLine}${cursorForward()}${eraseDown}${cursorLeft}`;
const CUT_OFF = '\u001b[?7l';
const WRAP = '\u001b[?7h';

/**
 * Draws a block, and leaves the cursor at its beginning. Everything below the cursor belongs to the
 * block. So it can be erased without knowing how many rows it has by now: a window that was made
 * narrower may have wrapped it anew, or not. A cursor that waits at the end, as with `log-update`,
 * leaves lines behind in that case.
 *
 * The rows go out as one long line that the terminal wraps. The reason is xterm.js: it moves the
 * cursor by the lines below it that it wraps anew, but does not touch the line that has the cursor.
 * Only tmux gets a line for each row, and cuts it off. It has its new size before it reports it,
 * and what is drawn for the old size meanwhile has to take as many rows.
 *
 * Output that others write to the stream meanwhile comes above the block. The block begins with an
 * empty row, for output that bypasses the stream.
 *
 * @param host reports that the process ends, or is about to be stopped with Ctrl-Z: the block is
 * then drawn anew below what the shell prints meanwhile
 */
export function createLiveBlock(terminal: Terminal, host: Host = process): LiveBlock {
  const { write } = terminal;
  let frame: Frame | undefined;
  /** Whether others have begun a line and not ended it. */
  let isMidLine = false;
  /** Set while the window changes its size. */
  let settling: NodeJS.Timeout | undefined;

  function put(text: string): boolean {
    return write.call(terminal, text);
  }

  function linesFor(columns: number): readonly string[] {
    const lines = ['', ...(frame?.(columns) ?? [])];
    return lines.slice(0, Math.max(1, (terminal.rows || USUAL.rows) - 1));
  }

  function redraw(): void {
    if (isMidLine || settling) return;
    const columns = terminal.columns || USUAL.columns;
    const rows = linesFor(columns);
    const text = isTmux(host.env)
      ? `${CUT_OFF}${rows.join('\n')}${WRAP}`
      : asOneLine(rows, columns);
    const back = rows.length > 1 ? cursorUp(rows.length - 1) : '';
    put(synchronizedOutput(`${cursorHide}${CLEAR}${text}${cursorLeft}${back}`));
  }

  function redrawWhenSettled(): void {
    clearTimeout(settling);
    settling = setTimeout(() => {
      settling = undefined;
      redraw();
    }, SETTLE_MS);
  }

  function writeAbove(...args: Parameters<Terminal['write']>): boolean {
    if (!isMidLine) put(CLEAR);
    const isTaken = write.apply(terminal, args);
    const text = Buffer.from(args[0]);
    if (text.length > 0) isMidLine = text.at(-1) !== 0x0a;
    redraw();
    return isTaken;
  }

  function begin(): void {
    terminal.write = writeAbove as Terminal['write'];
    terminal.on('resize', redrawWhenSettled);
    host.on('exit', end);
    host.on('uncaughtExceptionMonitor', end);
    host.on('SIGTSTP', end);
  }

  function end(): void {
    if (!frame) return;
    clearTimeout(settling);
    settling = undefined;
    terminal.write = write;
    terminal.off('resize', redrawWhenSettled);
    host.off('exit', end);
    host.off('uncaughtExceptionMonitor', end);
    host.off('SIGTSTP', end);
    const lines = linesFor(terminal.columns || USUAL.columns);
    put(`${isMidLine ? '\n' : CLEAR}${lines.join('\n')}\n${cursorShow}`);
    isMidLine = false;
    frame = undefined;
  }

  return {
    draw: (next) => {
      const isFirst = frame === undefined;
      frame = next;
      if (isFirst) begin();
      redraw();
    },
    end,
  };
}

/** `screen` behaves like tmux. */
function isTmux({ TERM = '', TMUX }: NodeJS.ProcessEnv): boolean {
  return TMUX !== undefined || /^(tmux|screen)/.test(TERM);
}

function asOneLine(rows: readonly string[], columns: number): string {
  return rows.map((row, at) => (at < rows.length - 1 ? padTo(columns, row) : row)).join('');
}

function padTo(columns: number, text: string): string {
  const { length } = stripVTControlCharacters(text);
  return `${text}${' '.repeat(Math.max(0, columns - length))}`;
}
