/** What measures work with. */
export interface BenchContext {
  /** The built command. */
  readonly program: string;
  /** A folder of this run, removed at its end. */
  readonly folder: string;
  /** Measures at the size of the goal, however long that takes. */
  readonly isFull: boolean;
  /** Says what is going on. */
  readonly say: (text: string) => void;
}

/** One line of the result. */
export interface Finding {
  readonly what: string;
  readonly ours: string;
  readonly baseline: string;
  /** The figure that has a goal. */
  readonly figure: string;
  readonly target: string;
  /** Undefined when it could not be told here. */
  readonly isMet: boolean | undefined;
}

/** Measures something and says how it is. */
export type Measure = (context: BenchContext) => Promise<readonly Finding[]>;
