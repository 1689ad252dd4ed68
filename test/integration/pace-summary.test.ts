import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { type Ended, summaryOf } from './support/command.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';

async function enrich(
  rows: number,
  options: SandboxOptions,
  ...flags: readonly string[]
): Promise<Ended> {
  const api = await openApi(options);
  const folder = openList(rows);
  const args = ['enrich', 'list.csv', '--base-url', api.url, '--progress', 'none', '--json'];
  const ended = await runHere([...args, ...flags], { cwd: folder.path });
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

describe('the summary of the pace', () => {
  it('says for how long the API told to wait', async () => {
    const limit = { count: 40, perMs: 2_000 };
    const ended = await enrich(130, { limit, limitKind: 'fixed-window', latencyMs: 5 });
    const { pace, calls, throttled, lookupMs } = summaryOf(ended);
    expect(ended.stderr).toMatch(
      /^Pace: limit about .*% of the calls throttled; waited .* as told/m,
    );
    expect(pace?.throttledShare).toBeCloseTo(throttled / calls);
    expect(pace?.waitedMs.told).toBeGreaterThan(500);
    expect(pace?.waitedMs.told).toBeLessThan(lookupMs);
  });

  it('says for how long the API was out', async () => {
    let calls = 0;
    const respond = () => {
      calls += 1;
      return calls <= 20 ? { status: 503 } : undefined;
    };
    const ended = await enrich(60, { respond, latencyMs: 20 }, '--rate', '100/s');
    const { pace, lookupMs } = summaryOf(ended);
    expect(ended.stderr).toMatch(/^Pace: .*waited .* for an outage/m);
    // One call is tried after five seconds.
    expect(pace?.waitedMs.outage).toBeGreaterThan(4_000);
    expect(pace?.waitedMs.outage).toBeLessThan(lookupMs);
  });
});
