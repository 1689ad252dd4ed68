import { describe, expect, it } from 'vitest';
import { createWindowFinder } from '../../../src/brand/limit-headers/window-finder.ts';

const SERVER_MS = Date.UTC(2026, 10, 20, 20);

/** What a server says to a call; times are its own, in ms. */
interface Said {
  readonly atMs: number;
  readonly remaining: number;
  /** When calls are available again. */
  readonly resetAtMs: number;
}

type Form = 'since 1970' | 'from now';

/** What is found out in the end, from what a server says that tells whole seconds. */
function found(
  limit: number,
  said: readonly Said[],
  { form, round = Math.ceil }: { form: Form; round?: (seconds: number) => number },
): number | undefined {
  const { note } = createWindowFinder();
  let windowMs: number | undefined;
  for (const { atMs, remaining, resetAtMs } of said) {
    const fromMs = form === 'from now' ? -atMs : SERVER_MS;
    windowMs = note('x-ratelimit', {
      limit,
      remaining,
      reset: round((fromMs + resetAtMs) / 1_000),
      date: new Date(SERVER_MS + atMs).toUTCString(),
    });
  }
  return windowMs;
}

/** Ten windows, one after the other, of which all calls are used. */
function windows(limit: number, perMs: number, begunMs: number): readonly Said[] {
  return Array.from({ length: 10 * limit }, (_, call) => {
    const resetAtMs = begunMs + (Math.floor(call / limit) + 1) * perMs;
    const remaining = limit - 1 - (call % limit);
    return { atMs: resetAtMs - perMs * ((remaining + 0.9) / limit), remaining, resetAtMs };
  });
}

/** A window that slides: used up at once, then a little less often than would be allowed. */
function sliding(limit: number, perMs: number): readonly Said[] {
  return Array.from({ length: 12 * limit }, (_, call) => {
    const atMs = call < limit ? call : (1.1 * perMs * call) / limit;
    return {
      atMs,
      remaining: Math.max(call < limit ? 0 : 1, limit - 1 - call),
      resetAtMs: atMs + perMs,
    };
  });
}

/** A bucket that says when there is the next call in it: used up, then filling slowly. */
function bucket(limit: number, perMs: number): readonly Said[] {
  return Array.from({ length: 5 * limit }, (_, call) => {
    const atMs = call < limit ? call : (1.1 * perMs * call) / limit;
    const remaining = call < limit ? limit - 1 - call : call % 2;
    return { atMs, remaining, resetAtMs: remaining > 0 ? atMs : atMs + perMs / limit };
  });
}

const FORMS: readonly Form[] = ['since 1970', 'from now'];

describe.each(FORMS)('the window of a limit whose reset is told in seconds %s', (form) => {
  it.each<[string, number, readonly Said[], number]>([
    ['that begins with a second', 5, windows(5, 1_000, 0), 1_000],
    ['of two calls', 2, windows(2, 1_000, 0), 1_000],
    ['that begins with a call', 5, windows(5, 1_000, 300), 1_000],
    ['of two seconds', 10, windows(10, 2_000, 0), 2_000],
    ['of two seconds that begins with a call', 10, windows(10, 2_000, 300), 2_000],
    ['of a minute', 60, windows(60, 60_000, 0), 60_000],
    ['that slides', 5, sliding(5, 1_000), 1_000],
    ['of ten seconds that slides', 20, sliding(20, 10_000), 10_000],
  ])('is found out (%s)', (_, limit, said, windowMs) => {
    expect(found(limit, said, { form })).toBe(windowMs);
  });

  it.each<[string, number, readonly Said[]]>([
    ['of an hour', 100, windows(100, 3_600_000, 0)],
    ['seen twice', 5, windows(5, 1_000, 0).slice(0, 14)],
    ['never used up', 5, windows(5, 1_000, 0).filter(({ remaining }) => remaining > 0)],
    ['never used up, and sliding', 5, sliding(5, 1_000).filter(({ remaining }) => remaining > 0)],
    ['that is a bucket', 50, bucket(50, 50_000)],
  ])('stays unknown (%s)', (_, limit, said) => {
    expect(found(limit, said, { form })).toBeUndefined();
  });
});

describe('the window of a limit', () => {
  it('stays unknown where the seconds until its reset are rounded down', () => {
    const said = windows(10, 2_000, 0);
    expect(found(10, said, { form: 'from now', round: Math.floor })).toBeUndefined();
  });

  it('stays unknown where its reset is told to the millisecond', () => {
    for (const round of [(seconds: number) => seconds, (seconds: number) => seconds * 1_000]) {
      expect(found(5, windows(5, 1_000, 300), { form: 'since 1970', round })).toBeUndefined();
    }
  });

  it('is found out anew after the limit has changed', () => {
    const { note } = createWindowFinder();
    const tell = (limit: number, said: readonly Said[]) =>
      said
        .map(({ atMs, remaining, resetAtMs }) =>
          note('x-ratelimit', {
            limit,
            remaining,
            reset: (SERVER_MS + resetAtMs) / 1_000,
            date: new Date(SERVER_MS + atMs).toUTCString(),
          }),
        )
        .at(-1);
    expect(tell(5, windows(5, 1_000, 0))).toBe(1_000);
    expect(tell(10, windows(10, 2_000, 20_000).slice(0, 5))).toBeUndefined();
    expect(tell(10, windows(10, 2_000, 40_000))).toBe(2_000);
  });

  it('is not looked for where an answer tells no date, or too many counters', () => {
    const { note } = createWindowFinder();
    for (let round = 0; round < 5; round += 1) {
      for (const remaining of [1, 0]) {
        const reset = SERVER_MS / 1_000 + round + 1;
        const date = new Date(SERVER_MS + round * 1_000).toUTCString();
        expect(note('dateless', { limit: 2, remaining, reset, date: undefined })).toBeUndefined();
        for (let other = 0; other < 20; other += 1)
          note(`other-${other}`, { limit: 2, remaining, reset, date });
        expect(note('one too many', { limit: 2, remaining, reset, date })).toBeUndefined();
      }
    }
  });
});
