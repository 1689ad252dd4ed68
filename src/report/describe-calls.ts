import type { Summary } from '../watch/summary.ts';
import type { Recording } from './run-recorder.ts';
import type { RunReport } from './run-report.ts';
import { round, roundOrNull, shortenTo } from './text.ts';
import type { Latencies, Span, Timeline } from './timeline.ts';

export interface CallsOfRun {
  readonly recording: Recording;
  /** Missing when the run ended with an error. */
  readonly summary?: Summary | undefined;
}

const DOMAIN_LENGTH = 500;

/** Describes the calls of a run for its report: their number, their answers, their latency. */
export function describeCalls({
  recording,
  summary,
}: CallsOfRun): Pick<RunReport, 'calls' | 'latency' | 'timeline' | 'pace' | 'slowest'> {
  const { progress, answers, latencies, slowest, timeline } = recording;
  const { calls = 0, retries = 0, throttled = 0 } = summary ?? progress ?? {};
  const seconds = (progress?.elapsedMs ?? 0) / 1_000;
  const figures = latencies.describe();
  const pace = summary?.pace;
  return {
    calls: {
      total: calls,
      retries,
      throttled,
      perSecond: round(summary?.callsPerSecond ?? (seconds > 0 ? calls / seconds : 0), 2),
      measured: figures?.calls ?? 0,
      answers: [...answers]
        .sort(([, one], [, other]) => other - one)
        .map(([answer, count]) => ({ answer, calls: count })),
    },
    latency: describeLatency(latencies),
    timeline: describeTimeline(timeline),
    pace: pace
      ? {
          limitIs: pace.limitIs,
          limitPerSecond: roundOrNull(pace.limitPerSecond, 2),
          mostAtOnce: pace.mostAtOnce ?? null,
          throttledShare: round(pace.throttledShare, 6),
          waitedMs: {
            told: round(pace.waitedMs.told, 1),
            backingOff: round(pace.waitedMs.backingOff, 1),
            outage: round(pace.waitedMs.outage, 1),
            retryBudget: round(pace.waitedMs.retryBudget, 1),
          },
        }
      : null,
    slowest: slowest.entries.map(({ domain, latencyMs, answer }) => ({
      domain: shortenTo(domain, DOMAIN_LENGTH),
      latencyMs: round(latencyMs, 1),
      answer,
    })),
  };
}

function describeLatency(latencies: Latencies): RunReport['latency'] {
  const figures = latencies.describe();
  if (!figures) return null;
  const { meanMs, p50Ms, p90Ms, p95Ms, p99Ms, maxMs } = figures;
  return {
    meanMs: round(meanMs, 1),
    p50Ms: round(p50Ms, 1),
    p90Ms: round(p90Ms, 1),
    p95Ms: round(p95Ms, 1),
    p99Ms: round(p99Ms, 1),
    maxMs: round(maxMs, 1),
  };
}

function describeTimeline({ spanMs, spans, endMs }: Timeline): RunReport['timeline'] {
  return {
    spanMs,
    spans: spans.map((span, at) => {
      const atMs = at * spanMs;
      return describeSpan(span, atMs, Math.max(1, Math.min(spanMs, endMs - atMs)));
    }),
  };
}

function describeSpan(
  span: Span,
  atMs: number,
  lastsMs: number,
): RunReport['timeline']['spans'][number] {
  const perSecond = (amount: number): number => round((amount / lastsMs) * 1_000, 2);
  const figures = span.latencies?.describe();
  return {
    atMs,
    callsPerSecond: perSecond(span.calls),
    lookupsPerSecond: perSecond(span.lookups),
    throttledPerSecond: perSecond(span.throttled),
    retriesPerSecond: perSecond(span.retries),
    limitPerSecond: roundOrNull(span.limitPerSecond, 2),
    p50Ms: roundOrNull(figures?.p50Ms, 1),
    p95Ms: roundOrNull(figures?.p95Ms, 1),
    p99Ms: roundOrNull(figures?.p99Ms, 1),
    toldMs: round(span.toldMs, 0),
    backingOffMs: round(span.backingOffMs, 0),
    outageMs: round(span.outageMs, 0),
    pausedMs: round(span.pausedMs, 0),
  };
}
