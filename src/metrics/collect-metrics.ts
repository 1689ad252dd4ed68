import { Counter, Gauge } from 'prom-client';
import { freeBytes } from '../common/free-bytes.ts';
import type { Metrics } from './metrics.ts';

/** The part of a collector that metrics read. */
export interface CollectSight {
  readonly counts: {
    readonly enriched: number;
    readonly failures: number;
    readonly repeated: number;
  };
  /** The folder of its files. */
  readonly folder: string;
}

/** Metrics of a collector of backfills. */
export function measureCollector(metrics: Metrics, { counts, folder }: CollectSight): void {
  const registers = [metrics.registry];
  const lines = new Counter({
    name: 'brandfill_collected_outcomes_total',
    help: 'Outcomes written, by the kind of file.',
    labelNames: ['file'],
    registers,
  });
  const repeated = new Counter({
    name: 'brandfill_collected_repeats_total',
    help: 'Replies that arrived again after they had been written to the files.',
    registers,
  });
  const free = new Gauge({
    name: 'brandfill_collect_free_bytes',
    help: 'Free space on the disk that holds the files.',
    registers,
  });
  metrics.onScrape(() => {
    lines.reset();
    lines.inc({ file: 'enriched' }, counts.enriched);
    lines.inc({ file: 'failures' }, counts.failures);
    repeated.reset();
    repeated.inc(counts.repeated);
    try {
      free.set(freeBytes(folder));
    } catch {
      free.remove(); // its disk may be gone: the other metrics are still reported
    }
  });
}
