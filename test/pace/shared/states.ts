import type { Reading, StoredState } from '../../../src/pace/shared/state.ts';

export interface Surroundings {
  /** How long a write is on its way there. */
  readonly writeMs?: number;
  /** How long what was read is on its way back: so much the clock of the state seems to be behind. */
  readonly readMs?: () => number;
  /** How far the clock goes on from one look at it to the next, in milliseconds. */
  readonly lookMs?: number;
}

/** A state in the memory of this process, at the end of a network. */
export function openState({ writeMs = 1, readMs = () => 1 }: Surroundings = {}): StoredState {
  let kept: Omit<Reading, 'nowMs'> = { version: 0, state: undefined };
  const read = async (): Promise<Reading> => {
    const reading = { ...kept, nowMs: Date.now() };
    await passed(readMs());
    return reading;
  };
  return {
    read,
    write: async ({ version, state }) => {
      await passed(writeMs);
      if (version !== kept.version) return await read();
      kept = { version: version + 1, state };
      return undefined;
    },
  };
}

export function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
