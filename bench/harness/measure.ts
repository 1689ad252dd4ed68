/** The surroundings of a measure. */
export interface BenchContext {
  /** The built command. */
  readonly program: string;
  /** A folder of this run, removed at its end. */
  readonly folder: string;
  /** Whether to measure at the size of the goal, however long that takes. */
  readonly isFull: boolean;
  /** Reports progress. */
  readonly say: (text: string) => void;
}

/** One line of the result. */
export interface Finding {
  readonly what: string;
  readonly ours: string;
  readonly baseline: string;
  /** The figure to compare with the goal. */
  readonly figure: string;
  readonly target: string;
  /** Undefined when it could not be determined here. */
  readonly isMet: boolean | undefined;
}

/** Measures something and returns the results. */
export type Measure = (context: BenchContext) => Promise<readonly Finding[]>;
