import type { CalendarWindow, CallsPer } from './calendar-window.ts';

/**
 * Counts the calls made with one credential by all runs and machines together. Calls are taken in
 * blocks before they are made, so that the limit cannot be exceeded. Calls that a killed process
 * had taken and not made stay counted.
 */
export interface CallLedger {
  /**
   * Takes some of the calls that are left in the present window.
   *
   * @param signal ends the wait for a ledger that cannot be reached
   */
  take(signal: AbortSignal): Promise<TakenCalls>;
  /** How many calls all runs have taken in the present window. */
  read(): Promise<CountedCalls>;
  /** Gives back calls that were not made. Does nothing once their window is over. */
  giveBack(calls: number, window: CalendarWindow): Promise<void>;
}

export interface TakenCalls {
  /** 0 when none are left. */
  readonly calls: number;
  readonly window: CalendarWindow;
  /** The time by the ledger's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** The calls that were taken in a window. */
export interface CountedCalls {
  readonly taken: number;
  readonly window: CalendarWindow;
}

const MOST_PER_BLOCK = 50;
const BLOCKS_PER_WINDOW = 50;

/**
 * How many calls are taken at a time. Few, because a killed process wastes them, but more than one
 * where the limit allows.
 */
export function blockSizeOf({ count }: CallsPer): number {
  return Math.min(MOST_PER_BLOCK, Math.ceil(count / BLOCKS_PER_WINDOW));
}
