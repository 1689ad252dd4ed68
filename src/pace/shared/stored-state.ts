/**
 * Where workers that use the same credential keep what they know of its limit. Each reads it, takes
 * its step, and writes it back, if nobody else has done so meanwhile.
 */
export interface StoredState {
  /** @throws when it cannot be reached; then nothing is known, and no call may start */
  read(): Promise<Reading>;
  /** @returns what is there instead, when somebody else was faster; undefined when it was written */
  write(step: { readonly version: number; readonly state: string }): Promise<Reading | undefined>;
}

export interface Reading {
  /** The clock of whoever keeps it, in milliseconds. */
  readonly nowMs: number;
  readonly version: number;
  /** JSON; undefined before the first step. */
  readonly state: string | undefined;
}
