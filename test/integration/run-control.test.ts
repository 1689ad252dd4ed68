import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createRunControl, type EnrichOptions, enrich, type RunControl } from '../../src/index.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { openApi, untilSilent } from './support/api.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

interface Steered {
  readonly control: RunControl;
  readonly events: readonly RunEvent[];
  readonly ended: ReturnType<typeof enrich>;
}

function startRun(folder: Folder, api: Sandbox, options: Partial<EnrichOptions>): Steered {
  const events: RunEvent[] = [];
  const control = createRunControl();
  const ended = enrich({
    input: folder.at('list.csv'),
    store: folder.at(options.store ?? '.brandfill'),
    out: folder.at('out.csv'),
    failures: folder.at('failures.csv'),
    baseUrl: api.url,
    control,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  ended.catch(() => {});
  return { control, events, ended };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(20);
}

describe('a run', () => {
  it.each([
    ['by its control', undefined],
    ['by its signal', new Error('enough')],
  ])(
    'that is stopped %s while it waits for its first call leaves the outputs',
    async (_, reason) => {
      const [api, folder] = [await openApi(), openFolder()];
      folder.write('list.csv', listOf(domains(20)));
      folder.write('out.csv', 'as it was');
      const stop = new AbortController();
      const run = startRun(folder, api, { signal: stop.signal });
      run.control.pause();
      await until(() => run.events.some(({ type }) => type === 'progress'));
      if (reason) stop.abort(reason);
      else run.control.stop();
      const expected: unknown = reason ?? expect.objectContaining({ name: 'AbortError' });
      await expect(run.ended).rejects.toEqual(expected);
      expect(api.stats().calls).toBe(0);
      expect(folder.read('out.csv')).toBe('as it was');
      expect(folder.names()).not.toContain('failures.csv');
    },
  );
});

describe('a run over a queue', () => {
  it('that is paused makes no call anywhere, while another one goes on', async () => {
    const { api, redis, folder, worker } = await openStage(300, { latencyMs: 20 });
    const other = openFolder();
    other.write('list.csv', listOf(domains(60).map((domain) => `other-${domain}`)));
    await worker('--concurrency', '4');
    const over = { queue: redis.url, workers: 0 } as const;
    const run = startRun(folder, api, over);
    await until(() => api.stats().calls > 20);
    run.control.pause();
    const calls = await untilSilent(api);
    expect(calls).toBeLessThan(300);
    await startRun(other, api, over).ended;
    expect(api.stats().calls).toBe(calls + 60);
    run.control.resume();
    expect((await run.ended).statuses.found).toBe(300);
    expect(api.stats().domains.mostCalls).toBe(1);
    expect(column(rowsOf(folder.read('out.csv')), 'brand_status')).toHaveLength(300);
  });

  it('that is stopped has no worker start a call, and takes all back', async () => {
    const { api, redis, folder, worker } = await openStage(300, { latencyMs: 20 });
    await worker('--concurrency', '4', '--rate', '20/s');
    const run = startRun(folder, api, { queue: redis.url, workers: 0 });
    await until(() => api.stats().calls > 5);
    run.control.stop();
    const { stopped, statuses, calls } = await run.ended;
    expect(stopped?.reason).toBe('interrupted');
    expect(statuses.found + statuses.skipped).toBe(300);
    expect(await untilSilent(api)).toBe(calls);
    expect(statuses.skipped).toBeGreaterThan(0); // of 300 at 20/s
    expect(await redis.client.keys('*:run:*')).toEqual([]);
    expect(await redis.client.keys('*:paused:*')).toEqual([]);
  });
});
