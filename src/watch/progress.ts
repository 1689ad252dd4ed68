import { styleText } from 'node:util';
import {
  countOf,
  formatCount,
  formatDuration,
  formatRate,
  formatUnits,
  MINUTE_MS,
} from '../common/format.ts';
import { countsOf, describeLimit } from './describe.ts';
import { howFar, type RunView, shareOf } from './run-view.ts';
import { describeWait, STATUSES } from './words.ts';

/** Where it is shown how far a run is: the lookups, then the logos, and in the end the rows that are written. */
export interface Surface {
  readonly draw: (view: RunView) => void;
  /** Makes room for something else. */
  readonly clear: () => void;
  /** Draws the last state, which stays: later output starts on a line of its own. */
  readonly leave: (view: RunView) => void;
}

export const NO_SURFACE: Surface = { draw: () => {}, clear: () => {}, leave: () => {} };

const LINE_EVERY_MS = 5_000;

/**
 * Shows progress in a line every few seconds, and the last state at the end: for pipes, files, logs.
 *
 * @param write takes a line, without its end, and what it is about
 */
export function createLines(write: (line: string, view: RunView) => void): Surface {
  let nextMs = performance.now() + LINE_EVERY_MS;
  const leave = (view: RunView): void => {
    nextMs = performance.now() + LINE_EVERY_MS;
    write(lineOf(view), view);
  };
  const draw = (view: RunView): void => {
    if (performance.now() >= nextMs) leave(view);
  };
  return { draw, clear: () => {}, leave };
}

/** Shows progress in lines at the bottom of a terminal that are redrawn in place. */
export async function openBlock(terminal: NodeJS.WriteStream): Promise<Surface> {
  // Loaded here, so that a run without a terminal need not wait for it.
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(terminal);
  const draw = (view: RunView): void => update(`\n${blockOf(view, terminal).join('\n')}`);
  const leave = (view: RunView): void => {
    draw(view);
    update.done();
  };
  return { draw, clear: () => update.clear(), leave };
}

const WIDEST = 40;
const COLORS = { good: 'green', quiet: 'reset', warning: 'yellow', bad: 'red' } as const;

/** `██████░░░░  58%  58,120 of 100,000 rows`, with the counts, the speed and a wait below it. */
function blockOf(view: RunView, stream: NodeJS.WriteStream): readonly string[] {
  const text = farOf(view).join('  ');
  const width = Math.max(0, Math.min(WIDEST, stream.columns - text.length - 2));
  const filled = Math.floor(shareOf(howFar(view)) * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${text}`.trimStart();
  const counts = rowsOf(view).map(([name, count]) =>
    styleText(COLORS[STATUSES[name].tone], count, { stream }),
  );
  const wait = view.wait ? styleText('yellow', describeWait(view.wait), { stream }) : '';
  return [bar, counts.join(', '), speedOf(view).join(', '), wait].filter((line) => line !== '');
}

/** `58%, 58,120 of 100,000 rows, 41,020 found, 3 failed, 71 calls/s, held to 80/s, about 9 min left`. */
function lineOf(view: RunView): string {
  const counts = rowsOf(view).map(([, count]) => count);
  const wait = view.wait ? [describeWait(view.wait)] : [];
  return [...farOf(view), ...counts, ...speedOf(view), ...wait].join(', ');
}

/** `58%` and `58,120 of 100,000 rows`. */
function farOf(view: RunView): readonly string[] {
  const far = howFar(view);
  const count = `${formatCount(far.done)} of ${formatCount(far.total)} ${far.unit}`;
  return [`${Math.floor(shareOf(far) * 100)}%`, count];
}

/** Rows as they stand, while lookups are made. */
function rowsOf(view: RunView): ReturnType<typeof countsOf> {
  return isLookingUp(view) ? countsOf(view.statuses) : [];
}

function isLookingUp({ phase, written }: RunView): boolean {
  return written === undefined && phase !== 'saving_logos';
}

/** `71 calls/s`, `140 credits`, `held to 80/s`, `about 9 min left`, `3 domains pending`. */
function speedOf(view: RunView): readonly string[] {
  const { phase, bill, limit, leftMs = 0, lookups, due, pendingNow } = view;
  if (!isLookingUp(view)) return [];
  // When all is over, the speed on the whole says more than that of the last moment.
  const isOver = phase === 'stopping' || (due > 0 && lookups >= due);
  const perSecond = isOver ? view.callsPerSecond : view.ratePerSecond;
  const held = limit && (limit.limitIs !== 'unknown' || !isOver) && describeLimit(limit, true);
  return [
    perSecond > 0 ? formatRate(perSecond, ' calls') : '0 calls/s',
    bill && formatUnits(bill),
    held,
    leftMs >= 1_000 && !isOver && describeLeft(leftMs),
    pendingNow > 0 && `${countOf(pendingNow, 'domain')} pending`,
  ].filter((part) => typeof part === 'string');
}

/** `about 12 min left`, in the precision that is known. */
function describeLeft(leftMs: number): string {
  const stepMs = leftMs < MINUTE_MS ? 1_000 : leftMs < 10 * MINUTE_MS ? 10_000 : MINUTE_MS;
  return `about ${formatDuration(Math.round(leftMs / stepMs) * stepMs)} left`;
}
