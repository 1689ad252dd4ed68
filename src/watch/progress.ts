import { styleText } from 'node:util';
import { createLogUpdate } from 'log-update';
import {
  formatCount,
  formatDuration,
  formatRate,
  formatUnits,
  MINUTE_MS,
} from '../common/format.ts';
import { describeLimit } from './describe.ts';
import { howFar, shareOf } from './far.ts';
import type { RunView } from './run-view.ts';
import { STATUSES, type StatusName } from './words.ts';

/** Shows how far a run is: the lookups, then the logos, and in the end the rows that are written. */
export interface ProgressView {
  /** @param step what the run is about; each has a place of its own */
  show(view: RunView, step: string): void;
  /** Has something else written, above what is shown. */
  aside(write: () => void): void;
  /** Leaves the last state readable; later output starts on a line of its own. May be called twice. */
  end(): void;
}

export const NO_PROGRESS: ProgressView = {
  show: () => {},
  aside: (write) => write(),
  end: () => {},
};

const LINE_EVERY_MS = 5_000;

/**
 * Shows progress in a line every few seconds, and the last state at the end: for pipes, files, logs.
 *
 * @param write takes a line, without its end, and what it is about
 */
export function createProgressLines(
  write: (line: string, view: RunView, step: string) => void,
): ProgressView {
  let latest: readonly [view: RunView, step: string] | undefined;
  let nextMs = performance.now() + LINE_EVERY_MS;

  function end(): void {
    if (latest) write(lineOf(latest[0]), ...latest);
    latest = undefined;
    nextMs = performance.now() + LINE_EVERY_MS;
  }

  return {
    show: (view, step) => {
      if (latest && latest[1] !== step) end();
      latest = [view, step];
      if (performance.now() < nextMs) return;
      nextMs += LINE_EVERY_MS;
      write(lineOf(view), view, step);
    },
    aside: (other) => {
      end();
      other();
    },
    end,
  };
}

/** `58%, 58,120 of 100,000 rows, 41,020 found, 3 failed, 71 calls/s, held to 80/s, about 9 min left`. */
function lineOf(view: RunView): string {
  const far = howFar(view);
  const count = `${formatCount(far.done)} of ${formatCount(far.total)} ${far.unit}`;
  const { wait } = view;
  return [
    `${Math.floor(shareOf(far) * 100)}%`,
    count,
    ...countsOf(view).map(([text]) => text),
    ...speedOf(view),
    ...(wait === undefined ? [] : [wait]),
  ].join(', ');
}

type Color = 'green' | 'red' | 'yellow';
type Part = readonly [text: string, color?: Color | undefined];

const COUNTED: readonly StatusName[] = [
  'found',
  'not_found',
  'rejected',
  'failed',
  'pending',
  'invalid',
  'fresh',
  'skipped',
];
const COLORS: Readonly<Partial<Record<StatusName, Color>>> = {
  found: 'green',
  failed: 'red',
  pending: 'yellow',
};

/** `41,020 found, 3 failed`: counts of zero are left out, except that of found rows. */
function countsOf({ phase, logos, rowsSoFar, outcomes, written }: RunView): readonly Part[] {
  if (written !== undefined) return [];
  if (phase === 'saving_logos' && logos) {
    const { saved, kept, missing } = logos;
    const more = Object.entries({ kept, missing }).filter(([, count]) => count > 0);
    return [['saved', saved] as const, ...more].map(([of, count]) => [
      `${formatCount(count)} ${of}`,
    ]);
  }
  const counts: Readonly<Record<string, number>> = rowsSoFar ?? outcomes;
  return COUNTED.flatMap((of): Part[] => {
    const count = counts[of] ?? 0;
    if (count === 0 && of !== 'found') return [];
    return [[`${formatCount(count)} ${STATUSES[of].name}`, COLORS[of]]];
  });
}

/** `71 calls/s, 140 credits, held to 80/s, about 9 min left, 3 pending until 10:42`. */
function speedOf(view: RunView): readonly string[] {
  const { phase, ratePerSecond: rate, callsPerSecond, bill, limit, leftMs, lookups, due } = view;
  if (view.written !== undefined) return [];
  const left = leftMs === undefined || leftMs < 1_000 ? [] : [describeLeft(leftMs)];
  if (phase === 'saving_logos') return left;
  // When all is over, the speed on the whole says more than that of the last moment.
  const isOver = phase === 'stopping' || (due > 0 && lookups >= due);
  const perSecond = isOver ? callsPerSecond : rate;
  const held = limit && (limit.limitIs !== 'unknown' || !isOver) && describeLimit(limit, true);
  return [
    (perSecond > 0 ? formatRate(perSecond) : '0/s').replace('/', ' calls/'),
    ...(bill ? [formatUnits(bill)] : []),
    ...(held ? [held] : []),
    ...(isOver ? [] : left),
    ...describePending(view),
  ];
}

/** `about 12 min left`, in the precision that is known. */
function describeLeft(leftMs: number): string {
  const stepMs = leftMs < MINUTE_MS ? 1_000 : leftMs < 10 * MINUTE_MS ? 10_000 : MINUTE_MS;
  return `about ${formatDuration(Math.round(leftMs / stepMs) * stepMs)} left`;
}

/** `3 pending until 10:42`: lookups that the API has accepted and has no answer ready for. */
function describePending({ pendingNow, pendingUntilMs }: RunView): readonly string[] {
  if (pendingNow === 0) return [];
  if (pendingUntilMs === undefined) return [`${formatCount(pendingNow)} pending`];
  const at = new Date(Math.ceil(pendingUntilMs / MINUTE_MS) * MINUTE_MS);
  const two = (part: number): string => String(part).padStart(2, '0');
  return [`${formatCount(pendingNow)} pending until ${two(at.getHours())}:${two(at.getMinutes())}`];
}

type Terminal = NodeJS.WriteStream;

/** Shows progress in a block at the bottom of a terminal; the lookups stay above the logos. */
export function createProgressBlock(terminal: Terminal): ProgressView {
  const block = createBlock(terminal);
  let shown: string | undefined;
  return {
    show: (view, step) => {
      if (shown !== step) block.end();
      shown = step;
      block.draw(() => [barOf(view, terminal.columns), ...linesOf(view, terminal)]);
    },
    aside: (write) => write(),
    end: block.end,
  };
}

/** A line of how the rows ended, one of the speed, and one of why calls wait. */
function linesOf(view: RunView, stream: Terminal): readonly string[] {
  const counts = countsOf(view).map(([text, color]) =>
    color ? styleText(color, text, { stream }) : text,
  );
  const { wait } = view;
  return [
    counts.join(', '),
    speedOf(view).join(', '),
    wait === undefined ? '' : styleText('yellow', wait, { stream }),
  ].filter((line) => line !== '');
}

const WIDEST = 40;

/** `██████░░░░  58%  58,120 of 100,000 rows`. */
function barOf(view: RunView, columns: number): string {
  const far = howFar(view);
  const share = shareOf(far);
  const text = `${Math.floor(share * 100)}%  ${formatCount(far.done)} of ${formatCount(far.total)} ${far.unit}`;
  const width = Math.max(0, Math.min(WIDEST, columns - text.length - 2));
  const filled = Math.floor(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${text}`.trimStart();
}

interface Block {
  draw(lines: () => readonly string[]): void;
  readonly end: () => void;
}

/** Lines at the bottom of a terminal that are redrawn in place. What others write comes above. */
function createBlock(terminal: Terminal): Block {
  const write = terminal.write.bind(terminal);
  const direct = Object.assign(Object.create(terminal) as Terminal, {
    write: (text: string) => write(text),
  });
  const update = createLogUpdate(direct);
  let frame: (() => readonly string[]) | undefined;
  /** The cursor is hidden by a package that writes to the terminal itself. */
  let isDrawing = false;

  function redraw(): void {
    if (!frame) return;
    isDrawing = true;
    update(`\n${frame().join('\n')}`);
    isDrawing = false;
  }

  return {
    draw: (lines) => {
      // Programs that a run starts, and its log, write to the same terminal.
      terminal.write = ((...args: Parameters<Terminal['write']>) => {
        if (isDrawing) return write(...args);
        update.clear();
        write(...args);
        redraw();
        return true;
      }) as Terminal['write'];
      frame = lines;
      redraw();
    },
    end: () => {
      if (!frame) return;
      redraw();
      frame = undefined;
      terminal.write = write;
      update.done();
    },
  };
}
