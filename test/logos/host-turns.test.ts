import { describe, expect, it } from 'vitest';
import type { Fetched } from '../../src/logos/fetch-picture.ts';
import { createHostTurns, type HostTurns } from '../../src/logos/host-turns.ts';
import { PNG } from './svgs.ts';

const PICTURE: Fetched = { kind: 'png', bytes: PNG };

/** Turns in a time that passes only while somebody sleeps. */
function useTurns(concurrency = 4): {
  readonly turns: HostTurns;
  readonly slept: number[];
  readonly stop: () => void;
} {
  const stopped = new AbortController();
  const slept: number[] = [];
  let nowMs = 0;
  const turns = createHostTurns({
    concurrency,
    perHost: concurrency / 2,
    signal: stopped.signal,
    now: () => nowMs,
    sleep: async (ms) => {
      slept.push(ms);
      nowMs += ms;
    },
  });
  return { turns, slept, stop: () => stopped.abort() };
}

/** What so many fetches from one host come to, one after the other. */
async function takeAll(
  turns: HostTurns,
  host: string,
  fetched: readonly Fetched[],
): Promise<{ readonly reasons: string[]; readonly asked: number }> {
  const reasons: string[] = [];
  let asked = 0;
  for (const each of fetched) {
    const came = await turns.take(host, async () => {
      asked += 1;
      return each;
    });
    reasons.push('reason' in came ? came.reason : came.kind);
  }
  return { reasons, asked };
}

const times = (count: number, fetched: Fetched): Fetched[] =>
  Array.from({ length: count }, () => fetched);

describe('turns', () => {
  it('let few be fetched at a time, and half of them from one host', async () => {
    const { turns } = useTurns(4);
    const open = new Map<string, number>();
    let all = 0;
    const most = { all: 0, a: 0, b: 0, c: 0 };
    const take = (host: 'a' | 'b' | 'c') =>
      turns.take(host, async () => {
        open.set(host, (open.get(host) ?? 0) + 1);
        all += 1;
        most.all = Math.max(most.all, all);
        most[host] = Math.max(most[host], open.get(host) ?? 0);
        await new Promise((resolve) => setImmediate(resolve));
        open.set(host, (open.get(host) ?? 0) - 1);
        all -= 1;
        return PICTURE;
      });
    const hosts = ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c'] as const;
    await Promise.all(hosts.map(take));
    expect(most).toEqual({ all: 4, a: 2, b: 2, c: 2 });
  });

  it('leave a host alone that gave no answer five times in a row, and no other', async () => {
    const { turns } = useTurns();
    const troubles = [
      { reason: 'timeout' },
      { reason: 'connection_refused' },
      { reason: 'dns_failure' },
      { reason: 'http_503' },
    ];
    const first = await takeAll(turns, 'a', [
      ...troubles,
      PICTURE,
      ...troubles,
      { reason: 'http_404' },
    ]);
    expect(first.asked).toBe(10);
    expect(first.reasons.at(-1)).toBe('http_404');
    const { reasons, asked } = await takeAll(turns, 'a', [
      ...times(5, { reason: 'timeout' }),
      PICTURE,
    ]);
    expect({ last: reasons.slice(-2), asked }).toEqual({ last: ['timeout', 'host_out'], asked: 5 });
    expect(await takeAll(turns, 'b', [PICTURE])).toEqual({ reasons: ['png'], asked: 1 });
    expect(await takeAll(turns, 'a', [PICTURE])).toEqual({ reasons: ['host_out'], asked: 0 });
  });

  it('ask again after the rest that a host asks for, and give up after three times', async () => {
    const { turns, slept } = useTurns();
    let asked = 0;
    const answers: Fetched[] = [{ reason: 'http_429', retryAfterMs: 7_000 }, PICTURE];
    const got = await turns.take('a', async () => answers[asked++] ?? PICTURE);
    expect(got).toBe(PICTURE);
    expect(slept).toEqual([7_000]);
    expect(await takeAll(turns, 'b', [{ reason: 'http_429' }])).toEqual({
      reasons: ['http_429'],
      asked: 3,
    });
    expect(slept).toEqual([7_000, 2_000, 2_000]);
    expect(await takeAll(turns, 'c', [{ reason: 'http_404', retryAfterMs: 5 }])).toMatchObject({
      asked: 1,
    });
  });

  it('keep to the rest that a host asks for also where nobody waited for it meanwhile', async () => {
    const { turns, slept } = useTurns();
    const busy = { reason: 'http_503', retryAfterMs: 9_000 };
    expect(await takeAll(turns, 'a', [busy])).toMatchObject({ asked: 3 });
    expect(slept).toEqual([9_000, 9_000]);
    expect(await takeAll(turns, 'a', [PICTURE])).toMatchObject({ reasons: ['png'] });
    expect(slept).toEqual([9_000, 9_000, 9_000]);
  });

  it('leave a host to the next run that wants half a minute or more', async () => {
    const { turns, slept } = useTurns();
    const busy = { reason: 'http_503', retryAfterMs: 60_000 };
    expect(await takeAll(turns, 'a', [busy, PICTURE])).toEqual({
      reasons: ['http_503', 'host_out'],
      asked: 1,
    });
    expect(slept).toEqual([]);
  });

  it('fetch nothing more once the run is interrupted', async () => {
    const { turns, stop } = useTurns();
    stop();
    expect(await takeAll(turns, 'a', [PICTURE])).toEqual({ reasons: ['not_asked'], asked: 0 });
  });
});
