/**
 * Where workers that use the same credential keep what they know of its limit. Each reads it, takes
 * its step, and writes it back, if nobody else has done so meanwhile.
 */
export interface SharedState {
  /** @throws when it cannot be reached; then nothing is known, and no call may start */
  read(): Promise<SharedReading>;
  /** @returns what is there instead, when somebody else was faster; undefined when it was written */
  write(step: SharedStep): Promise<SharedReading | undefined>;
}

export interface SharedReading {
  /** The clock of whoever keeps it, in milliseconds. */
  readonly nowMs: number;
  readonly version: number;
  /** JSON; undefined before the first step. */
  readonly state: string | undefined;
  /** Calls in flight, and start times taken, of all other workers. */
  readonly others: number;
}

export interface SharedStep {
  /** What was read. */
  readonly version: number;
  readonly state: string;
  /** Calls in flight, and start times taken, of this worker. */
  readonly inFlight: number;
}
