import type { OutcomeStatus } from '../brand/outcome.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';
import type { Job } from '../options/api.ts';
import type { Dated } from '../store/freshness.ts';
import { NOTHING_READY } from '../store/ready-cells.ts';
import type { OutcomeStore } from '../store/store.ts';

// A run may ask a second API what the first does not know (`--then`). Each has its own entries in the
// store, its own pass of lookups (`look-up-both.ts`), pace and budget. Which of the two a domain's
// outcome is from, and which is to be asked, `settle` alone says, to plan, passes and join alike:
//
//   first ──┬─ found, or an outcome that is not passed on ─────────────────► the row has it
//           ├─ not_found (or what --then-on names) ──► second ──► its outcome is the row's
//           └─ unknown, or no longer fresh ──┬─ the second has found it ───► the row has it
//                                            └─ the first is asked

/** One of two APIs. */
export type Side = 'first' | 'second';

/** What is known of a domain at one API. */
export interface KnownOutcome {
  readonly status: OutcomeStatus;
  /** Whether it counts in this run. */
  readonly isUsable: boolean;
}

/** Where a domain's outcome is from, and which API has to be asked about it. */
export interface Settled {
  readonly by: Side;
  /** Undefined when neither has to be. */
  readonly dueAt: Side | undefined;
}

/** @param isPassedOn whether the second API is asked after an outcome of the first */
export function settle(
  first: KnownOutcome | undefined,
  second: () => KnownOutcome | undefined,
  isPassedOn: (status: OutcomeStatus) => boolean,
): Settled {
  if (first?.isUsable) {
    if (!isPassedOn(first.status)) return { by: 'first', dueAt: undefined };
    return { by: 'second', dueAt: second()?.isUsable ? undefined : 'second' };
  }
  const other = second();
  // A row that has a fresh answer needs no call, whoever gave it.
  return other?.isUsable && other.status === 'found'
    ? { by: 'second', dueAt: undefined }
    : { by: 'first', dueAt: 'first' };
}

/** One API of a run that asks two. */
export interface ApiOfRun {
  readonly name: string;
  readonly isSecond: boolean;
  /** What it was asked. */
  readonly store: OutcomeStore;
  /** Whether an outcome of it counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
}

/** Both APIs of a run, and the store as its rows see it. */
export interface TwoApis extends Readonly<Record<Side, ApiOfRun>> {
  /** What rows get: of each domain what the API says that settles it. Not for writing outcomes. */
  readonly store: OutcomeStore;
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  readonly dueAt: (domain: string) => Side | undefined;
  /** Whose outcome a row has, or whose older answer if it is `stale`. */
  readonly apiOf: (domain: string, isStale: boolean) => Side;
  /** The column that says so. */
  readonly column: OutputColumn;
}

/** @param thenOn the outcomes of the first API after which the second is asked */
export function createTwoApis(
  first: ApiOfRun,
  second: ApiOfRun,
  thenOn: readonly OutcomeStatus[],
): TwoApis {
  const passedOn: ReadonlySet<string> = new Set(thenOn);
  const isPassedOn = (status: OutcomeStatus): boolean => passedOn.has(status);
  const apis = { first, second };

  function knownAt({ store, isUsable }: ApiOfRun, domain: string): KnownOutcome | undefined {
    const head = store.findHead(domain);
    return head && { status: head.status, isUsable: isUsable(domain, head) };
  }

  function settled(domain: string): Settled {
    return settle(knownAt(first, domain), () => knownAt(second, domain), isPassedOn);
  }

  const storeOf = (domain: string): OutcomeStore => apis[settled(domain).by].store;

  /** Whose older answer stands in while nothing newer is known. */
  function answerSideOf(domain: string): Side {
    const answer = first.store.findAnswerHead(domain);
    const isOfFirst = answer !== undefined && !isPassedOn(answer.status);
    return isOfFirst || !second.store.findAnswerHead(domain) ? 'first' : 'second';
  }

  const apiOf = (domain: string, isStale: boolean): Side =>
    isStale ? answerSideOf(domain) : settled(domain).by;

  return {
    ...apis,
    store: {
      ...first.store,
      hasAnswers: () => first.store.hasAnswers() || second.store.hasAnswers(),
      findHead: (domain) => storeOf(domain).findHead(domain),
      find: (domain) => storeOf(domain).find(domain),
      findAnswerHead: (domain) => apis[answerSideOf(domain)].store.findAnswerHead(domain),
      findAnswer: (domain) => apis[answerSideOf(domain)].store.findAnswer(domain),
      findShape: (id) => first.store.findShape(id) ?? second.store.findShape(id),
      // Which API a row is from is not in them.
      ready: NOTHING_READY,
    },
    isUsable: (domain, outcome) => apis[settled(domain).by].isUsable(domain, outcome),
    dueAt: (domain) => settled(domain).dueAt,
    apiOf,
    column: {
      name: 'api',
      expression: 'api',
      isCompared: false, // the same values from somebody else are no news of the brand
      valueOf: ({ domain, status }) =>
        status === 'invalid' || status === 'skipped'
          ? undefined
          : apis[apiOf(domain, status === 'stale')].name,
    },
  };
}

/** The names of two APIs for people: of their profiles, else of their hosts. */
export function nameApis(first: Job, second: Job): readonly [string, string] {
  const names = [first, second].map(
    ({ profile, endpoint }) => profile?.name ?? new URL(endpoint.origin).host,
  );
  const [one = '', other = ''] = names;
  if (one !== other) return [one, other];
  return [first.endpoint, second.endpoint].map(({ origin }) => `${one} at ${origin}`) as [
    string,
    string,
  ];
}
