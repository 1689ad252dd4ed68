import type { RunEvent } from '../watch/events.ts';

/** Tells how many rows are written. */
export interface RowTeller {
  add(rows: number): void;
  /** To be called behind the last row. */
  end(): void;
}

export interface RowTellerOptions {
  readonly total: number;
  readonly onEvent: (event: RunEvent) => void;
  /** In milliseconds. @default since the process started */
  readonly now?: () => number;
}

/** What is over sooner is not worth a word. */
const FIRST_MS = 1_000;
const EVERY_MS = 250;

/** Tells a few times a second, once it takes longer than a moment. */
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
