import { findJsonObject } from '../brand/json-object.ts';
import { shapeOf } from '../brand/shape.ts';
import type { Field } from '../collector/fields/fields.ts';
import { valueAt } from '../collector/fields/rank-paths.ts';
import { billOf, costOf, costOfUnits, microsOf } from '../common/format.ts';
import type { Job } from '../options/api.ts';
import type { Bill, Plan } from '../producer/plan.ts';
import {
  type ApiProgress,
  addOutcomes,
  type LeftAtApi,
  type Progress,
  type RunEvent,
  type Sampled,
  type SampledDomain,
} from '../watch/events.ts';
import { fieldsOf } from './join.ts';
import type { LookupTotals } from './lookups/look-up-all.ts';
import type { PlannedRun } from './plan.ts';

/** Looks up what is due of a run, or some of it. */
type LookUp = (run: PlannedRun, isLeftOut: (domain: string) => boolean) => Promise<LookupTotals>;

/** What is left of a run whose sample was looked up. */
export interface SampledRun {
  /** The run with the rest of its plan. */
  readonly run: PlannedRun;
  /** What the sample took. */
  readonly totals: LookupTotals;
}

/**
 * Looks up some domains of a list before all others, spread over it, and says what came of them and
 * what the rest would cost. The rest is looked up as if the run began there; progress goes on.
 */
export async function lookUpSample(
  run: PlannedRun,
  most: number,
  lookUp: LookUp,
): Promise<SampledRun> {
  const { context, job, plan } = run;
  const chosen = await choose(run, most);
  let last: Progress | undefined;
  const onEvent = (event: RunEvent): void => {
    if (event.type !== 'progress') return context.onEvent(event);
    // Of the rows nothing is known yet: those of the other domains are neither fresh nor skipped.
    const { rows, ...progress } = event;
    last = event;
    context.onEvent(progress);
  };
  const { second } = plan;
  const sampleOnly = {
    ...run,
    plan: {
      ...plan,
      lookups: chosen.size,
      ...(second && { second: { ...second, lookups: 0, rows: 0 } }),
    },
    context: { ...context, onEvent },
  };
  const totals = await lookUp(sampleOnly, (domain) => !chosen.has(domain));
  const left = planLeft(run, totals);
  context.onEvent({
    type: 'sampled',
    of: plan.lookups,
    domains: [...chosen].map((domain) => describe(domain, run)),
    calls: totals.calls,
    bill: totals.billedMicros === 0 ? undefined : billIn(job, totals.billedMicros),
    ...(totals.apis && { apis: billsOf(run, totals.apis) }),
    left,
  });
  return {
    totals,
    run: {
      ...run,
      plan: planOf(plan, left),
      job: lessen(job, totals),
      context: { ...context, onEvent: goOn(context.onEvent, last) },
    },
  };
}

/** Domains that are due, as evenly spread over the list as their number allows. */
async function choose(
  { index, plan, apis }: PlannedRun,
  most: number,
): Promise<ReadonlySet<string>> {
  const chosen = new Set<string>();
  const seen = new Set<string>();
  const step = Math.max(1, plan.lookups / most);
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind !== 'due' || seen.has(text) || apis?.dueAt(text) === 'second') continue;
      if (seen.size >= chosen.size * step && chosen.size < most) chosen.add(text);
      seen.add(text);
    }
    if (chosen.size >= most) break;
  }
  return chosen;
}

/** What the rest takes, if it goes on like the sample. */
function planLeft({ job, plan }: PlannedRun, totals: LookupTotals): Sampled['left'] {
  const [first, second] = totals.apis ?? [totals];
  const lookups = Math.max(0, plan.lookups - first.lookups);
  const left = leftAt(job, lookups, first);
  if (!job.second || !plan.second || !second) return left;
  const share = first.lookups === 0 ? 1 : second.lookups / first.lookups;
  const passedOn = plan.second.lookups + Math.round(share * lookups);
  return { ...left, second: { api: plan.second.api, ...leftAt(job.second, passedOn, second) } };
}

function leftAt(job: Job, lookups: number, sample: LookupTotals): LeftAtApi {
  const { lookups: asked, calls, billedMicros } = sample;
  if (asked === 0) return { lookups, calls: lookups, bill: undefined, cost: undefined };
  const callsLeft = Math.round((calls / asked) * lookups);
  const unitsLeft = Math.round((billedMicros / asked) * lookups);
  const { price } = job.settings;
  const bill = billIn(job, unitsLeft);
  const cost =
    price === undefined
      ? undefined
      : bill
        ? costOfUnits(unitsLeft, price)
        : costOf(callsLeft, price);
  return { lookups, calls: callsLeft, bill, cost };
}

/** The plan of the rest. */
function planOf(plan: Plan, { second: leftOfSecond, ...left }: Sampled['left']): Plan {
  const ofSecond = plan.second && leftOfSecond;
  return {
    ...plan,
    ...amountsOf(left),
    ...(ofSecond && { second: { ...plan.second, calls: ofSecond.calls, cost: ofSecond.cost } }),
  };
}

function amountsOf({ lookups, calls, bill, cost }: LeftAtApi): Partial<Plan> {
  return { lookups, calls, cost, ...(bill ? { bill } : {}) };
}

function billIn({ endpoint }: Job, micros: number): Sampled['bill'] {
  const { billing } = endpoint.profile ?? {};
  return billing && billOf(micros, billing.unit);
}

function billsOf(
  { apis, job }: PlannedRun,
  [first, second]: NonNullable<LookupTotals['apis']>,
): NonNullable<Sampled['apis']> {
  if (!apis || !job.second) return [];
  return [
    { name: apis.first.name, calls: first.calls, bill: billIn(job, first.billedMicros) },
    { name: apis.second.name, calls: second.calls, bill: billIn(job.second, second.billedMicros) },
  ];
}

/** What was used counts towards the bounds of the run. */
function lessen(job: Job, totals: LookupTotals): Job {
  const [first, second] = totals.apis ?? [totals];
  const lessened = lessenAt(job, first);
  if (!job.second || !second) return lessened;
  return { ...lessened, second: lessenAt(job.second, second) };
}

function lessenAt(job: Job, { calls, throttled, billedMicros }: LookupTotals): Job {
  const { maxCalls, maxCost } = job.settings;
  const settings = {
    ...job.settings,
    maxCalls: maxCalls === undefined ? undefined : Math.max(0, maxCalls - (calls - throttled)),
    maxCost:
      maxCost === undefined
        ? undefined
        : Math.max(0, (microsOf(maxCost) ?? 0) - billedMicros) / 1_000_000,
  };
  return { ...job, settings };
}

/** Progress that goes on where that of the sample ended. */
function goOn(
  onEvent: (event: RunEvent) => void,
  sample: Progress | undefined,
): (event: RunEvent) => void {
  if (!sample) return onEvent;
  return (event) => {
    if (event.type !== 'progress') return onEvent(event);
    const { bill, rows, apis } = event;
    onEvent({
      ...event,
      lookups: event.lookups + sample.done,
      done: event.done + sample.done,
      outcomes: addOutcomes(event.outcomes, sample.outcomes),
      ...(rows
        ? { rows: { ...rows, ...addOutcomes(statusesOf(rows), statusesOf(sample.rows)) } }
        : {}),
      calls: event.calls + sample.calls,
      retries: event.retries + sample.retries,
      throttled: event.throttled + sample.throttled,
      bill: added(bill, sample.bill),
      ...(apis && { apis: addedApis(apis, sample.apis ?? []) }),
      elapsedMs: event.elapsedMs + sample.elapsedMs,
    });
  };
}

function statusesOf(rows: Progress['rows']): Progress['outcomes'] {
  const { found = 0, not_found = 0, rejected = 0, failed = 0, pending = 0 } = rows ?? {};
  return { found, not_found, rejected, failed, pending };
}

function added(bill: Bill | undefined, sample: Bill | undefined): Bill | undefined {
  return bill && { ...bill, units: bill.units + (sample?.units ?? 0) };
}

/** An API that only the sample has asked so far is among them, too. */
function addedApis(
  apis: readonly ApiProgress[],
  sample: readonly ApiProgress[],
): readonly ApiProgress[] {
  return [...apis, ...sample.slice(apis.length)].map((api, at) => {
    const before = at < apis.length ? sample[at] : undefined;
    const { name, done, calls, bill } = api;
    return {
      name,
      done: done + (before?.done ?? 0),
      calls: calls + (before?.calls ?? 0),
      bill: added(bill, before?.bill),
    };
  });
}

const MOST_VALUES = 4;

/** What became of a domain, with some of its values. */
function describe(domain: string, run: PlannedRun): SampledDomain {
  const { store } = run;
  const outcome = store.find(domain);
  if (!outcome) return { domain, status: 'skipped', values: [] };
  const answer = findJsonObject(outcome.json);
  if (!answer) return { domain, status: outcome.status, values: [outcome.reason].filter(Boolean) };
  const fields = fieldsOf(run)?.of(domain, false);
  const all = fields
    ? fields.map((field: Field) => field.valueOf(answer))
    : shapeOf(answer).map((path) => valueAt(answer, path));
  const texts = all.flatMap((value) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : [],
  );
  return { domain, status: outcome.status, values: texts.slice(0, MOST_VALUES) };
}
