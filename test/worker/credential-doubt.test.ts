import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createCredentialDoubt } from '../../src/worker/credential-doubt.ts';

/** A doubt, and what became of the answers it held back. */
function createWatched(): {
  doubt: ReturnType<typeof createCredentialDoubt>;
  onDenied: ReturnType<typeof vi.fn<() => void>>;
  results: (boolean | undefined)[];
  hold(count: number): Promise<void>;
} {
  const onDenied = vi.fn<() => void>();
  const doubt = createCredentialDoubt(onDenied);
  const results: (boolean | undefined)[] = [];
  return {
    doubt,
    onDenied,
    results,
    hold: async (count) => {
      for (let held = 0; held < count; held += 1) {
        const at = results.push(undefined) - 1;
        void doubt.forbidden().then((isAboutDomain) => {
          results[at] = isAboutDomain;
        });
      }
      await nextTurn();
    },
  };
}

describe('doubt about the credential', () => {
  it('holds up to four refusals back', async () => {
    const { hold, results, onDenied } = createWatched();
    await hold(4);
    expect(results).toEqual([undefined, undefined, undefined, undefined]);
    expect(onDenied).not.toHaveBeenCalled();
  });

  it('is certainty with the fifth in a row: none is about its domain', async () => {
    const { hold, results, onDenied } = createWatched();
    await hold(5);
    expect(results).toEqual([false, false, false, false, false]);
    expect(onDenied).toHaveBeenCalledTimes(1);
  });

  it('says once that the credential is denied, and means all that follow', async () => {
    const { hold, results, onDenied } = createWatched();
    await hold(12);
    expect(results).toEqual(Array.from({ length: 12 }, () => false));
    expect(onDenied).toHaveBeenCalledTimes(1);
  });

  it.each(['success', 'idle'] as const)(
    'ends with %s: all held are about their domains',
    async (end) => {
      const { doubt, hold, results, onDenied } = createWatched();
      await hold(4);
      doubt[end]();
      await nextTurn();
      expect(results).toEqual([true, true, true, true]);
      await hold(4);
      expect(results.slice(4)).toEqual([undefined, undefined, undefined, undefined]);
      expect(onDenied).not.toHaveBeenCalled();
    },
  );

  it('has nothing to say to a success without a refusal', () => {
    const { doubt, onDenied } = createWatched();
    doubt.success();
    doubt.idle();
    expect(onDenied).not.toHaveBeenCalled();
  });
});
