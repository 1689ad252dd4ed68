import { inTime, NoAnswerError } from '../common/abort.ts';
import type { Routes } from './listener.ts';

/** Checks a condition. Returns a sentence that says why it fails, or nothing when all is well. */
export type HealthCheck = () => string | undefined | Promise<string | undefined>;

/** Whether a process can do its work. */
export interface Health {
  /** Adds a condition that must hold. */
  check(look: HealthCheck): void;
  /** Must be called when the process begins its work; until then it is not ready. */
  started(): void;
  /** The reasons why it is not ready; empty when it is. */
  reasons(): Promise<readonly string[]>;
}

/** A check that takes longer has failed, because the caller waits for an answer. */
const LONGEST_CHECK_MS = 2_000;

export function createHealth(): Health {
  let isStarted = false;
  const checks: HealthCheck[] = [() => (isStarted ? undefined : 'it is starting')];
  return {
    check: (look) => void checks.push(look),
    started: () => {
      isStarted = true;
    },
    reasons: async () => {
      const found = await Promise.all(checks.map(findFault));
      return found.filter((reason) => reason !== undefined);
    },
  };
}

async function findFault(look: HealthCheck): Promise<string | undefined> {
  try {
    return await inTime(LONGEST_CHECK_MS, Promise.resolve(look()));
  } catch (error) {
    if (error instanceof NoAnswerError) return 'a check had no answer in time';
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * `/livez` answers as long as the process does. `/readyz` answers 200 when the process can do its
 * work, else 503 with the reasons.
 */
export function healthRoutes(health: Health): Routes {
  return (app) => {
    app.get('/livez', (context) => context.json({ live: true }));
    app.get('/readyz', async (context) => {
      const reasons = await health.reasons();
      const ready = reasons.length === 0;
      return context.json({ ready, reasons }, ready ? 200 : 503);
    });
  };
}
