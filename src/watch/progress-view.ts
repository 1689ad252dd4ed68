import { SingleBar } from 'cli-progress';
import { formatDuration } from '../job/duration.ts';
import type { PaceDescription } from '../pace/pacer.ts';
import type { LogoProgress, Progress } from './events.ts';
import { formatRate } from './format-rate.ts';

/** How progress is shown: `bar` redraws one line, `lines` writes one every few seconds. */
export type ProgressStyle = 'bar' | 'lines' | 'none';

/** Shows how far the lookups are, and the logos behind them. */
export interface ProgressView {
  show(progress: Progress): void;
  showLogos(progress: LogoProgress): void;
  /** Leaves the last state readable; later output starts on a line of its own. */
  end(): void;
}

const LINE_EVERY_MS = 5_000;

/** @param stream where it is shown; standard error, so that rows on standard output stay clean */
export function createProgressView(style: ProgressStyle, stream: NodeJS.WriteStream): ProgressView {
  if (style === 'none') return { show: () => {}, showLogos: () => {}, end: () => {} };
  const steps = style === 'bar' ? createBar(stream) : createLines(stream);
  let shown: Step['of'] | undefined;
  function show(step: Step): void {
    if (shown !== step.of) steps.end();
    shown = step.of;
    steps.show(step);
  }
  return {
    show: (progress) => {
      const { lookups: total, done, elapsedMs } = progress;
      show({ of: 'lookups', total, done, elapsedMs, text: () => describeProgress(progress) });
    },
    showLogos: (progress) => {
      const { total, saved, kept, missing, elapsedMs } = progress;
      const done = saved + kept + missing;
      show({ of: 'logos', total, done, elapsedMs, text: () => describeLogos(progress) });
    },
    end: () => steps.end(),
  };
}

/** How far one part of a run is. */
interface Step {
  readonly of: 'lookups' | 'logos';
  readonly total: number;
  readonly done: number;
  readonly elapsedMs: number;
  readonly text: () => string;
}

interface StepView {
  show(step: Step): void;
  end(): void;
}

/** What fits a stream: a bar on a terminal, lines elsewhere. */
export function chooseStyle(
  wish: ProgressStyle | 'auto',
  stream: { readonly isTTY?: boolean },
): ProgressStyle {
  if (wish !== 'auto') return wish;
  return stream.isTTY ? 'bar' : 'lines';
}

function createBar(stream: NodeJS.WriteStream): StepView {
  const bar = new SingleBar({
    stream,
    format: '{bar} {percentage}% | {text}',
    barsize: 24,
    hideCursor: true,
    noTTYOutput: true,
    autopadding: false,
    linewrap: false,
  });
  let isStarted = false;
  return {
    show: ({ total, done, text }) => {
      if (total === 0) return;
      const payload = { text: text() };
      if (!isStarted) bar.start(total, done, payload);
      else bar.update(done, payload);
      isStarted = true;
    },
    end: () => {
      if (isStarted) bar.stop();
      isStarted = false;
    },
  };
}

function createLines(stream: NodeJS.WriteStream): StepView {
  let nextAtMs = LINE_EVERY_MS;
  let latest: Step | undefined;
  return {
    show: (step) => {
      latest = step;
      if (step.elapsedMs < nextAtMs) return;
      nextAtMs = step.elapsedMs + LINE_EVERY_MS;
      stream.write(`${step.text()}\n`);
    },
    end: () => {
      if (latest && latest.total > 0) stream.write(`${latest.text()}\n`);
      latest = undefined;
      nextAtMs = LINE_EVERY_MS;
    },
  };
}

/** `880/1,200 logos, 40 s left; 12 missing`. */
function describeLogos({ total, saved, kept, missing, elapsedMs }: LogoProgress): string {
  const done = saved + kept + missing;
  const leftMs = done > 0 ? ((total - done) / done) * elapsedMs : Number.NaN;
  const parts = [`${done.toLocaleString('en-US')}/${total.toLocaleString('en-US')} logos`];
  if (done < total && leftMs >= 1_000) parts.push(`${formatDuration(leftMs)} left`);
  if (missing > 0) parts.push(`${missing.toLocaleString('en-US')} missing`);
  return parts.join(', ');
}

/** `880/1,200 lookups, 71 calls/s, 12 s left; 3 failed; told to wait 4 s`. */
function describeProgress(progress: Progress): string {
  const { done, lookups, outcomes, calls, elapsedMs, waitMs, pace, outage } = progress;
  const seconds = elapsedMs / 1_000;
  const leftMs = done > 0 ? ((lookups - done) / done) * elapsedMs : Number.NaN;
  const parts = [
    `${done.toLocaleString('en-US')}/${lookups.toLocaleString('en-US')} lookups`,
    `${(seconds > 0 ? calls / seconds : 0).toFixed(1)} calls/s`,
  ];
  if (done < lookups && leftMs >= 1_000) parts.push(`${formatDuration(leftMs)} left`);
  if (outcomes.failed > 0) parts.push(`${outcomes.failed} failed`);
  if (outage !== undefined) parts.push(outage);
  else parts.push(...describePace(pace, waitMs));
  return parts.join(', ');
}

/** `limit about 50/s, probing`, or `told to wait 12 s`. */
function describePace(pace: PaceDescription | undefined, waitMs: number): readonly string[] {
  const parts: string[] = [];
  const { learnedLimitPerSecond: limit, concurrencyLimit, why } = pace ?? {};
  if (limit !== undefined) parts.push(`limit about ${formatRate(limit)}`);
  if (concurrencyLimit !== undefined) parts.push(`at most ${concurrencyLimit} at once`);
  if (why === 'backing_off') parts.push('backing off');
  else if (waitMs >= 1_000 && why === 'holding') {
    parts.push(`next call in ${formatDuration(waitMs)}`);
  } else if (waitMs >= 1_000) parts.push(`told to wait ${formatDuration(waitMs)}`);
  else if (why === 'probing') parts.push('probing');
  return parts;
}
