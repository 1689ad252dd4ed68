import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from '../../src/common/files.ts';
import { measureCollector } from '../../src/metrics/create-instruments.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('tells what was written also when the folder is gone, but nothing of the room in it', async () => {
  const folder = join(useTempFolder(), 'out');
  makeFolder(folder);
  const metrics = createMetrics({ command: 'collect', version: '1.2.3' });
  const counts = { enriched: 3, failures: 2, repeated: 1 };
  measureCollector(metrics, { counts, folder });
  expect(await metrics.text()).toMatch(/^brandfill_collect_free_bytes \d+$/m);
  rmSync(folder, { recursive: true });
  const text = await metrics.text();
  expect(text).toContain('brandfill_collected_outcomes_total{file="enriched"} 3');
  expect(text).not.toMatch(/^brandfill_collect_free_bytes/m);
});
