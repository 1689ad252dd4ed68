/**
 * Where workers with the same credential store what they know of its limit. Each worker reads the
 * state, takes its step, and writes it back if no other worker has done so meanwhile.
 */
export interface StoredState {
  /** @throws when it cannot be reached. Nothing is then known, and no call may start. */
  read(): Promise<Reading>;
  /** @returns the state that another worker wrote first; undefined when this step was written */
  write(step: { readonly version: number; readonly state: string }): Promise<Reading | undefined>;
}

export interface Reading {
  /** The clock of the server that stores it, in milliseconds. */
  readonly nowMs: number;
  readonly version: number;
  /** JSON; undefined before the first step. */
  readonly state: string | undefined;
}
