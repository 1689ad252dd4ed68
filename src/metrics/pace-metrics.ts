import { Gauge } from 'prom-client';
import type { PaceDescription } from '../pace/pacer.ts';
import type { WorkerSight } from './instruments.ts';
import { runLabel } from './labels.ts';
import type { Metrics } from './metrics.ts';

const STATES: readonly PaceDescription['why'][] = [
  'open',
  'starting',
  'holding',
  'probing',
  'told_to_wait',
  'backing_off',
];

/**
 * Metrics of the pace. Returns a function that measures a worker until it is told that the worker
 * ended.
 */
export function createPaceMetrics(
  metrics: Metrics,
): (sight: WorkerSight, run: string | undefined) => () => void {
  const registers = [metrics.registry];
  const rate = new Gauge({
    name: 'brandfill_pace_rate_calls_per_second',
    help: 'Current rate at which calls may start, per second.',
    labelNames: ['run'],
    registers,
  });
  const limit = new Gauge({
    name: 'brandfill_pace_limit_calls_per_second',
    help: 'Rate limit of the API, if known: fixed by --rate, published by the API, or learned.',
    labelNames: ['run', 'source'],
    registers,
  });
  const concurrency = new Gauge({
    name: 'brandfill_pace_concurrency_limit',
    help: 'Maximum number of calls at the same time that the API allows, if it was found to limit them.',
    labelNames: ['run'],
    registers,
  });
  const gate = new Gauge({
    name: 'brandfill_pace_gate_closed_seconds',
    help: 'Time until calls may start again; 0 when the gate is open.',
    labelNames: ['run'],
    registers,
  });
  const state = new Gauge({
    name: 'brandfill_pace_state',
    help: '1 for the current state of the pace, 0 for all others.',
    labelNames: ['run', 'state'],
    registers,
  });
  const workers = new Map<WorkerSight, string | undefined>();

  function look(): void {
    for (const gauge of [rate, limit, concurrency, gate, state]) gauge.reset();
    for (const [sight, run] of workers) set(sight.pace(), runLabel(run));
  }

  function set(pace: PaceDescription, labels: Readonly<Record<string, string>>): void {
    rate.set(labels, pace.ratePerSecond);
    const { limitIs, learnedLimitPerSecond, concurrencyLimit } = pace;
    const perSecond = limitIs === 'fixed' ? pace.ratePerSecond : learnedLimitPerSecond;
    if (perSecond !== undefined) limit.set({ ...labels, source: limitIs }, perSecond);
    if (concurrencyLimit !== undefined) concurrency.set(labels, concurrencyLimit);
    gate.set(labels, pace.waitMs / 1_000);
    for (const why of STATES) state.set({ ...labels, state: why }, why === pace.why ? 1 : 0);
  }

  metrics.onScrape(look);
  return (sight, run) => {
    workers.set(sight, run);
    return () => void workers.delete(sight);
  };
}
