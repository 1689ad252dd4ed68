import type { Outcome } from '../brand/outcome.ts';

/** A lookup that failed or was rejected, for people who watch. */
export interface RecentFailure {
  readonly domain: string;
  readonly status: 'failed' | 'rejected';
  /** The API's words, or a word such as `timeout`. */
  readonly reason: string;
  readonly httpStatus: number | undefined;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** An answer, for people who watch. */
export interface RecentAnswer {
  readonly domain: string;
  /** JSON as it came. */
  readonly json: string;
}

/** The last failures, and a sample of the answers. */
export interface RecentOutcomes {
  note(outcome: Outcome): void;
  /** Keeps the next answer as a sample. */
  sample(): void;
  /** The latest first. A list is never changed: news makes a new list. */
  readonly failures: readonly RecentFailure[];
  /** The latest first. A list is never changed: news makes a new list. */
  readonly answers: readonly RecentAnswer[];
}

const MOST_FAILURES = 20;
const MOST_ANSWERS = 5;
/** A longer answer is not kept, because only a line of it is shown. */
const LONGEST_JSON = 20_000;

/** Looks at each outcome of a run as it passes; keeps only those answers that are sampled. */
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
      } else if (status === 'failed' || status === 'rejected') {
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
