import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRunControl } from '../../src/common/run-control.ts';
import type { BoardSource } from '../../src/web/board.ts';
import { createLiveRun } from '../../src/web/live-run.ts';
import { readRunState, withPatience } from '../../src/web/show-queue.ts';
import { createGate } from '../support/gate.ts';
import { board, runState } from './boards.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A source that answers nothing until it is let. */
function openSource() {
  const gate = createGate();
  const read = vi.fn(async () => {
    await gate.opened;
    return board();
  });
  const steerBackfills = async (): Promise<undefined> => {
    await gate.opened;
    return undefined;
  };
  const source: BoardSource = {
    read,
    steerBackfills,
    ask: async () => 'no such run',
    runNow: async () => undefined,
  };
  return { gate, read, source: withPatience(source, { name: 'here:1' }) };
}

describe('a source with patience', () => {
  it('says that Redis does not answer, and asks for nothing more until it has', async () => {
    const { source, read, gate } = openSource();
    for (let times = 0; times < 2; times += 1) {
      const reading = expect(source.read()).rejects.toThrow('Redis at here:1 does not answer: ');
      await vi.advanceTimersByTimeAsync(3_000);
      await reading;
    }
    expect(read).toHaveBeenCalledOnce();
    gate.open();
    await vi.advanceTimersByTimeAsync(0);
    expect(await source.read()).toEqual(board());
  });

  it('refuses what could not be asked, and passes on what was said', async () => {
    const { source } = openSource();
    const asking = source.steerBackfills('pause');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await asking).toMatch(/^Redis at here:1 does not answer\. What was asked may still/);
    expect(await source.ask('a', 'pause')).toBe('no such run');
    expect(await source.runNow('a', 'b')).toBeUndefined();
  });

  it('passes on what Redis refuses', async () => {
    const refused = async (): Promise<never> => {
      throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
    };
    const broken = { read: refused, ask: refused, runNow: refused, steerBackfills: refused };
    const source = withPatience(broken, { name: 'here:1' });
    const why = 'Redis at here:1: it is out of memory; raise maxmemory';
    expect(await source.ask('a', 'pause')).toBe(`${why}.`);
    await expect(source.read()).rejects.toThrow(`${why}; what is shown here is as it was before.`);
  });
});

describe('the state of a run, as it was told', () => {
  it('is what a run tells at its start, under the id that it is known by', () => {
    const about = { id: 'told', host: 'here', pid: 1, startedAtMs: 0, schedule: undefined };
    const run = createLiveRun({ ...about, control: createRunControl() });
    const told = JSON.stringify(run.read());
    expect(readRunState('known', told)).toEqual({ ...JSON.parse(told), id: 'known' });
  });

  it.each([
    ['no JSON', '{"list": "li'],
    ['nothing', 'null'],
    ['of a phase that is not known', JSON.stringify({ ...runState(), phase: 'dreaming' })],
    [
      'without a number that is shown',
      JSON.stringify({ ...runState(), progress: { lookups: 9, done: 1 } }),
    ],
    ['without its failures', JSON.stringify({ ...runState(), failures: undefined })],
  ])('is not read where it is %s', (_, json) => {
    expect(readRunState('a', json)).toBeUndefined();
  });
});
