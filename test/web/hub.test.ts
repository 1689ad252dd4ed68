import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Board } from '../../src/web/board.ts';
import { createHub, type Hub, type SendEvent } from '../../src/web/hub.ts';
import { createGate } from '../support/gate.ts';
import { board, runState } from './boards.ts';

interface Viewer {
  readonly events: readonly (readonly [string, unknown])[];
  readonly send: SendEvent;
  readonly leave: () => void;
  readonly signal: AbortSignal;
}

function createViewer(): Viewer {
  const events: [string, unknown][] = [];
  const leaving = new AbortController();
  return {
    events,
    send: async (event, data) => void events.push([event, JSON.parse(data)]),
    leave: () => leaving.abort(),
    signal: leaving.signal,
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(1);
}

describe('a hub', () => {
  it('sends the board first, then what changes, to all who look', async () => {
    let now = board();
    const hub = createHub({ source: { read: async () => now }, everyMs: 1 });
    const viewers = [createViewer(), createViewer()];
    const served = viewers.map(({ send, signal }) => hub.serve(send, signal));
    await until(() => viewers.every(({ events }) => events.length === 1));
    now = board({ runs: [runState({ isPaused: true })] });
    await until(() => viewers.every(({ events }) => events.length === 2));
    for (const { events } of viewers) {
      expect(events).toEqual([
        ['board', board()],
        ['change', { runs: [{ id: 'a', isPaused: true }] }],
      ]);
    }
    for (const { leave } of viewers) leave();
    await Promise.all(served);
    expect(hub.viewers).toBe(0);
  });

  it('asks nobody while nobody looks', async () => {
    let reads = 0;
    const read = async (): Promise<Board> => {
      reads += 1;
      return board();
    };
    const hub = createHub({ source: { read }, everyMs: 1 });
    await delay(20);
    expect(reads).toBe(0);
    const viewer = createViewer();
    const served = hub.serve(viewer.send, viewer.signal);
    await until(() => reads > 3);
    viewer.leave();
    await served;
    await delay(20);
    const before = reads;
    await delay(50);
    expect(reads).toBe(before);
  });

  it('sends the whole board to a viewer that has missed changes', async () => {
    let pid = 0;
    const read = async (): Promise<Board> => {
      pid += 1;
      return board({ runs: [runState({ pid })] });
    };
    const hub = createHub({ source: { read }, everyMs: 1 });
    const slow = createGate();
    const seen: string[] = [];
    const leaving = new AbortController();
    void hub.serve(async (event) => {
      seen.push(event);
      if (seen.length === 1) await slow.opened;
    }, leaving.signal);
    await until(() => pid > 10);
    expect(seen).toEqual(['board']);
    slow.open();
    await until(() => seen.length >= 2);
    expect(seen[1]).toBe('board');
    leaving.abort();
  });

  it('goes on when nothing can be read, and says why', async () => {
    let isBroken = false;
    const read = async (): Promise<Board> => {
      if (isBroken) throw new Error('Redis does not answer.');
      return board();
    };
    const hub = createHub({ source: { read }, everyMs: 1 });
    const { events, send, signal, leave } = createViewer();
    void hub.serve(send, signal);
    await until(() => events.length === 1);
    isBroken = true;
    await until(() => events.length === 2);
    isBroken = false;
    await until(() => events.length === 3);
    expect(events.slice(1)).toEqual([
      ['change', { trouble: 'Redis does not answer.' }],
      ['change', { trouble: null }],
    ]);
    leave();
  });

  it.each([
    ['leaves', async (_, { leave }) => leave()],
    ['is sent away by the end of the hub', async (hub) => await hub.close()],
  ] satisfies [string, (hub: Hub, viewer: Viewer) => Promise<void>][])(
    'keeps no viewer that %s before the first board is read',
    async (_, end) => {
      const slow = createGate();
      const read = async (): Promise<Board> => {
        await slow.opened;
        return board();
      };
      const hub = createHub({ source: { read }, everyMs: 1 });
      const viewer = createViewer();
      const served = hub.serve(viewer.send, viewer.signal);
      await end(hub, viewer);
      slow.open();
      await served;
      expect(hub.viewers).toBe(0);
      expect(viewer.events).toEqual([]);
    },
  );

  it('waits no longer for a viewer that takes nothing when the clock is set back', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const hub = createHub({ source: { read: async () => board() } });
    const served = hub.serve(() => new Promise(() => {}), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(0);
    const closed = hub.close();
    await vi.advanceTimersByTimeAsync(100);
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(hub.viewers).toBe(0);
    await Promise.all([closed, served]);
  });

  it('tells the last state when it is closed', async () => {
    let now = board();
    const hub = createHub({ source: { read: async () => now }, everyMs: 60_000 });
    const { events, send, signal } = createViewer();
    const served = hub.serve(send, signal);
    await until(() => events.length === 1);
    now = board({ runs: [runState({ phase: 'ended' })] });
    await hub.close();
    await served;
    expect(events.at(-1)).toEqual(['change', { runs: [{ id: 'a', phase: 'ended' }] }]);
  });
});
