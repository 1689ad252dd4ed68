import { Gauge } from 'prom-client';
import type { RunEvent } from '../watch/events.ts';
import type { WindowSight } from './instruments.ts';
import type { Metrics } from './metrics.ts';

/** Measures one run. */
export interface RunMeter {
  readonly onEvent: (event: RunEvent) => void;
  readonly window: (sight: WindowSight) => void;
  readonly end: () => void;
}

/** Metrics of runs. They exist while the run of that name goes on. */
export function createRunMetrics(metrics: Metrics): (run: string) => RunMeter {
  const registers = [metrics.registry];
  const labelNames = ['run'];
  const startedAt = new Gauge({
    name: 'brandfill_run_start_time_seconds',
    help: 'Start time of the run, in seconds since 1970.',
    labelNames,
    registers,
  });
  const rows = new Gauge({
    name: 'brandfill_run_rows',
    help: 'Rows in the list.',
    labelNames,
    registers,
  });
  const fresh = new Gauge({
    name: 'brandfill_run_fresh_domains',
    help: 'Domains in the list that need no lookup because the store has a fresh outcome.',
    labelNames,
    registers,
  });
  const lookups = new Gauge({
    name: 'brandfill_run_lookups',
    help: 'Lookups needed for the run, made by this process or others.',
    labelNames,
    registers,
  });
  const done = new Gauge({
    name: 'brandfill_run_lookups_done',
    help: 'Finished lookups of the run, by outcome.',
    labelNames: ['run', 'outcome'],
    registers,
  });
  const outstanding = new Gauge({
    name: 'brandfill_run_outstanding_lookups',
    help: 'Lookups of the run that have been handed out and have no outcome yet.',
    labelNames,
    registers,
  });
  const window = new Gauge({
    name: 'brandfill_run_window_lookups',
    help: 'Maximum number of outstanding lookups of the run at the same time.',
    labelNames,
    registers,
  });
  const all = [startedAt, rows, fresh, lookups, outstanding, window];

  return (run) => {
    const labels = { run };
    let sight: WindowSight | undefined;
    const endLook = metrics.onScrape(() => {
      if (!sight) return;
      outstanding.set(labels, sight.outstanding());
      window.set(labels, sight.most);
    });
    startedAt.set(labels, Date.now() / 1_000);
    return {
      onEvent: (event) => {
        if (event.type === 'planned') {
          rows.set(labels, event.plan.rows);
          fresh.set(labels, event.plan.freshDomains);
          lookups.set(labels, event.plan.lookups);
        }
        if (event.type !== 'progress') return;
        for (const [outcome, count] of Object.entries(event.outcomes)) {
          done.set({ run, outcome }, count);
        }
      },
      window: (given) => {
        sight = given;
      },
      end: () => {
        endLook();
        for (const gauge of all) gauge.remove(labels);
        for (const outcome of ['found', 'not_found', 'rejected', 'failed', 'pending']) {
          done.remove({ run, outcome });
        }
      },
    };
  };
}
