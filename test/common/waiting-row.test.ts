import { describe, expect, it } from 'vitest';
import { createWaitingRow } from '../../src/common/waiting-row.ts';

describe('a row of callers that wait', () => {
  it('calls them in the order in which they came', async () => {
    const row = createWaitingRow();
    const { signal } = new AbortController();
    const called: string[] = [];
    const turns = ['a', 'b'].map((name) => row.join(signal).then(() => called.push(name)));
    expect(row.length).toBe(2);
    row.callNext();
    row.callNext();
    row.callNext();
    await Promise.all(turns);
    expect(called).toEqual(['a', 'b']);
    expect(row.length).toBe(0);
  });

  it('loses whoever is told to stop, with the reason, and nobody else', async () => {
    const row = createWaitingRow();
    const stopped = new AbortController();
    const [first, second] = [row.join(stopped.signal), row.join(new AbortController().signal)];
    const reason = new Error('stopped');
    stopped.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(row.length).toBe(1);
    row.callNext();
    await second;
  });

  it('turns away whoever was told to stop before, with the reason', async () => {
    const row = createWaitingRow();
    const reason = new Error('stopped before');
    await expect(row.join(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(row.length).toBe(0);
  });
});
