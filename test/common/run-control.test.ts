import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createRunControl } from '../../src/common/run-control.ts';

const never = new AbortController().signal;

describe('whileOpen', () => {
  it('waits while it is paused', async () => {
    const control = createRunControl();
    await control.whileOpen(never);
    control.pause();
    let isThrough = false;
    const through = control.whileOpen(never).then(() => {
      isThrough = true;
    });
    await Promise.resolve();
    expect(isThrough).toBe(false);
    control.resume();
    await through;
  });

  it('leaves no listener at the signal, whichever ends it', async () => {
    const control = createRunControl();
    const stop = new AbortController();
    control.pause();
    const resumed = control.whileOpen(stop.signal);
    control.resume();
    await resumed;
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    control.pause();
    const through = control.whileOpen(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(through).rejects.toThrow('stopped');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  it('gives up when its signal fires', async () => {
    const control = createRunControl();
    const stop = new AbortController();
    control.pause();
    const through = control.whileOpen(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(through).rejects.toThrow('stopped');
  });
});

describe('stop', () => {
  it('ends a pause, and nothing can be asked any more', () => {
    const control = createRunControl();
    control.pause();
    control.stop();
    control.pause();
    expect(control.stopped.aborted).toBe(true);
    expect(control.isPaused).toBe(false);
  });
});

describe('onChange', () => {
  it('tells of each change once, until it is ended', () => {
    const control = createRunControl();
    const seen: boolean[] = [];
    const end = control.onChange(() => seen.push(control.isPaused));
    control.pause();
    control.pause();
    control.resume();
    end();
    control.pause();
    expect(seen).toEqual([true, false]);
  });
});
