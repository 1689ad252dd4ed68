import { isAnswer, type Outcome, type OutcomeStatus } from '../calls/outcome.ts';
import type { Dated } from '../store/freshness.ts';
import type { OutcomeStore } from '../store/store.ts';

// A run asks one API, or several in turn. Who is asked about a domain, and whose answer its row
// has, is known here alone: everything else works for one API.
//
//   first ──not found, rejected, failed──▶ second ──the same──▶ third …
//     └──found, pending, or not asked: nobody further

/** An API of a run, and what is known of its outcomes. */
export interface AskedApi {
  /** What people call it. */
  readonly name: string;
  readonly store: Pick<OutcomeStore, 'find' | 'findHead' | 'findAnswer'>;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
  /** The outcomes after which the next API is asked. */
  readonly next: ReadonlySet<OutcomeStatus>;
}

/** The outcome of a domain at an API that counts in this run. */
export function headAt({ store, isUsable }: AskedApi, domain: string): Dated | undefined {
  const head = store.findHead(domain);
  return head && isUsable(domain, head) ? head : undefined;
}

/**
 * The places of the APIs that may have to be asked about a domain: none where all that count have
 * answered.
 *
 * @param find the outcome of an API that counts
 */
export function placesToAsk<A extends Pick<AskedApi, 'next'>>(
  apis: readonly A[],
  find: (api: A) => Dated | undefined,
): readonly number[] {
  const places: number[] = [];
  for (const [at, api] of apis.entries()) {
    const outcome = find(api);
    if (!outcome) places.push(at);
    else if (!api.next.has(outcome.status)) break;
  }
  return places;
}

/**
 * Whether an API is to be asked about a domain now: it was not, and each before it has said that
 * the next may be.
 */
export function isDueAt(apis: readonly AskedApi[], at: number, domain: string): boolean {
  return apis.slice(0, at + 1).every((api, place) => {
    const head = headAt(api, domain);
    return place === at ? !head : head !== undefined && api.next.has(head.status);
  });
}

/** What a row gets from the store. */
export interface RowAnswer {
  /** The outcome of its domain that counts in this run. */
  readonly outcome?: Outcome | undefined;
  /**
   * The older answer whose values it keeps, when this run learned nothing about its domain and
   * there is such an answer.
   */
  readonly older?: Outcome | undefined;
  /** The place of the API that the answer is of, or that said or could not be asked what counts. */
  readonly at: number;
  /** What each API that counts said, such as `brandfetch not_found; second failed http_500`. */
  readonly said: string;
}

export type RowAnswers = (domain: string) => RowAnswer;

export interface RowAnswersOptions {
  /** In the order in which they are asked. */
  readonly apis: readonly AskedApi[];
  /** Whether an older answer stands in for a missing one. */
  readonly keepsStale: boolean;
}

/**
 * A row has the answer of the first API that found its domain. Else what counts is what will be
 * asked again: an API that was not asked, then a failure, then the last that did not know the
 * domain.
 *
 * An outage must not empty rows that were full yesterday. So where a lookup failed or was not made,
 * the latest answer that found something stays, as long as its API has not said since then that it
 * no longer knows the domain.
 */
export function createRowAnswers({ apis, keepsStale }: RowAnswersOptions): RowAnswers {
  return (domain) => {
    let counts: { readonly outcome: Outcome | undefined; readonly at: number } | undefined;
    let goesOn = true;
    const said: string[] = [];
    const silent: number[] = [];
    for (const [at, { name, store, isUsable, next }] of apis.entries()) {
      const latest = store.find(domain);
      const outcome = latest && isUsable(domain, latest) ? latest : undefined;
      if (outcome?.status === 'found') return { outcome, at, said: '' };
      if (!outcome || !isAnswer(outcome.status)) silent.push(at);
      if (!goesOn) continue;
      if (outcome) said.push(`${name} ${outcome.status} ${outcome.reason}`.trim());
      if (!counts || !outcome || (counts.outcome && isAnswer(counts.outcome.status))) {
        counts = { outcome, at };
      }
      goesOn = outcome !== undefined && next.has(outcome.status);
    }
    const { outcome, at = 0 } = counts ?? {};
    const answer = { outcome, at, said: said.join('; ') };
    if (!keepsStale || (outcome && isAnswer(outcome.status))) return answer;
    for (const place of silent) {
      const older = apis[place]?.store.findAnswer(domain);
      if (older?.status === 'found') return { ...answer, older, at: place };
    }
    return answer;
  };
}
