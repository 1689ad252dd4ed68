import { z } from 'zod';
import type { RunState } from './board.ts';

/** The fields that the page cannot do without. A later version may send more. */
const RUN_STATE = z.looseObject({
  list: z.string(),
  phase: z.enum(['reading', 'looking_up', 'saving_logos', 'stopping', 'writing', 'ended', 'lost']),
  isPaused: z.boolean(),
  isRetryWanted: z.boolean(),
  actions: z.array(z.enum(['pause', 'resume', 'stop', 'retry'])),
  host: z.string(),
  pid: z.number(),
  startedAtMs: z.number(),
  endedAtMs: z.number().optional(),
  plan: z.looseObject({ rows: z.number(), freshDomains: z.number() }).optional(),
  progress: z
    .looseObject({
      lookups: z.number(),
      done: z.number(),
      found: z.number(),
      notFound: z.number(),
      rejected: z.number(),
      failed: z.number(),
      pending: z.number().optional(),
      calls: z.number(),
      retries: z.number(),
      throttled: z.number(),
      elapsedMs: z.number(),
      ratePerSecond: z.number(),
      underWay: z.number(),
    })
    .optional(),
  logos: z
    .looseObject({ total: z.number(), saved: z.number(), kept: z.number(), missing: z.number() })
    .optional(),
  failures: z.array(z.looseObject({ domain: z.string(), reason: z.string() })),
  answers: z.array(z.looseObject({ domain: z.string(), text: z.string() })),
  notices: z.array(z.string()),
  end: z.array(z.string()).optional(),
  ending: z.enum(['done', 'some_failed', 'nothing_found', 'stopped', 'error']).optional(),
  next: z.string().optional(),
  schedule: z.looseObject({ group: z.string(), job: z.string() }).optional(),
  history: z.array(z.array(z.unknown())),
});

/**
 * Reads the state that a run has announced, under the id that it is known by.
 *
 * @param json from a process that may be of another version
 * @returns nothing where it cannot be read
 */
export function readRunState(id: string, json: string): RunState | undefined {
  try {
    const state = JSON.parse(json) as RunState;
    return RUN_STATE.safeParse(state).success ? { ...state, id } : undefined;
  } catch {
    return undefined;
  }
}
