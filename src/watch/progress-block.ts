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
import {
  barLine,
  billParts,
  countParts,
  createPaint,
  fitLine,
  type LinePart,
  leftParts,
  logosBlock,
  nowPart,
  type Paint,
  paceParts,
} from './block.ts';
import { hasStopped, type Progress, type WorkProgress } from './events.ts';
import { createRecentRate, createTimeLeft } from './time-left.ts';
import type { ProgressView } from './views.ts';
import { describePending, describeWait } from './waits.ts';

/** Shows progress in a block at the bottom of a terminal; the lookups stay above the logos. */
export function createProgressBlock(
  terminal: Terminal & { readonly hasColors?: () => boolean },
  host?: Host,
): ProgressView {
  const block = createLiveBlock(terminal, host);
  const paint = createPaint(terminal);
  const lookups = createLookupsBlock(paint);
  let shown: 'lookups' | 'logos' | 'rows' | undefined;

  function begin(of: typeof shown): void {
    if (shown !== of) block.end();
    shown = of;
  }

  return {
    show: (progress) => {
      if (progress.lookups === 0) return;
      begin('lookups');
      lookups.look(progress);
      block.draw(lookups.lines);
    },
    showLogos: (progress) => {
      if (progress.total === 0) return;
      begin('logos');
      block.draw((columns) => logosBlock(progress, paint, columns));
    },
    showRows: ({ written, total }) => {
      begin('rows');
      block.draw((columns) => [barLine({ done: written, total, unit: 'rows written' }, columns)]);
    },
    giveWay: () => {}, // other output comes above
    end: block.end,
  };
}

/** The lookups of a run as a block of lines. */
interface LookupsBlock {
  look(progress: Progress): void;
  /** The state it was last given, as lines at most this many columns wide. */
  readonly lines: (columns: number) => readonly string[];
}

const SEPARATOR = ', ';
/** Calls of other workers are reported by the chunk, and a chunk takes a while. */
const CHUNKS_MS = 15_000;

/**
 * A line of progress by row, one of how the rows ended, one of the speed, and, while calls wait,
 * one of why.
 */
export function createLookupsBlock(paint: Paint): LookupsBlock {
  const rate = createRecentRate();
  const rateOfChunks = createRecentRate({ windowMs: CHUNKS_MS });
  const timeLeft = createTimeLeft();
  let latest: Progress | undefined;

  return {
    look: (progress) => {
      latest = progress;
      const sample = { atMs: progress.elapsedMs, count: progress.calls };
      rate.add(sample);
      rateOfChunks.add(sample);
      timeLeft.look(progress);
    },
    lines: (columns) => {
      if (!latest) return [];
      const line = (parts: readonly LinePart[]): string =>
        paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR);
      const isStopped = hasStopped(latest);
      const isOver = isStopped || latest.done >= latest.lookups;
      const wait = isStopped ? undefined : describeWait(latest);
      const pending = describePending(latest.pending?.count ?? 0, latest.pending?.untilMs);
      return [
        barLine(howFar(latest), columns),
        line(countParts(latest.rows ?? latest.outcomes)),
        line([
          nowPart((latest.comesInBursts ? rateOfChunks : rate).perSecond),
          ...billParts(latest),
          ...paceParts(latest.pace, { isOver }),
          ...(isOver ? [] : leftParts(timeLeft.leftMs)),
          ...(pending ? [{ forms: pending, rank: 6, color: 'yellow' } as const] : []),
        ]),
        ...(wait ? [line([{ forms: wait, rank: 0, color: 'yellow' }])] : []),
      ];
    },
  };
}

function howFar({ rows, done, lookups }: Progress): Parameters<typeof barLine>[0] {
  if (!rows) return { done, total: lookups, unit: 'lookups' };
  const { total, skipped: _, ...counts } = rows;
  const ended = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { done: ended, total, unit: 'rows' };
}

/** Shows the progress of a worker in a block at the bottom of a terminal. */
export interface WorkerBlock {
  readonly show: (progress: WorkProgress) => void;
  /** Leaves the last state readable. */
  readonly end: () => void;
}

/** A line of how its lookups ended, one of the speed, and, while calls wait, one of why. */
export function createWorkerBlock(
  terminal: Terminal & { readonly hasColors?: () => boolean },
  host?: Host,
): WorkerBlock {
  const block = createLiveBlock(terminal, host);
  const paint = createPaint(terminal);
  const rate = createRecentRate();
  return {
    show: (progress) => {
      rate.add({ atMs: progress.elapsedMs, count: progress.calls });
      block.draw((columns) => {
        const line = (parts: readonly LinePart[]): string =>
          paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR);
        const wait = describeWait(progress);
        return [
          line(countParts(progress.outcomes)),
          line([nowPart(rate.perSecond), ...paceParts(progress.pace, { isOver: false })]),
          ...(wait ? [line([{ forms: wait, rank: 0, color: 'yellow' }])] : []),
        ];
      });
    },
    end: block.end,
  };
}

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
