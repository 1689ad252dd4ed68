import { describe, expect, it } from 'vitest';
import { createOtherApis } from '../../src/queue/bullmq/chunks/other-apis.ts';

const API = 'http://127.0.0.1:1';

function create(servedApis: ReadonlySet<string>) {
  const time = { ms: 0 };
  const left: string[] = [];
  const otherApis = createOtherApis({
    isServed: async (api) => servedApis.has(api),
    onLeft: (api) => left.push(api),
    nowMs: () => time.ms,
  });
  return { otherApis, time, left };
}

describe('chunks for another API', () => {
  it('are left to the workers that ask it, which is said once', async () => {
    const { otherApis, time, left } = create(new Set([API]));
    for (const ms of [0, 10_000, 60_000]) {
      time.ms = ms;
      expect(await otherApis.mayRefuse('a', API)).toBe(false);
    }
    expect(left).toEqual([API]);
  });

  it('are refused when no worker asks it for some seconds', async () => {
    const { otherApis, time } = create(new Set());
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 4_999;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 5_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(true);
  });

  it('are left to one that was away for a moment', async () => {
    const served = new Set<string>();
    const { otherApis, time } = create(served);
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    served.add(API);
    time.ms = 3_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    served.delete(API);
    time.ms = 6_000;
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
  });

  it('are left again to one that is away for a moment, long after it was away before', async () => {
    const { otherApis, time } = create(new Set());
    expect(await otherApis.mayRefuse('a', API)).toBe(false);
    time.ms = 60_000;
    expect(await otherApis.mayRefuse('b', API)).toBe(false);
    time.ms = 65_000;
    expect(await otherApis.mayRefuse('c', API)).toBe(true);
  });

  it('are refused also by a worker that comes to look only once in a while', async () => {
    const { otherApis, time } = create(new Set());
    const seen: boolean[] = [];
    for (const chunk of ['a', 'b', 'a', 'b']) {
      seen.push(await otherApis.mayRefuse(chunk, API));
      time.ms += 60_000;
    }
    expect(seen).toEqual([false, false, true, true]);
  });
});
