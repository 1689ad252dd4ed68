import type { RowStatus } from '../collector/join.ts';
import type { Stop } from '../worker/stop-switch.ts';

/** What a run did. */
export interface Summary {
  /** Rows in the input; the sum of `statuses`. */
  readonly rows: number;
  /** Rows by how they ended. */
  readonly statuses: Readonly<StatusCounts>;
  /** Different domains in the input. */
  readonly uniqueDomains: number;
  /** Domains that needed no call, because the store had a fresh outcome. */
  readonly freshDomains: number;
  /** Domains that were looked up. */
  readonly lookups: number;
  /** HTTP requests made, those answered 429 included. */
  readonly calls: number;
  /** Times a lookup was tried again after a failure. */
  readonly retries: number;
  /** Calls that were answered 429. */
  readonly throttled: number;
  /** From start to finish, in milliseconds. */
  readonly elapsedMs: number;
  /** While lookups were being made, in milliseconds. */
  readonly lookupMs: number;
  /** Calls per second while lookups were being made; 0 when there were none. */
  readonly callsPerSecond: number;
  /** Why the run stopped before all was asked; undefined when it did not. */
  readonly stopped: Stop | undefined;
  /** Where the rows are; undefined when they went to the caller. */
  readonly out: string | undefined;
  /** Where the rows are that were not enriched. */
  readonly failures: string | undefined;
}

/** Rows by how they ended. */
export type StatusCounts = Record<RowStatus, number>;

/** No row counted yet. */
export function createStatusCounts(): StatusCounts {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, invalid: 0, skipped: 0 };
}

/** Rows over all statuses. */
export function sumOf(statuses: Readonly<StatusCounts>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}
