import { formatCount, formatDuration, formatRate } from '../common/format.ts';
import { printable } from '../common/text.ts';
import type { ScheduleOptions } from '../index.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import { billParts, leftMsOf } from './block.ts';
import {
  describeInput,
  describePlan,
  describeSample,
  describeStop,
  describeSummary,
  inputBlock,
  planBlock,
} from './describe.ts';
import {
  hasStopped,
  type LogoProgress,
  type Progress,
  type RunEvent,
  type WriteProgress,
} from './events.ts';
import { chooseStyle, type Log, type LogFields, type LogLevel, type ProgressStyle } from './log.ts';
import type { Summary } from './summary.ts';
import { createTimeLeft } from './time-left.ts';
import { describePending, describeWait } from './waits.ts';

/**
 * Shows a run on the console: how the input was understood, the plan, progress, and how it ended.
 */
export interface ConsoleView {
  readonly show: (event: RunEvent) => void;
  finish(summary: Summary): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

export interface ConsoleViewOptions {
  /** Takes a line, without its end. */
  readonly write: (line: string) => void;
  readonly progress: ProgressView;
  /**
   * Whether somebody sits there who will be asked to confirm: the plan then takes more room.
   * @default false
   */
  readonly isTerminal?: boolean;
  /** The id of the run in logs, for the plan on a terminal. @default it is not shown */
  readonly runId?: string;
  /** Takes secrets out of a text. @default leaves it as it is */
  readonly redact?: (text: string) => string;
}

export function createConsoleView({
  write,
  progress,
  isTerminal = false,
  runId,
  redact = (text) => text,
}: ConsoleViewOptions): ConsoleView {
  const say = (line: string): void => {
    progress.giveWay();
    write(printable(redact(line)));
  };
  return {
    show: (event) => {
      switch (event.type) {
        case 'opened':
          return (isTerminal ? inputBlock(event) : [describeInput(event)]).forEach(say);
        case 'planned':
          return (isTerminal ? planBlock(event.plan, runId) : describePlan(event.plan)).forEach(
            say,
          );
        case 'sampled':
          progress.end();
          return describeSample(event).forEach(say);
        case 'notice':
          return say(`Note: ${event.message}`);
        case 'stopping':
          return say(describeStop(event.stop));
        case 'progress':
          return progress.show(event);
        case 'logos':
          return progress.showLogos(event);
        case 'rows':
          return progress.showRows(event);
        case 'writing':
          return progress.end();
      }
    },
    finish: (summary) => {
      progress.end();
      describeSummary(summary).forEach(say);
    },
    end: () => progress.end(),
  };
}

/** Leaves out everything below a level: with `warn` the plan, the progress and the summary. */
export function quietView(view: ConsoleView, least: LogLevel): ConsoleView {
  if (least === 'debug' || least === 'info') return view;
  return {
    show: (event) => {
      if (least === 'warn' && isWarning(event)) view.show(event);
    },
    finish: () => {},
    end: () => view.end(),
  };
}

function isWarning(event: RunEvent): boolean {
  return event.type === 'stopping' || (event.type === 'notice' && event.level !== 'info');
}

/** Logs a run for programs: what happens is in `event`, with its numbers. */
export function createLogView(log: Log, progress: ProgressStyle | 'auto'): ConsoleView {
  let fields: LogFields = {};
  // A line every few seconds, whatever was asked for: nobody looks at a bar in a log.
  const lines =
    progress === 'none'
      ? NO_PROGRESS
      : createProgressLines((line) => log.write('info', line, fields));
  return {
    show: (event) => {
      if (event.type === 'progress') {
        fields = { event: 'progress', ...numbersOf(event) };
        return lines.show(event);
      }
      if (event.type === 'logos') {
        if (fields['event'] === 'progress') lines.end();
        fields = { event: 'logos', total: event.total };
        return lines.showLogos(event);
      }
      if (event.type === 'rows') {
        fields = { event: 'rows', written: event.written, total: event.total };
        return lines.showRows(event);
      }
      lines.end();
      emit(event, log);
    },
    finish: (summary) => {
      lines.end();
      const [first = '', ...others] = describeSummary(summary);
      log.write(
        'info',
        [first, ...others.map((line) => line.trim().replaceAll(/ {2,}/g, ' '))].join('; '),
        {
          event: 'finished',
          summary,
        },
      );
    },
    end: () => lines.end(),
  };
}

/** The numbers that fit into a line. */
function numbersOf(progress: Progress): LogFields {
  const { lookups, done, outcomes, rows, calls, retries, throttled, waitMs } = progress;
  const { bill, apis, pace, outage, isPaused, heldBy } = progress;
  const elapsedMs = Math.round(progress.elapsedMs);
  const counts = {
    lookups,
    done,
    outcomes,
    rows,
    calls,
    retries,
    throttled,
    bill,
    apis,
    elapsedMs,
  };
  return { ...counts, waitMs, pace, outage, isPaused, heldBy };
}

function emit(event: Exclude<RunEvent, { type: 'progress' | 'logos' | 'rows' }>, log: Log): void {
  const { type, ...facts } = event;
  const fields = { event: type, ...facts };
  switch (event.type) {
    case 'opened':
      return log.write('info', describeInput(event), fields);
    case 'planned':
      return log.write('info', describePlan(event.plan).join('; '), fields);
    case 'sampled':
      return log.write('info', describeSample(event).join('; '), fields);
    case 'notice':
      return log.write(event.level ?? 'warn', event.message, { event: type });
    case 'stopping':
      return log.write('warn', describeStop(event.stop), fields);
    case 'writing':
      return log.write('debug', `All lookups ended; ${event.rows} rows are written.`, fields);
  }
}

const LINE_EVERY_MS = 5_000;

/** One part of a run, in its last state. */
interface Step {
  readonly of: 'lookups' | 'logos' | 'rows';
  readonly elapsedMs: number;
  readonly text: () => string;
}

/**
 * Shows progress in a line every few seconds, and the last state at the end: for pipes, files and logs.
 *
 * @param write takes a line, without its end
 */
export function createProgressLines(write: (line: string) => void): ProgressView {
  let nextAtMs = LINE_EVERY_MS;
  let latest: Step | undefined;
  const timeLeft = createTimeLeft();

  function end(): void {
    if (latest) write(latest.text());
    latest = undefined;
    nextAtMs = LINE_EVERY_MS;
  }

  function show(step: Step): void {
    if (latest && latest.of !== step.of) end();
    latest = step;
    if (step.elapsedMs < nextAtMs) return;
    nextAtMs = step.elapsedMs + LINE_EVERY_MS;
    write(step.text());
  }

  return {
    show: (progress) => {
      const { lookups, elapsedMs } = progress;
      timeLeft.look(progress);
      const { leftMs } = timeLeft;
      const text = (): string => describeProgress(progress, leftMs);
      if (lookups > 0) show({ of: 'lookups', elapsedMs, text });
    },
    showLogos: (progress) => {
      const { total, elapsedMs } = progress;
      if (total > 0) show({ of: 'logos', elapsedMs, text: () => describeLogos(progress) });
    },
    showRows: (progress) => {
      show({ of: 'rows', elapsedMs: progress.elapsedMs, text: () => describeRows(progress) });
    },
    giveWay: end,
    end,
  };
}

/** `430,000/1,000,000 rows written, 43%`. */
function describeRows({ written, total }: WriteProgress): string {
  const share = total > 0 ? Math.floor((written / total) * 100) : 100;
  return `${formatCount(written)}/${formatCount(total)} rows written, ${share}%`;
}

/** `880/1,200 logos, 40 s left, 12 missing`. */
function describeLogos(progress: LogoProgress): string {
  const { total, saved, kept, missing } = progress;
  const done = saved + kept + missing;
  const leftMs = leftMsOf(progress) ?? 0;
  const parts = [`${formatCount(done)}/${formatCount(total)} logos`];
  if (done < total && leftMs >= 1_000) parts.push(`${formatDuration(leftMs)} left`);
  if (missing > 0) parts.push(`${formatCount(missing)} missing`);
  return parts.join(', ');
}

/** `880/1,200 lookups, 71.0 calls/s, 12 s left, 3 failed, waits for another run`. */
function describeProgress(progress: Progress, leftMs = 0): string {
  const { done, lookups, outcomes, calls, elapsedMs, pace } = progress;
  const seconds = elapsedMs / 1_000;
  const isStopped = hasStopped(progress);
  const parts = [
    `${formatCount(done)}/${formatCount(lookups)} lookups`,
    `${(seconds > 0 ? calls / seconds : 0).toFixed(1)} calls/s`,
    ...billParts(progress).map(({ forms: [text] }) => text),
  ];
  if (done < lookups && !isStopped && leftMs >= 1_000) {
    parts.push(`${formatDuration(leftMs)} left`);
  }
  if (outcomes.failed > 0) parts.push(`${outcomes.failed} failed`);
  const { count = 0, untilMs } = progress.pending ?? {};
  const pending = describePending(count + outcomes.pending, untilMs);
  if (pending) parts.push(pending[0]);
  if (isStopped) parts.push(...describeLimit(pace));
  else parts.push(...describeHoldUp(progress));
  return parts.join(', ');
}

/** Why nothing moves, or else `limit about 50/s, probing`, or `told to wait 12 s`. */
function describeHoldUp(progress: Progress): readonly string[] {
  const { outage, pace, waitMs, isPaused = false, heldBy } = progress;
  const isHeld = isPaused || heldBy !== undefined;
  const why = isHeld ? describeWait(progress)?.at(-1) : undefined;
  if (why !== undefined) return [why];
  return outage === undefined ? [...describeLimit(pace), ...describePace(pace, waitMs)] : [outage];
}

/** `limit about 50/s`. */
function describeLimit(pace: PaceDescription | undefined): readonly string[] {
  const { learnedLimitPerSecond: limit, concurrencyLimit } = pace ?? {};
  return [
    ...(limit === undefined ? [] : [`limit about ${formatRate(limit)}`]),
    ...(concurrencyLimit === undefined ? [] : [`at most ${concurrencyLimit} at once`]),
  ];
}

/** `probing`, or `told to wait 12 s`. */
function describePace(pace: PaceDescription | undefined, waitMs: number): readonly string[] {
  const why = pace?.why;
  if (why === 'backing_off') return ['backing off'];
  if (waitMs >= 1_000) {
    const time = formatDuration(waitMs);
    return [why === 'holding' ? `next call in ${time}` : `told to wait ${time}`];
  }
  return why === 'probing' ? ['probing'] : [];
}

/** Shows how far the lookups are, then the logos, and in the end the rows that are written. */
export interface ProgressView {
  show(progress: Progress): void;
  showLogos(progress: LogoProgress): void;
  showRows(progress: WriteProgress): void;
  /** Must be called before anything else is written. */
  giveWay(): void;
  /** Leaves the last state readable; later output starts on a line of its own. */
  end(): void;
}

/** Shows no progress. */
const NO_PROGRESS: ProgressView = {
  show: () => {},
  showLogos: () => {},
  showRows: () => {},
  giveWay: () => {},
  end: () => {},
};

/** Writes the events of runs to a log; as text, each line begins with the name of its job. */
export function createRunViews(
  log: Log,
): Required<Pick<ScheduleOptions, 'onRunEvent' | 'onRunEnd'>> {
  const views = new Map<string, ConsoleView>();
  const open = (job: string, run: string): ConsoleView => {
    const view =
      log.format === 'json'
        ? createLogView(log.with({ job, run }), 'auto')
        : textView(job, log.with({ run }));
    views.set(job, view);
    return view;
  };
  return {
    onRunEvent: (job, event, run) => (views.get(job) ?? open(job, run)).show(event),
    onRunEnd: (job) => {
      views.get(job)?.end();
      views.delete(job);
    },
  };
}

function textView(job: string, log: Log): ConsoleView {
  const write = (line: string): void => {
    log.write('error', `${job}: ${line}`); // the log leaves out what is below its level
  };
  const view = createConsoleView({ write, progress: createProgressLines(write) });
  const least = log.tells('info') ? 'info' : log.tells('warn') ? 'warn' : 'error';
  return quietView(view, least);
}

/** @param stream where it is shown; standard error, so that rows on standard output stay clean */
export async function openProgressView(
  wish: ProgressStyle | 'auto',
  stream: NodeJS.WriteStream,
): Promise<ProgressView> {
  switch (chooseStyle(wish, { isTTY: stream.isTTY, env: process.env })) {
    case 'bar': {
      // Loaded here, so that nobody without a bar has to wait for it.
      const { createProgressBlock } = await import('./progress-block.ts');
      return createProgressBlock(stream);
    }
    case 'lines':
      return createProgressLines((line) => void stream.write(`${line}\n`));
    case 'none':
      return NO_PROGRESS;
  }
}
