import { stripVTControlCharacters, styleText } from 'node:util';
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
import { formatCount, formatDuration, formatRate, formatShortCount } from '../common/format.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { LogoProgress, RowProgress } from './events.ts';

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

type Countable = Exclude<keyof RowProgress, 'total'>;

/** In the order in which they are shown. */
const COUNTS: readonly (readonly [of: Countable, rank: number, color?: PartColor])[] = [
  ['found', 7, 'green'],
  ['not_found', 5],
  ['rejected', 4],
  ['failed', 6, 'red'],
  ['pending', 5, 'yellow'],
  ['invalid', 2],
  ['fresh', 1],
  ['skipped', 3],
];

/** `41,020 found`, `3 failed`: counts of zero are left out, except that of found rows. */
export function countParts(
  counts: Readonly<Partial<Record<Countable, number>>>,
): readonly LinePart[] {
  return COUNTS.flatMap(([of, rank, color]) => {
    const count = counts[of] ?? 0;
    if (count === 0 && of !== 'found') return [];
    const what = of.replace('_', ' ');
    return [
      {
        forms: [`${formatCount(count)} ${what}`, `${formatShortCount(count)} ${what}`],
        rank,
        color,
      },
    ];
  });
}

const SHORTEST_MS = 1_000;
const RANK = 10;

/**
 * `about 12 min left`, as the part of highest rank; nothing when it is not known, or nearly over.
 *
 * @param leftMs in milliseconds
 */
export function leftParts(leftMs: number | undefined): readonly LinePart[] {
  if (leftMs === undefined || leftMs < SHORTEST_MS) return [];
  const time = formatDuration(roughly(leftMs));
  return [{ forms: [`about ${time} left`, `${time} left`], rank: RANK }];
}

/** Rounds to the precision that is known. */
function roughly(ms: number): number {
  const [, stepMs] = STEPS.find(([belowMs]) => ms < belowMs) ?? [0, 3_600_000];
  return Math.round(ms / stepMs) * stepMs;
}

const STEPS: readonly (readonly [belowMs: number, stepMs: number])[] = [
  [60_000, 1_000],
  [600_000, 10_000],
  [36_000_000, 60_000],
];

/** `48 calls/s`, `6 calls/min`. */
export function nowPart(perSecond: number): LinePart {
  const rate = perSecond > 0 ? formatRate(perSecond) : '0/s';
  return { forms: [rate.replace('/', ' calls/'), rate], rank: 3 };
}

/**
 * The limit that calls are held to, and other remarks on the pace.
 *
 * @param isOver whether no more calls will come
 */
export function paceParts(
  pace: PaceDescription | undefined,
  { isOver }: { readonly isOver: boolean },
): readonly LinePart[] {
  if (!pace) return [];
  const { limitIs, ratePerSecond, learnedLimitPerSecond: learned, concurrencyLimit, why } = pace;
  const parts: LinePart[] = [];
  if (limitIs === 'fixed') {
    const rate = formatRate(ratePerSecond);
    parts.push({ forms: [`held to ${rate}`, `of ${rate}`], rank: 2 });
  } else if (learned !== undefined) {
    const rate = formatRate(learned);
    parts.push({ forms: [`limit about ${rate}`, `limit ${rate}`], rank: 2 });
  } else if (why === 'starting' && !isOver) {
    parts.push({ forms: ['finding the limit'], rank: 1 });
  }
  if (concurrencyLimit !== undefined) {
    parts.push({ forms: [`at most ${concurrencyLimit} at once`], rank: 1 });
  }
  if (why === 'probing' && !isOver) parts.push({ forms: ['probing'], rank: 0 });
  return parts;
}

interface BarOptions {
  readonly done: number;
  readonly total: number;
  /** What is counted, such as `rows`. */
  readonly unit: string;
}

const NARROWEST = 4;
const WIDEST = 40;
const GAP = '  ';

/** `██████░░░░  58%  58,120 of 100,000 rows`, at most this many columns wide. */
export function barLine({ done, total, unit }: BarOptions, columns: number): string {
  const share = total > 0 ? Math.min(1, done / total) : 1;
  const parts: readonly LinePart[] = [
    // Rounded down, so that unfinished work is never at 100 %.
    { forms: [`${Math.floor(share * 100)}%`], rank: 2 },
    {
      forms: [
        `${formatCount(done)} of ${formatCount(total)} ${unit}`,
        `${formatCount(done)}/${formatCount(total)}`,
        `${formatShortCount(done)}/${formatShortCount(total)}`,
      ],
      rank: 1,
    },
  ];
  const fit = (width: number): readonly string[] =>
    fitLine(parts, { columns: width, separatorLength: GAP.length }).map(({ text }) => text);
  const beside = fit(columns - NARROWEST - GAP.length);
  if (beside.length < parts.length) return fit(columns).join(GAP);
  const text = beside.join(GAP);
  const width = Math.min(WIDEST, columns - text.length - GAP.length);
  const filled = Math.floor(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}${GAP}${text}`;
}

const SEPARATOR = ', ';

/** The logos of a run as a block of lines, at most this many columns wide. */
export function logosBlock(progress: LogoProgress, paint: Paint, columns: number): string[] {
  const { total, saved, kept, missing } = progress;
  const done = saved + kept + missing;
  const parts: readonly LinePart[] = [
    countPart(saved, 'saved', 3),
    ...(kept > 0 ? [countPart(kept, 'kept', 1)] : []),
    ...(missing > 0 ? [countPart(missing, 'missing', 2)] : []),
    ...(done < total ? leftParts(leftMsOf(progress)) : []),
  ];
  return [
    barLine({ done, total, unit: 'logos' }, columns),
    paint(fitLine(parts, { columns, separatorLength: SEPARATOR.length }), SEPARATOR),
  ];
}

/**
 * Estimates the time left in milliseconds from the speed so far; undefined before the first logo.
 */
export function leftMsOf(progress: LogoProgress): number | undefined {
  const { total, saved, kept, missing, elapsedMs } = progress;
  const done = saved + kept + missing;
  return done > 0 ? ((total - done) / done) * elapsedMs : undefined;
}

function countPart(count: number, what: string, rank: number): LinePart {
  return { forms: [`${formatCount(count)} ${what}`, `${formatShortCount(count)} ${what}`], rank };
}

/** A part of a line, such as `3 failed`. */
export interface LinePart {
  /** Its texts, the longest first, for where there is room. Each character takes one column. */
  readonly forms: readonly [string, ...string[]];
  /** When room is short, parts with a higher rank are kept first, and kept long. */
  readonly rank: number;
  readonly color?: PartColor | undefined;
}

type PartColor = 'green' | 'red' | 'yellow';

/** A part as it will be seen. */
interface FittedPart {
  readonly text: string;
  readonly color: PartColor | undefined;
}

/**
 * Fits a line into a number of columns. As many parts as possible stay, those of the highest rank
 * first. Among these, the parts of the lowest rank are shortened first. If a single part is left
 * and is too long, it is cut and ends in `…`.
 *
 * @param separatorLength the number of columns between two parts
 */
export function fitLine(
  parts: readonly LinePart[],
  { columns, separatorLength }: { readonly columns: number; readonly separatorLength: number },
): readonly FittedPart[] {
  const byRank = parts.toSorted((one, other) => one.rank - other.rank);
  const lengthOf = (texts: readonly string[]): number =>
    texts.reduce((length, text) => length + text.length, separatorLength * (texts.length - 1));

  let kept = byRank;
  const shortest = (): string[] => kept.map(({ forms }) => forms.at(-1) ?? '');
  while (kept.length > 1 && lengthOf(shortest()) > columns) kept = kept.slice(1);

  const texts = new Map(kept.map((part) => [part, part.forms[0]]));
  for (const part of kept) {
    for (const form of part.forms) {
      texts.set(part, form);
      if (lengthOf([...texts.values()]) <= columns) break;
    }
  }
  return parts.flatMap((part) => {
    const text = texts.get(part);
    return text === undefined ? [] : [{ text: cut(text, columns), color: part.color }];
  });
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}

/** Gives the parts of a line their colours, and joins them. */
export type Paint = (parts: readonly FittedPart[], separator: string) => string;

/**
 * @param stream says whether it shows colours: a terminal does, unless `NO_COLOR` or `TERM=dumb`
 * say otherwise, or `FORCE_COLOR` says so
 */
export function createPaint(stream: { readonly hasColors?: () => boolean }): Paint {
  const hasColors = stream.hasColors?.() ?? false;
  return (parts, separator) =>
    parts
      .map(({ text, color }) =>
        hasColors && color ? styleText(color, text, { validateStream: false }) : text,
      )
      .join(separator);
}
