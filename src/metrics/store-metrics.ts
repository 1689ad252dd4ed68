import { Gauge } from 'prom-client';
import { sizeOnDisk } from '../store/size.ts';
import type { Metrics } from './metrics.ts';

/**
 * Metrics of stores. Returns a function that measures the store of a run until its result is
 * called.
 */
export function createStoreMetrics(metrics: Metrics): (folder: string, run: string) => () => void {
  const size = new Gauge({
    name: 'brandfill_store_size_bytes',
    help: 'Size of the store of the run on disk.',
    labelNames: ['run'],
    registers: [metrics.registry],
  });
  return (folder, run) => {
    const labels = { run };
    const end = metrics.onScrape(() => size.set(labels, sizeOnDisk(folder)));
    return () => {
      end();
      size.remove(labels);
    };
  };
}
