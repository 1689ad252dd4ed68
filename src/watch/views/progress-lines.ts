import { formatDuration } from '../../job/values/duration.ts';
import { formatUnits } from '../../job/values/quantities.ts';
import type { PaceDescription } from '../../pace/pacer.ts';
import { describePending, describeWait } from '../describe/describe-wait.ts';
import { formatCount, formatRate } from '../describe/format.ts';
import { hasStopped, type LogoProgress, type Progress, type WriteProgress } from '../events.ts';
import { leftMsOf } from '../terminal/block-parts.ts';
import { createTimeLeft } from '../time-left.ts';

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
  const { done, lookups, outcomes, calls, elapsedMs, pace, bill } = progress;
  const seconds = elapsedMs / 1_000;
  const isStopped = hasStopped(progress);
  const parts = [
    `${formatCount(done)}/${formatCount(lookups)} lookups`,
    `${(seconds > 0 ? calls / seconds : 0).toFixed(1)} calls/s`,
    ...(bill ? [formatUnits(bill)] : []),
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
export const NO_PROGRESS: ProgressView = {
  show: () => {},
  showLogos: () => {},
  showRows: () => {},
  giveWay: () => {},
  end: () => {},
};
