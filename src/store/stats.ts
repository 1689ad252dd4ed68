import type { OutcomeStatus } from '../brand/outcome.ts';

/** What is in a store. */
export interface StoreStats {
  readonly folder: string;
  /** Of the way in which it is written. */
  readonly version: number;
  /** How much room it takes on the disk, in bytes. */
  readonly sizeBytes: number;
  /** Domains with an outcome, by what the latest came to. */
  readonly statuses: Readonly<Record<OutcomeStatus, number>>;
  readonly apis: readonly ApiStats[];
  /** How old the outcomes are, the youngest first. */
  readonly ages: readonly AgeStats[];
  /** When the oldest and the newest outcome were fetched, in milliseconds since 1970. */
  readonly oldestAtMs: number | undefined;
  readonly newestAtMs: number | undefined;
  /** Domains that runs did not come to. */
  readonly leftOver: number;
  /** Domains whose logo was saved. */
  readonly logos: number;
}

export interface ApiStats {
  /** As it stands in exported outcomes. */
  readonly api: string;
  /** Its base URL and the names of its parameters; undefined when no run has told. */
  readonly name: string | undefined;
  readonly statuses: Readonly<Record<OutcomeStatus, number>>;
}

export interface AgeStats {
  /** Younger than so many days, and not counted before; undefined for all that are older. */
  readonly underDays: number | undefined;
  readonly outcomes: number;
}

/** What was removed, or would be. */
export interface Pruned {
  readonly answers: number;
  readonly failures: number;
  /** Notes of domains that no run has come to since. */
  readonly leftOver: number;
  /** Notes of logos of domains that have no answer any more. Their files stay. */
  readonly logos: number;
}
