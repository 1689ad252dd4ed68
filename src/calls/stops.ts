/** What is said of a way to stop. */
interface Way {
  /** When it happens; the table in docs/answers.md is made of these. */
  readonly when: string;
  /** Why it stopped, and what to do, in a sentence. */
  readonly says: string;
  /** How a run that was stopped so goes on. @default as any run */
  readonly next?: string;
  /**
   * Whether it ends the whole run, which has its bounds as they are when it goes on.
   *
   * @default this API alone
   */
  readonly isOfRun?: boolean;
}

const ONCE_FIXED = 'What was found before is kept: once that is fixed, run the same command again.';

/**
 * All ways in which a run, a worker or a trial ends before all domains are asked. Rows that were
 * not asked have them as their reason.
 */
export const STOPS = {
  unauthorized: {
    when: '401: the credential is missing or wrong',
    says: "The API refused the credential (401): check option 'auth' and BRANDFILL_API_KEY.",
    next: ONCE_FIXED,
  },
  forbidden: {
    when: "403 for the first five calls, or for all during option 'maxWait'",
    says: "The API answered 403 to every call: check option 'auth' and BRANDFILL_API_KEY and what the credential is allowed.",
    next: ONCE_FIXED,
  },
  refused: {
    when: 'five different domains got the same refusal or answer, with no success between: it is about the caller',
    says: "The API gave five different domains the same refusal or answer, with no other between: it is about the calls, not the domains, and nothing of it is kept. Check option 'auth' and BRANDFILL_API_KEY, the plan of the account, option 'params' and option 'baseUrl'; option 'maxFailed' 100% takes the API at its word.",
    next: ONCE_FIXED,
  },
  quota: {
    when: "402, a wait that is longer than option 'maxWait', or nothing but 429 for as long",
    says: 'The quota of the API is used up.',
  },
  outage: {
    when: "the API has been out for longer than option 'maxOutage', or says that it will be for longer than option 'maxWait'; the reason of rows is why the last call failed, such as `http_503`",
    says: "The API has been out for longer than option 'maxOutage'.",
  },
  misdirected: {
    when: 'the first calls all gave the same sign of a wrong address',
    says: 'Nothing of the first calls is kept, and the outputs stay as they were.',
    next: 'Once that is fixed, run the same command again.',
  },
  max_failed: {
    when: "more lookups failed than option 'maxFailed' allows",
    says: "More lookups failed than option 'maxFailed' allows: look at the reasons.",
  },
  max_calls: {
    when: "all calls of option 'maxCalls' are made",
    says: "All calls of option 'maxCalls' are made.",
  },
  max_cost: {
    when: "the next answer could cost more than option 'maxCost' leaves",
    says: "The next answer could cost more than option 'maxCost' leaves.",
  },
  max_calls_per: {
    when: "all calls of option 'maxCallsPer' are made, by all runs together",
    says: "All calls of option 'maxCallsPer' are made, by this run and others together.",
  },
  unusable_store: {
    when: 'the store cannot be written; the outputs get what was found, so that nothing is paid twice',
    says: 'The answers that came since then go to the outputs alone.',
    next: 'What could not be stored is in the outputs alone: keep them, since another run asks about it again.',
    isOfRun: true,
  },
  interrupted: {
    when: 'the user asked for it',
    says: 'Interrupted: no further call is made, calls in flight get 10 s. Interrupt again to end at once.',
    isOfRun: true,
  },
  error: {
    when: 'an error that is reported separately',
    says: 'Stopped by an error.',
    isOfRun: true,
  },
} as const satisfies Readonly<Record<string, Way>>;

/** Why a run ends before all domains are asked. */
export type StopReason = keyof typeof STOPS;

/** What is said of a way to stop. */
export const wayOf = (reason: StopReason): Way => STOPS[reason];
