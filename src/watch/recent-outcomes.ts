import type { Outcome } from '../brand/outcome.ts';

/** A lookup that came to nothing, for whoever looks. */
export interface RecentFailure {
  readonly domain: string;
  readonly status: 'failed' | 'rejected';
  /** What the API said, or a word such as `timeout`. */
  readonly reason: string;
  readonly httpStatus: number | undefined;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** An answer, for whoever looks. */
export interface RecentAnswer {
  readonly domain: string;
  /** JSON as it came. */
  readonly json: string;
}

/** The last failures, and now and then an answer. */
export interface RecentOutcomes {
  note(outcome: Outcome): void;
  /** Has the next answer kept as a sample. */
  sample(): void;
  /** The latest first. The list itself never changes: there is another one when there is news. */
  readonly failures: readonly RecentFailure[];
  /** The latest first; likewise. */
  readonly answers: readonly RecentAnswer[];
}

const MOST_FAILURES = 20;
const MOST_ANSWERS = 5;
/** A longer answer is not held: what is shown of it is a line. */
const LONGEST_JSON = 20_000;

/** Looks at each outcome of a run as it passes; of the answers only at those that are sampled. */
export function createRecentOutcomes(): RecentOutcomes {
  let failures: readonly RecentFailure[] = [];
  let answers: readonly RecentAnswer[] = [];
  let isSampling = true;
  return {
    note: ({ domain, status, reason, httpStatus, fetchedAtMs, json }) => {
      if (status === 'found') {
        if (!isSampling || json.length > LONGEST_JSON) return;
        isSampling = false;
        answers = [{ domain, json }, ...answers].slice(0, MOST_ANSWERS);
      } else if (status !== 'not_found') {
        const failure = { domain, status, reason, httpStatus, atMs: fetchedAtMs };
        failures = [failure, ...failures].slice(0, MOST_FAILURES);
      }
    },
    sample: () => {
      isSampling = true;
    },
    get failures() {
      return failures;
    },
    get answers() {
      return answers;
    },
  };
}
