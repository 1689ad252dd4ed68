import { styleText } from 'node:util';
import {
  formatCount,
  formatDuration,
  formatRate,
  formatUnits,
  MINUTE_MS,
} from '../common/format.ts';
import { describeLimit } from './describe.ts';
import { howFar, type RunView, shareOf } from './run-view.ts';
import { describeWait, STATUSES, type StatusName } from './words.ts';

/** Shows how far a run is: the lookups, then the logos, and in the end the rows that are written. */
export interface Progress {
  /** @param step what the run is about; each has a place of its own */
  show(view: RunView, step: string): void;
  /** Has something else written, above what is shown. */
  aside(write: () => void): void;
  /** Leaves the last state readable; later output starts on a line of its own. May be called twice. */
  end(): void;
}

export const NO_PROGRESS: Progress = { show: () => {}, aside: (write) => write(), end: () => {} };

const LINE_EVERY_MS = 5_000;

/**
 * Shows progress in a line every few seconds, and the last state at the end: for pipes, files, logs.
 *
 * @param write takes a line, without its end, and what it is about
 */
export function createProgressLines(
  write: (line: string, view: RunView, step: string) => void,
): Progress {
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
      if (performance.now() >= nextMs) end();
    },
    aside: (other) => {
      end();
      other();
    },
    end,
  };
}

/** Shows progress in lines at the bottom of a terminal that are redrawn in place. */
export async function openProgressBlock(terminal: NodeJS.WriteStream): Promise<Progress> {
  // Loaded here, so that a run without a terminal need not wait for it.
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(terminal);
  let latest: readonly [view: RunView, step: string] | undefined;
  const draw = (): void => {
    if (latest) update(`\n${blockOf(latest[0], terminal).join('\n')}`);
  };
  const end = (): void => {
    draw();
    if (latest) update.done();
    latest = undefined;
  };
  return {
    show: (view, step) => {
      if (latest && latest[1] !== step) end();
      latest = [view, step];
      draw();
    },
    aside: (write) => {
      if (latest) update.clear();
      write();
      draw();
    },
    end,
  };
}

const WIDEST = 40;

/** `██████░░░░  58%  58,120 of 100,000 rows`, with the counts, the speed and a wait below it. */
function blockOf(view: RunView, stream: NodeJS.WriteStream): readonly string[] {
  const [percent, count] = farOf(view);
  const text = `${percent}  ${count}`;
  const width = Math.max(0, Math.min(WIDEST, stream.columns - text.length - 2));
  const filled = Math.floor(shareOf(howFar(view)) * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${text}`.trimStart();
  const counts = countsOf(view).map(([of, color]) =>
    color ? styleText(color, of, { stream }) : of,
  );
  const waits = view.wait ? [styleText('yellow', describeWait(view.wait), { stream })] : [];
  return [bar, counts.join(', '), speedOf(view).join(', '), ...waits].filter((line) => line !== '');
}

/** `58%, 58,120 of 100,000 rows, 41,020 found, 3 failed, 71 calls/s, held to 80/s, about 9 min left`. */
function lineOf(view: RunView): string {
  const counts = countsOf(view).map(([text]) => text);
  const waits = view.wait ? [describeWait(view.wait)] : [];
  return [...farOf(view), ...counts, ...speedOf(view), ...waits].join(', ');
}

/** `58%` and `58,120 of 100,000 rows`. */
function farOf(view: RunView): readonly [string, string] {
  const far = howFar(view);
  const count = `${formatCount(far.done)} of ${formatCount(far.total)} ${far.unit}`;
  return [`${Math.floor(shareOf(far) * 100)}%`, count];
}

type Color = 'green' | 'red' | 'yellow';

const COLORS: Readonly<Partial<Record<StatusName, Color>>> = {
  found: 'green',
  failed: 'red',
  pending: 'yellow',
};

/** `41,020 found, 3 failed`: counts of zero are left out, except that of found rows. */
function countsOf(view: RunView): readonly (readonly [text: string, color?: Color])[] {
  const { rowsSoFar, outcomes } = view;
  if (!isLookingUp(view)) return [];
  const counts: Readonly<Record<string, number>> = rowsSoFar ?? outcomes;
  const names = Object.keys(STATUSES) as StatusName[];
  return names.flatMap((of): [string, Color?][] => {
    const count = counts[of] ?? 0;
    if (count === 0 && of !== 'found') return [];
    const text = `${formatCount(count)} ${STATUSES[of].name}`;
    const color = COLORS[of];
    return [color ? [text, color] : [text]];
  });
}

function isLookingUp({ phase, written }: RunView): boolean {
  return written === undefined && phase !== 'saving_logos';
}

/** `71 calls/s, 140 credits, held to 80/s, about 9 min left, 3 pending`. */
function speedOf(view: RunView): readonly string[] {
  const { phase, bill, limit, leftMs = 0, lookups, due, pendingNow } = view;
  if (!isLookingUp(view)) return [];
  // When all is over, the speed on the whole says more than that of the last moment.
  const isOver = phase === 'stopping' || (due > 0 && lookups >= due);
  const perSecond = isOver ? view.callsPerSecond : view.ratePerSecond;
  const held = limit && (limit.limitIs !== 'unknown' || !isOver) && describeLimit(limit, true);
  return [
    (perSecond > 0 ? formatRate(perSecond) : '0/s').replace('/', ' calls/'),
    bill && formatUnits(bill),
    held,
    leftMs >= 1_000 && !isOver && describeLeft(leftMs),
    pendingNow > 0 && `${formatCount(pendingNow)} pending`,
  ].filter((part) => typeof part === 'string');
}

/** `about 12 min left`, in the precision that is known. */
function describeLeft(leftMs: number): string {
  const stepMs = leftMs < MINUTE_MS ? 1_000 : leftMs < 10 * MINUTE_MS ? 10_000 : MINUTE_MS;
  return `about ${formatDuration(Math.round(leftMs / stepMs) * stepMs)} left`;
}
