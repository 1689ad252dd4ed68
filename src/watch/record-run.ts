import { hostname } from 'node:os';
import { createHistogram } from 'node:perf_hooks';
import type { CallCounters } from '../calls/outcome.ts';
import { billOf, round } from '../common/format.ts';
import type { RunControl } from '../common/run-control.ts';
import { shortenTo } from '../common/text.ts';
import { readVersion } from '../version.ts';
import type { Gate } from '../worker/gate.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { describeLimit, describeStop, describeWhole, endingOf, WITHOUT_ROWS } from './describe.ts';
import { NO_LOOKUP, type Progress, type RunEvent } from './events.ts';
import { describeFindings, type FoundOut } from './findings.ts';
import type { Measured } from './metrics.ts';
import { createRowRecorder, type RowLayout, type RowRecorder } from './row-reasons.ts';
import {
  isStalled,
  type RunAction,
  type RunView,
  type Span,
  VIEW_VERSION,
  type Wait,
} from './run-view.ts';
import { ENDINGS, GO_ON } from './words.ts';

export type RunRecorder = ReturnType<typeof recordRun>;

export interface RecordRunOptions
  extends Pick<RunView, 'runId' | 'list' | 'schedule' | 'api' | 'queue' | 'command'> {
  /** Says whether the run is paused. @default it cannot be steered */
  readonly control?: Pick<RunControl, 'isPaused'> | undefined;
}

/** Makes the view of a run from what happens in it. */
export function recordRun({ control, ...about }: RecordRunOptions) {
  const startedMs = performance.now();
  const speed = createSpeed();
  const calls = createCallRecord();
  let rows: RowRecorder | undefined;
  let known: RunView = {
    ...NOTHING_YET,
    ...about,
    brandfill: readVersion(),
    host: hostname(),
    pid: process.pid,
    startedAt: new Date().toISOString(),
  };
  return {
    onEvent: (event: RunEvent): void => {
      known = { ...known, ...newsOf(event, known) };
      if (event.type === 'progress') speed.add(known);
    },
    answered: calls.add,
    /** Must be called when the rows are about to be joined. */
    beginRows: (layout: RowLayout): RowRecorder => {
      rows = createRowRecorder(layout);
      return rows;
    },
    /**
     * Must be called when the run is over, with what no event said; with `end`, `why` and
     * `exitCode` where no rows were written.
     */
    end: ({
      foundOut = [],
      ...how
    }: Partial<RunView> & { readonly foundOut?: readonly FoundOut[] }): void => {
      const elapsedMs = Math.round(performance.now() - startedMs);
      const endedAt = new Date().toISOString();
      const over = { phase: 'ended', pendingNow: 0, elapsedMs, endedAt } as const;
      known = { ...known, ...how, ...over };
      known.pace = known.limit && describeLimit(known.limit);
      known.whole = describeWhole(known);
      const { reasons = [] } = rows?.read() ?? {};
      const { found } = known.statuses;
      const all = foundOut.flatMap((one) => describeFindings(one, reasons, found));
      known.findings = foundOut.length === 0 ? undefined : all;
      const headline = how.end === 'interrupted' ? `${ENDINGS.interrupted}.` : WITHOUT_ROWS;
      const end = how.end ? { headline, next: GO_ON } : endingOf(known);
      known = { ...known, ...end };
    },
    /** The run as it is now. */
    read: (): RunView => {
      const { phase, endedAt, wait } = known;
      const { ratePerSecond, leftMs, ...overTime } = speed.read();
      const isLive = phase === 'looking_up' || phase === 'saving_logos';
      const isPaused = isLive && (control?.isPaused ?? false);
      return {
        ...known,
        ...(endedAt === undefined && { elapsedMs: Math.round(performance.now() - startedMs) }),
        ...overTime,
        ...calls.read(),
        ...rows?.read(),
        isPaused,
        actions: control ? actionsOf(phase, isPaused) : [],
        ratePerSecond: isLive ? ratePerSecond : 0,
        leftMs: phase === 'looking_up' && !isPaused ? leftMs : undefined,
        wait: isPaused ? { why: 'paused' } : isLive ? wait : undefined,
      };
    },
  };
}

const MOST_NOTICES = 20;
const NOTICE_LENGTH = 500;

/** What changes in the view of a run with an event. */
function newsOf(event: RunEvent, { phase, notices, outages }: RunView): Partial<RunView> {
  const noting = (message: string): Partial<RunView> => {
    const notice = { at: new Date().toISOString(), text: shortenTo(message, NOTICE_LENGTH) };
    return { notices: [...notices, notice].slice(0, MOST_NOTICES) };
  };
  switch (event.type) {
    case 'planned': {
      const { rows, uniqueDomains, freshDomains, lookups: due, sampleOf } = event.plan;
      return { phase: 'looking_up', rows, uniqueDomains, freshDomains, due, sampleOf };
    }
    case 'notice':
      return noting(event.message);
    case 'progress': {
      const { type: _, pace, stall: _stall, pendingWaitMs: _pending, ...figures } = event;
      const { calls, lookupMs } = figures;
      const wait = waitOf(event);
      return {
        ...figures,
        phase: phase === 'stopping' ? phase : 'looking_up',
        lookupMs: Math.round(lookupMs),
        callsPerSecond: lookupMs > 0 ? round(calls / (lookupMs / 1_000), 2) : 0,
        limit: pace?.limit,
        wait,
        outages: outagesWith(outages, wait),
      };
    }
    case 'stopping':
      return {
        ...noting(describeStop(event.stop, event.goesOn)),
        ...(!event.goesOn && { phase: 'stopping' }),
      };
    case 'logos': {
      const { type: _, total: logoTotal, ...counts } = event;
      return { phase: 'saving_logos', logoTotal, logos: { folder: '', ...counts, reasons: {} } };
    }
    case 'writing':
      return { phase: 'writing', written: event.written };
    case 'opened':
      return {};
  }
}

const MOST_OUTAGES = 20;

/** The outages so far, the one that begins or ends now among them. */
function outagesWith(
  outages: RunView['outages'],
  { why, text = '', sinceMs = 0 }: Partial<Wait> = {},
): RunView['outages'] {
  const last = outages.at(-1);
  const isOpen = last !== undefined && last.until === undefined;
  if ((why === 'outage') === isOpen) return outages;
  if (isOpen) return [...outages.slice(0, -1), { ...last, until: new Date().toISOString() }];
  const opened = { from: new Date(sinceMs).toISOString(), why: text };
  return [...outages, opened].slice(0, MOST_OUTAGES);
}

/** A shorter wait, or refusal of all calls, is a normal part of the work. */
const SHORTEST_WAIT_MS = 1_000;
const SHORTEST_REFUSAL_MS = 5_000;

/** What keeps calls from starting. */
function waitOf({ stall, pace, pendingWaitMs = 0 }: Partial<Progress>): Wait | undefined {
  if (stall) return stall;
  const { failing, statedMs, waitMs: leftMs = 0 } = pace ?? {};
  const { isOut = false, lastedMs = 0, reason: text } = failing ?? {};
  const isRefused = lastedMs > 0 && statedMs === undefined;
  if (isOut || (isRefused && lastedMs >= SHORTEST_REFUSAL_MS)) {
    const sinceMs = Date.now() - lastedMs;
    return { why: isOut ? 'outage' : 'backing_off', leftMs, text, sinceMs };
  }
  if (leftMs >= SHORTEST_WAIT_MS && !isRefused)
    return { why: statedMs === undefined ? 'rate' : 'stated', leftMs };
  return pendingWaitMs > 0 ? { why: 'pending', leftMs: pendingWaitMs } : undefined;
}

function actionsOf(phase: RunView['phase'], isPaused: boolean): RunAction[] {
  if (phase === 'reading') return ['stop'];
  if (phase !== 'looking_up' && phase !== 'saving_logos') return [];
  return [isPaused ? 'resume' : 'pause', 'stop'];
}

/** Kinds of answers that are kept apart: a status may be any number of three digits. */
const MOST_ANSWERS = 50;

/** What calls came to, and how long they took. */
function createCallRecord() {
  const answers: Record<string, number> = {};
  const latencies = createHistogram(); // HdrHistogram, which Node.js includes; in microseconds
  const msOf = (percent: number): number => round(latencies.percentile(percent) / 1_000, 1);
  return {
    add: ({ meaning, latencyMs }: AnsweredCall): void => {
      const { kind, httpStatus } = meaning;
      // A 200 whose body cannot be used is no answer.
      const hasAnswer = httpStatus !== undefined && (httpStatus !== 200 || kind === 'found');
      const what = hasAnswer ? String(httpStatus) : meaning.reason;
      const isKept = what in answers || Object.keys(answers).length < MOST_ANSWERS;
      const answer = isKept ? what : 'others';
      answers[answer] = (answers[answer] ?? 0) + 1;
      latencies.record(Math.max(1, Math.round(latencyMs * 1_000)));
    },
    read: (): Pick<RunView, 'answers' | 'latency'> => {
      const latency = latencies.count > 0 ? { p50Ms: msOf(50), p95Ms: msOf(95) } : undefined;
      return { answers: { ...answers }, latency };
    },
  };
}

const NOTHING_YET = {
  version: VIEW_VERSION,
  phase: 'reading',
  isPaused: false,
  actions: [],
  rows: 0,
  uniqueDomains: 0,
  freshDomains: 0,
  ...NO_LOOKUP,
  elapsedMs: 0,
  callsPerSecond: 0,
  ratePerSecond: 0,
  spanMs: 0,
  spans: [],
  answers: {},
  reasons: [],
  columns: [],
  notices: [],
  outages: [],
} satisfies Partial<RunView>;

/** Records what metrics show of a worker. */
export function recordWorker(unit: string | undefined) {
  const made = createCallRecord();
  return {
    answered: made.add,
    read: ({ gate, counters, outcomes }: WorkerFigures): Measured => {
      const { calls, throttled, billedMicros } = counters;
      const pace = gate.describe();
      const bill = unit === undefined ? undefined : billOf(billedMicros, unit);
      const { limit } = pace;
      return { outcomes, calls, throttled, ...made.read(), bill, limit, wait: waitOf({ pace }) };
    },
  };
}

interface WorkerFigures extends Pick<RunView, 'outcomes'> {
  readonly gate: Pick<Gate, 'describe'>;
  readonly counters: Readonly<CallCounters>;
}

type Figures = Pick<
  RunView,
  'due' | 'lookups' | 'calls' | 'throttled' | 'lookupMs' | 'limit' | 'wait'
>;

/** What was counted until then. */
interface Point extends Pick<RunView, 'lookups' | 'calls' | 'throttled'> {
  /** Since the lookups began. */
  readonly atMs: number;
  /** The part of it in which calls were let through. */
  readonly workedMs: number;
  readonly limitPerSecond?: number | undefined;
}

const START: Point = { atMs: 0, workedMs: 0, lookups: 0, calls: 0, throttled: 0 };
const RATE_WINDOW_MS = 5_000;
/** The rest is assumed to go as fast as the lookups of this much time. */
const LEFT_WINDOW_MS = 30_000;
/** A longer time between two looks is one in which this machine was asleep. */
const LONGEST_LOOK_MS = 5_000;
/** With fewer counts a rate looks back further. */
const LEAST = 10;
const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;
/** Points of so long ago are kept however long the run is. */
const RECENT_MS = 60_000;

/**
 * The speed of a run: now, over its time, and how long it still takes. The time left goes by the
 * lookups of the last half minute in which calls were let through. A wait counts only with what is
 * left of it: an hour that the API asked to wait does not make everything after it slow.
 */
export function createSpeed() {
  /** A span apart: of too many every second one goes, and spans are twice as long. */
  let points: readonly Point[] = [START];
  /** All of the last minute. */
  let recent: readonly Point[] = [];
  let spanMs = FIRST_SPAN_MS;
  let leftMs: number | undefined;
  return {
    add: ({ due, lookups, calls, throttled, lookupMs: atMs, limit, wait }: Figures): void => {
      const [before = START, newest = before] = points.slice(-2);
      const isWork = !wait || wait.why === 'rate';
      const sinceMs = Math.min(atMs - newest.atMs, LONGEST_LOOK_MS);
      const workedMs = newest.workedMs + (isWork ? sinceMs : 0);
      const { limitPerSecond } = limit ?? {};
      const point = { atMs, workedMs, lookups, calls, throttled, limitPerSecond };
      recent = [...recent.filter((old) => atMs - old.atMs <= RECENT_MS), point];
      // The newest point moves on until it is a span away from the one before.
      const isNear = newest !== before && newest.atMs - before.atMs < spanMs;
      points = [...(isNear ? points.slice(0, -1) : points), point];
      if (points.length > MOST_SPANS) {
        points = points.filter((_, at) => at % 2 === 0);
        spanMs *= 2;
      }
      const perSecond = rateOf([...points, ...recent], 'lookups', 'workedMs', LEFT_WINDOW_MS);
      const workMs = ((due - lookups) / perSecond) * 1_000;
      const isOpen = wait && (isStalled(wait) || wait.why === 'backing_off');
      const isKnown = perSecond > 0 && !isOpen;
      leftMs = isKnown ? Math.round(workMs + (wait?.leftMs ?? 0)) : undefined;
    },
    read: () => ({
      ratePerSecond: round(rateOf([...points, ...recent], 'calls', 'atMs', RATE_WINDOW_MS), 1),
      leftMs,
      spanMs,
      spans: points.slice(1).map((end, at) => spanBetween(points[at] ?? end, end)),
    }),
  };
}

/**
 * How fast a count grows, per second, over a window. Where little happens, such as at six calls a
 * minute, it looks back further: otherwise it would jump between nothing and far too much. A queue
 * tells of calls in steps, once a second: it is measured from step to step, until one is overdue.
 */
function rateOf(
  points: readonly Point[],
  count: 'calls' | 'lookups',
  time: 'atMs' | 'workedMs',
  windowMs: number,
): number {
  const newest = points.at(-1) ?? START;
  const findStep = (isIt: (point: Point) => boolean): Point =>
    points.findLast((one, at) => isIt(one) && one[count] !== points[at - 1]?.[count]) ?? START;
  const last = findStep(() => true);
  const before = findStep((point) => point[count] !== last[count]);
  const isOverdue = newest[time] - last[time] > 2 * (last[time] - before[time]);
  const to = isOverdue ? newest : last;
  const from = findStep(
    (point) => to[time] - point[time] >= windowMs && to[count] - point[count] >= LEAST,
  );
  const ms = to[time] - from[time];
  return ms > 0 ? ((to[count] - from[count]) / ms) * 1_000 : 0;
}

function spanBetween(start: Point, end: Point): Span {
  const seconds = Math.max(1, end.atMs - start.atMs) / 1_000;
  const { limitPerSecond: limit } = end;
  return {
    atMs: Math.round(start.atMs),
    callsPerSecond: round((end.calls - start.calls) / seconds, 2),
    throttledPerSecond: round((end.throttled - start.throttled) / seconds, 2),
    limitPerSecond: limit === undefined ? undefined : round(limit, 2),
  };
}
