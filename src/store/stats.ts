// Types of the library: they must not reach the database, whose own types do not compile everywhere.

import type { OutcomeStatus } from '../brand/outcome.ts';

/** The contents of a store, in numbers. */
export interface StoreStats {
  readonly folder: string;
  /** The version of its layout. */
  readonly version: number;
  /** How much disk space it takes, in bytes. */
  readonly sizeBytes: number;
  /** Domains with an outcome, by the status of the latest. */
  readonly statuses: Readonly<Record<OutcomeStatus, number>>;
  readonly apis: readonly ApiStats[];
  /** Outcomes by age, the youngest first. */
  readonly ages: readonly AgeStats[];
  /** When the oldest and the newest outcome were fetched, in milliseconds since 1970. */
  readonly oldestAtMs: number | undefined;
  readonly newestAtMs: number | undefined;
  /** Domains whose logo was saved. */
  readonly logos: number;
}

export interface ApiStats {
  /** The API's id, as in exported outcomes. */
  readonly api: string;
  /** Its base URL and the names of its parameters; undefined when no run has noted them. */
  readonly name: string | undefined;
  readonly statuses: Readonly<Record<OutcomeStatus, number>>;
}

export interface AgeStats {
  /** Younger than this many days, and not counted before; undefined for all older ones. */
  readonly underDays: number | undefined;
  readonly outcomes: number;
}

/** The counts of what was removed, or would be in a dry run. */
export interface Pruned {
  readonly answers: number;
  readonly failures: number;
  /** Notes of logos of domains that no longer have an answer. Their files stay. */
  readonly logos: number;
}

/** The counts of what was deleted, or would be in a dry run. */
export interface Deleted extends Pruned {
  /** The domains that the store had nothing of. */
  readonly unknown: readonly string[];
}
