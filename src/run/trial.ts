import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import type { Meaning } from '../brand/meaning.ts';
import type { Bill } from '../collector/first-reading.ts';
import { isListed, type JoinedRow, type RowStatus } from '../collector/joined-row.ts';
import type { OutputColumns } from '../collector/output/output-columns.ts';
import { billOf } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../profile/job.ts';
import type { Profile } from '../profile/read-profile.ts';
import { describeWhen } from '../profile/rules.ts';
import { wordOf } from '../profile/samples.ts';
import type { ListInput } from '../rows/open-list.ts';
import { type Stop, stopForWait } from '../worker/stop-switch.ts';
import { ranTo } from './enrich.ts';
import { type JoinedRows, joinRows } from './join.ts';
import { makeLookups } from './look-up.ts';
import { open, openApis } from './open.ts';
import { type PlannedList, plan as planOf } from './plan.ts';
import type { RunContext } from './run-context.ts';

/** What came of a domain that was tried. */
export interface Tried {
  /** The domain as it was looked up. */
  readonly domain: string;
  /** The status as for a row; `skipped` when it was not asked or the answer is not believed. */
  readonly status: RowStatus;
  /** Why it is not `found`. */
  readonly reason: string;
  /** What the API wrote, if anything. */
  readonly said?: string | undefined;
  readonly httpStatus: number | undefined;
  /** When its outcome was fetched, in ISO 8601; undefined when there is none. */
  readonly fetchedAt: string | undefined;
  readonly answer: JsonObject | undefined;
  /** The columns made from the answer; none unless it is `found`. */
  readonly columns: readonly TrialColumn[];
}

/** The result of a trial of one domain. */
export interface Trial extends Tried {
  /** Whether the outcome was in the store, so that no call was made. */
  readonly isFromStore: boolean;
  /** HTTP requests made. */
  readonly calls: number;
  /** Requests that the API refused for the moment (429 and the like). */
  readonly throttled: number;
  /** How long it took, in milliseconds. */
  readonly elapsedMs: number;
  /** Why the trial was given up; undefined when it was not. */
  readonly stopped: Stop | undefined;
  /** What each call brought, in their order. */
  readonly answers: readonly TrialAnswer[];
}

/** What one call brought. */
export interface TrialAnswer {
  readonly httpStatus: number | undefined;
  /** What it means, in the words of a profile's rules. */
  readonly means: string;
  /** The rule of the profile that decided, from 1; undefined when none fits. */
  readonly rule: number | undefined;
  /** What that rule asks for. */
  readonly when: string | undefined;
  /** How long the API or the rule says to wait, in milliseconds. */
  readonly waitMs: number | undefined;
  /** Where a redirect leads that is followed. */
  readonly to: string | undefined;
  /** What it cost; undefined where no profile says what the API bills. */
  readonly bill: Bill | undefined;
}

/** A column made from an answer. */
export interface TrialColumn {
  /** Its name in an output. */
  readonly name: string;
  /** Its JMESPath; undefined for the column of values without one of their own. */
  readonly expression: string | undefined;
  readonly value: unknown;
}

/** The only column of the list of one row. No answer has a name like this. */
export const TRIAL_COLUMN = '(domain)';

/** Looks one domain up, as a run of a list with this one row would. */
export async function runToTrial(domain: string, job: Job, outside: RunContext): Promise<Trial> {
  const answers: TrialAnswer[] = [];
  const { tried, ranTo, ended, plan } = await runToTried([{ [TRIAL_COLUMN]: domain }], job, {
    ...outside,
    onCall: ({ meaning }, { profile }) => answers.push(explain(meaning, profile)),
  });
  const [only] = tried;
  if (!only) throw new TypeError('a list of one row has a row');
  const { calls, throttled, lookupMs: elapsedMs } = ended;
  const isFromStore = plan.lookups === 0;
  const { stopped } = ranTo;
  return { ...only, domain, isFromStore, calls, throttled, elapsedMs, stopped, answers };
}

/**
 * Looks up the domains of a short list, or of a sample of one, and returns what came of each. A
 * wait that an earlier run was told is kept only up to `maxWait`.
 */
export async function runToTried(input: ListInput, job: Job, outside: RunContext) {
  const closer = createCloser();
  const impatience = new AbortController();
  let tooLong: Stop | undefined;
  const context: RunContext = {
    ...outside,
    isTrial: true,
    signal: AbortSignal.any([outside.signal, impatience.signal]),
    onEvent: (event) => {
      outside.onEvent(event);
      if (event.type !== 'progress') return;
      const { waitMs = 0, statedMs } = event.pace ?? {};
      if (waitMs <= job.settings.maxWait) return;
      tooLong ??= stopForWait(statedMs, Date.now());
      impatience.abort();
    },
  };
  try {
    const list = await open(input, job, { context, closer });
    const planned = await planOf(list, await openApis(list));
    const lookedUp = await makeLookups(list, planned);
    const joined = await joinRows(list, planned, lookedUp);
    const tried = new Map<string, Tried>();
    for await (const rows of joined.rows) {
      for (const row of rows.filter(isListed)) {
        if (!tried.has(row.domain)) tried.set(row.domain, triedOf(row, planned, joined));
      }
    }
    const ran = ranTo(list, lookedUp, joined);
    const stopped = outside.signal.aborted ? ran.stopped : (tooLong ?? ran.stopped);
    const { plan } = planned;
    const { ended } = lookedUp;
    return { tried: [...tried.values()], ranTo: { ...ran, stopped }, plan, ended };
  } finally {
    await closer.close();
  }
}

function triedOf(row: JoinedRow, { apis }: PlannedList, { columns }: JoinedRows): Tried {
  const { domain, status, reason, outcome, fetchedAtMs } = row;
  const isFound = status === 'found';
  return {
    domain,
    status,
    reason,
    said: outcome?.said,
    httpStatus: outcome?.httpStatus,
    fetchedAt: fetchedAtMs === 0 ? undefined : new Date(fetchedAtMs).toISOString(),
    answer: isFound ? findJsonObject(apis[row.api]?.store.find(domain)?.json ?? '') : undefined,
    columns: isFound ? columnsOf(row, columns.enriched) : [],
  };
}

function explain(answer: Meaning, profile: Profile | undefined): TrialAnswer {
  const { rule, httpStatus } = answer;
  const billing = profile?.api.billing;
  const decided = rule === undefined ? undefined : profile?.content.rules?.[rule - 1];
  return {
    httpStatus,
    means: wordOf(answer),
    to: answer.kind === 'redirect' ? placeOf(answer.path) : undefined,
    rule,
    when: decided && describeWhen(decided.when),
    waitMs: 'retryAfterMs' in answer ? answer.retryAfterMs : undefined,
    bill: billing && billOf(answer.costMicros ?? 0, billing.unit),
  };
}

/** Without the signature of a signed address. */
function placeOf(path: string): string {
  return path.startsWith('/') ? path : new URL(path).origin;
}

function columnsOf(row: JoinedRow, columns: OutputColumns['out']): readonly TrialColumn[] {
  return columns.map((column) => ({
    name: column.name,
    expression: column.expression,
    value: column.valueOf(row),
  }));
}
