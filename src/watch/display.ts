import { styleText } from 'node:util';
import { countOf, formatCount, formatDuration, formatRate, formatUnits } from '../common/format.ts';
import {
  countsOf,
  describeEnd,
  describeInput,
  describeLimit,
  describePlan,
  describeStop,
} from './describe.ts';
import type { RunEvent } from './events.ts';
import { inOneLine, isLogged, type Log, type LogFields, type LogOptions, openLog } from './log.ts';
import type { RunRecorder } from './record-run.ts';
import { howFar, inBrief, isStalled, type RunView, type Wait } from './run-view.ts';
import { describeWait, STATUSES } from './words.ts';

// What somebody who started a run sees of it, or a log: input, plan, progress, and how it ended.

/**
 * Where it is shown how far a run is: the lookups, then the logos, and in the end the rows that are
 * written.
 */
interface Surface {
  /** @param isLast whether it stays: later output then starts on a line of its own */
  readonly draw: (view: RunView, isLast?: boolean) => void;
  /** Makes room for something else. */
  readonly clear: () => void;
}

export type RunDisplay = ReturnType<typeof createDisplay>;

function createDisplay(log: Log, { draw, clear }: Surface) {
  let recorder: Pick<RunRecorder, 'read'> | undefined;
  let drawn: RunView | undefined;
  const say: Log['write'] = (...line) => {
    if (drawn) clear();
    log.write(...line);
    if (drawn) draw(drawn);
  };
  /** Leaves the terminal as it was found. May be called twice. */
  const end = (): void => {
    if (drawn) draw(drawn, true);
    drawn = undefined;
  };
  return {
    /** Must be called before the run begins, with what makes its view. A plan alone has none. */
    onRecorder: (made: Pick<RunRecorder, 'read'>): void => {
      recorder = made;
    },
    show: (event: RunEvent): void => {
      switch (event.type) {
        case 'opened':
          return say('info', describeInput(event), factsOf(event));
        case 'planned':
          return say('info', describePlan(event.plan), factsOf(event));
        case 'notice':
          return say(event.level ?? 'warn', event.message, { event: 'notice' });
        case 'stopping':
          return say('warn', describeStop(event.stop, event.goesOn), factsOf(event));
        case 'progress':
        case 'logos':
        case 'writing': {
          const view = recorder?.read();
          if (event.type === 'writing' && event.written === undefined) return end();
          if (!view || (view.due === 0 && event.type === 'progress')) return;
          // Lookups, logos and rows that are written have each a place of their own.
          if (drawn && howFar(drawn).unit !== howFar(view).unit) end();
          drawn = view;
          draw(view);
        }
      }
    },
    finish: (ended: RunView): void => {
      end();
      say('info', describeEnd(ended), { event: 'finished', summary: inBrief(ended) });
    },
    end,
  };
}

function factsOf({ type: event, ...facts }: RunEvent): LogFields {
  return { ...facts, event };
}

export interface OpenDisplayOptions extends Omit<LogOptions, 'format' | 'fields'> {
  readonly log: Log;
  readonly progress: 'auto' | 'bar' | 'lines' | 'none';
  readonly stream: NodeJS.WriteStream;
}

/** Opens what suits a command that makes one run. */
export async function openDisplay(options: OpenDisplayOptions): Promise<RunDisplay> {
  const { level, progress, stream } = options;
  const isShown = options.log.format === 'shown';
  const log = isShown ? openLog({ ...options, format: 'plain' }) : options.log;
  if (progress === 'none' || !isLogged('info', level)) return createDisplay(log, NO_SURFACE);
  // A terminal without lines, as of a job in CI, has no room for a bar.
  const isBar =
    progress !== 'lines' && stream.isTTY && stream.rows !== 0 && process.env['TERM'] !== 'dumb';
  return createDisplay(log, isShown && isBar ? await openBlock(stream) : linesIn(log));
}

/**
 * Shows a run in the log of a process that makes the runs of several jobs: a line of text names its
 * job.
 */
export function openJobDisplay(log: Log, facts: { job: string; run: string }): RunDisplay {
  const start = log.format === 'json' ? '' : `${facts.job}: `;
  const under = log.with(facts);
  const write: Log['write'] = (level, message, more) =>
    under.write(level, start + inOneLine([message].flat()), more);
  const ofJob = { ...under, write };
  return createDisplay(ofJob, linesIn(ofJob));
}

const NO_SURFACE: Surface = { draw: () => {}, clear: () => {} };
const LINE_EVERY_MS = 5_000;
/**
 * While nothing goes on, such as in an outage: a log, and a mail of it, may be of a whole night.
 */
const WAITING_LINE_EVERY_MS = 600_000;
const LONG_WAIT_MS = 60_000;

/**
 * Shows progress in a line every few seconds, and the last state at the end: for pipes, files,
 * logs.
 */
function linesIn(log: Log): Surface {
  let lastMs = performance.now();
  let wasWaiting = false;
  const draw: Surface['draw'] = (view, isLast) => {
    const { wait: now, isPaused } = view;
    const isLong = now && (isStalled(now) || (now.leftMs ?? 0) > LONG_WAIT_MS || isLasting(now));
    const isWaiting = isPaused || (isLong ?? false);
    const everyMs = isWaiting ? WAITING_LINE_EVERY_MS : LINE_EVERY_MS;
    const isDue = isWaiting !== wasWaiting || performance.now() - lastMs >= everyMs;
    if (!isLast && !isDue) return;
    lastMs = performance.now();
    wasWaiting = isWaiting;
    const { far, counts, speed, wait } = partsOf(view);
    const words = [...far, ...counts.map(([, count]) => count), ...speed, ...wait];
    const { statuses, outcomes, lookups, due, calls, retries, throttled } = view;
    const facts = { statuses, outcomes, lookups, due, calls, retries, throttled };
    log.write('info', words.join(', '), { event: 'progress', ...facts });
  };
  return { ...NO_SURFACE, draw };
}

/** Whether no call has succeeded for so long that somebody may want to end the run. */
function isLasting({ sinceMs }: Wait): boolean {
  return sinceMs !== undefined && Date.now() - sinceMs > LONG_WAIT_MS;
}

const HOW_TO_END = 'Ctrl-C ends the run: what was found is kept, and the same command goes on.';

const WIDEST = 40;
const COLORS = { good: 'green', quiet: 'reset', warning: 'yellow', bad: 'red' } as const;

/** Shows progress in lines at the bottom of a terminal that are redrawn in place. */
async function openBlock(stream: NodeJS.WriteStream): Promise<Surface> {
  // Loaded here, so that a run without a terminal need not wait for it.
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(stream);
  const paint = (color: Parameters<typeof styleText>[0], text: string): string =>
    styleText(color, text, { stream });
  const draw: Surface['draw'] = (view, isLast) => {
    const { far, counts, speed, wait } = partsOf(view);
    const text = far.join('  ');
    const width = Math.max(0, Math.min(WIDEST, stream.columns - text.length - 2));
    const filled = Math.floor((howFar(view).percent / 100) * width);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${text}`.trimStart();
    const colored = counts.map(([name, count]) => paint(COLORS[STATUSES[name].tone], count));
    const waits = wait.map((words) => paint('yellow', words));
    if (view.wait && isLasting(view.wait)) waits.push(HOW_TO_END);
    const lines = [bar, colored.join(', '), speed.join(', '), ...waits];
    update(`\n${lines.filter((line) => line !== '').join('\n')}`);
    if (isLast) update.done();
  };
  return { draw, clear: () => update.clear() };
}

/**
 * `58%`, `58,120 of 100,000 rows`; while lookups are made, `3 failed`, `71 calls/s`, `held to
 * 80/s`, …
 */
function partsOf(view: RunView) {
  const { done, total, unit, percent } = howFar(view);
  const far = [`${percent}%`, `${formatCount(done)} of ${formatCount(total)} ${unit}`];
  const isLookingUp = unit === 'rows';
  return {
    far,
    counts: isLookingUp ? countsOf(view.statuses) : [],
    speed: isLookingUp ? speedOf(view) : [],
    wait: view.wait ? [describeWait(view.wait)] : [],
  };
}

/** `71 calls/s`, `140 credits`, `held to 80/s`, `about 9 min left`, `3 domains pending`. */
function speedOf(view: RunView): readonly string[] {
  const { phase, bill, limit, leftMs = 0, lookups, due, pendingNow } = view;
  // When all is over, the speed on the whole says more than that of the last moment.
  const isOver = phase === 'stopping' || (due > 0 && lookups >= due);
  const perSecond = isOver ? view.callsPerSecond : view.ratePerSecond;
  const isKnown = limit && (limit.limitIs !== 'unknown' || !isOver);
  return [
    perSecond > 0 ? formatRate(perSecond, ' calls') : '0 calls/s',
    bill && formatUnits(bill),
    ...(view.sources ?? []).map(
      ({ name, found, lookups }) =>
        lookups > 0 && `${name} ${formatCount(found)} of ${formatCount(lookups)}`,
    ),
    isKnown && describeLimit(limit, 'finding the limit'),
    leftMs >= 1_000 && !isOver && `about ${formatDuration(roughly(leftMs))} left`,
    pendingNow > 0 && `${countOf(pendingNow, 'domain')} pending`,
  ].filter((part) => typeof part === 'string');
}

/** A time to come, in the precision that is known. */
function roughly(ms: number): number {
  const stepMs = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return Math.round(ms / stepMs) * stepMs;
}
