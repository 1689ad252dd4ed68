import type { RunEvent } from '../watch/events.ts';

/** Reports how many rows are written. */
export interface RowTeller {
  add(rows: number): void;
  /** Must be called after the last row. */
  end(): void;
}

export interface RowTellerOptions {
  readonly total: number;
  readonly onEvent: (event: RunEvent) => void;
  /** The time in milliseconds. @default since the process started */
  readonly now?: () => number;
}

/** Nothing is reported when writing takes less time than this. */
const FIRST_MS = 1_000;
const EVERY_MS = 250;

/** Reports a few times a second, once writing takes more than a moment. */
export function createRowTeller({
  total,
  onEvent,
  now = () => performance.now(),
}: RowTellerOptions): RowTeller {
  const startMs = now();
  let nextAtMs = startMs + FIRST_MS;
  let written = 0;
  let isTold = false;

  function tell(): void {
    isTold = true;
    onEvent({ type: 'rows', written, total, elapsedMs: now() - startMs });
  }

  return {
    add: (rows) => {
      written += rows;
      const nowMs = now();
      if (nowMs < nextAtMs) return;
      nextAtMs = nowMs + EVERY_MS;
      tell();
    },
    end: () => {
      if (isTold) tell();
    },
  };
}
