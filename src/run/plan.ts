import { placesToAsk } from '../collector/asked-apis.ts';
import { assertColumnsThere } from '../collector/choose-column.ts';
import { createPathFinder } from '../collector/fields/enriched-columns.ts';
import {
  makePlan,
  type Plan,
  type PlanEstimate,
  type PlannedApi,
  type PlannedRows,
} from '../collector/first-reading.ts';
import { chooseOutputPaths } from '../collector/output/output-paths.ts';
import { createRowIndex, hasDomain, type RowIndex, viewOf } from '../collector/row-index.ts';
import { billOf, costOf, MICROS } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import { type Job, paceIdOf } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import type { RowColumn } from '../rows/row-format.ts';
import type { OutcomeStore } from '../store/store.ts';
import { readLearned } from '../worker/pace-memory.ts';
import { callsTaken, isNamed, readLeft } from './bounds.ts';
import { type ApiOfRun, type ApisOfRun, type OpenedList, open, openApis } from './open.ts';
import { notify, type RunContext } from './run-context.ts';

/** A list that was read once. */
export type PlannedList = Awaited<ReturnType<typeof plan>>;

/** Reads all rows once, and finds out what each API is to be asked. */
export async function plan(list: OpenedList, apis: ApisOfRun) {
  const { job, context, closer, source, format, spoolFolder, startedAtMs, now } = list;
  const [{ fields }] = apis;
  const all = closer.add(await createRowIndex(spoolFolder));
  const paths = fields ? undefined : createPathFinder();
  /** Domains that each is to be asked about. */
  const dueAt = apis.map(() => 0);
  let row = 0;
  const made = await makePlan({
    ...list,
    kindOf: (domain, isFirst) => {
      row += 1;
      const places = placesToAsk(apis, ({ store, isUsable }) => {
        const latest = paths ? store.find(domain) : store.findHead(domain);
        if (!latest || !isUsable(domain, latest)) return undefined;
        if (latest.fetchedAtMs > now()) store.redate(domain, startedAtMs);
        if ('json' in latest) paths?.see(String(latest.json), row, domain);
        return latest;
      });
      if (isFirst) for (const at of places) dueAt[at] = (dueAt[at] ?? 0) + 1;
      return places.length > 0 ? 'due' : 'known';
    },
    index: all,
    signal: context.signal,
  });
  if (made.planned.rows + (made.planned.passedRows ?? 0) > 0)
    assertColumnsThere(source, format, columnsToFind(list));
  const { sample, formulas } = job.settings;
  const { planned, index }: { planned: PlannedRows; index: Pick<RowIndex, 'read'> } =
    sample === undefined ? { ...made, index: all } : await takeSample(all, made.planned, sample);
  const plan = await planCalls(list, planned, { dueAt, apis });
  context.onEvent({ type: 'planned', plan });
  return {
    apis,
    index,
    plan,
    extent: { ...made.extent, keepsFormulas: formulas === 'keep' },
    /** Has seen the answers that are fresh; undefined where the columns were named. */
    paths,
    /** The rows of each domain. */
    domains: made.domains,
  };
}

/** Reads and counts. Makes no calls, and leaves no file behind. */
export async function planOnly(input: ListInput, job: Job, context: RunContext): Promise<Plan> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer });
    const { source, format } = list;
    if (format.workbook) {
      await chooseOutputPaths({ ...job.settings, input, source, format });
    }
    return (await plan(list, await openApis(list, { isBeside: true }))).plan;
  } finally {
    await closer.close();
  }
}

/**
 * The columns that must exist. A few objects without the domain are accepted: the next call of the
 * program may have it.
 */
function columnsToFind({ source, column, key, fill, where }: OpenedList): readonly RowColumn[] {
  const others = [key ?? [], fill?.columns ?? [], where?.column ?? []].flat();
  return source.isOfObjects ? others : [column, ...others];
}

const RESUMED =
  'This run was interrupted before: the calls that it made then count against its bounds.';

/**
 * The calls and the cost of a list. Of several APIs those after the first are asked at most so
 * much, as the one before may know all.
 *
 * @param dueAt how many domains each is to be asked about, without a sample
 */
async function planCalls(
  list: OpenedList,
  rows: PlannedRows,
  { dueAt, apis }: { readonly dueAt: readonly number[]; readonly apis: ApisOfRun },
): Promise<Plan> {
  const { job, context } = list;
  const { mostCalls = Infinity } = job;
  // A run without a name begins anew.
  const leftOfAll = isNamed(list) ? await readLeftOfAll(apis) : mostCalls;
  let isResumed = leftOfAll < mostCalls;
  const planned: PlannedApi[] = [];
  for (const [at, api] of apis.entries()) {
    const left = await readLeft(api);
    isResumed ||= left.isResumed;
    const lookups = Math.min(dueAt[at] ?? 0, rows.lookups);
    planned.push({ name: api.name, lookups, ...callsOf(lookups, api, left) });
  }
  if (isResumed) notify(context, RESUMED, { level: 'info' });
  const [{ name: _, lookups, ...first }] = planned as [PlannedApi];
  if (apis.length === 1) return { ...rows, ...first };
  const { currency } = first;
  const costs = planned.map((api) =>
    api.calls === 0 ? 0 : api.currency === currency ? api.cost : undefined,
  );
  return {
    ...rows,
    calls: Math.min(
      leftOfAll,
      planned.reduce((sum, { calls }) => sum + calls, 0),
    ),
    estimate: undefined,
    price: undefined,
    cost: costs.reduce((sum, cost) =>
      sum === undefined || cost === undefined ? undefined : sum + cost,
    ),
    currency,
    apis: planned,
  };
}

/** The calls that are left of the bound over all APIs of a run; Infinity without one. */
export async function readLeftOfAll(apis: ApisOfRun): Promise<number> {
  const [{ job }] = apis;
  if (job.mostCalls === undefined) return Infinity;
  let left = job.mostCalls;
  for (const api of apis) left -= await callsTaken(api);
  return Math.max(0, left);
}

/** The calls and cost of so many lookups at one API, within what its bounds leave. */
function callsOf(
  lookups: number,
  { job, store }: ApiOfRun,
  left: Awaited<ReturnType<typeof readLeft>>,
): Omit<PlannedApi, 'name' | 'lookups'> {
  const { amount: price, currency } = job.settings.price ?? {};
  const calls = Math.min(lookups, left.calls, left.callsPer);
  const known = { calls, estimate: estimateCalls(calls, job, store), price, currency };
  const { billing, batch } = job.endpoint.profile ?? {};
  if (!billing) {
    return { ...known, cost: price === undefined ? undefined : costOf(calls, price) };
  }
  const answers = Math.min(lookups, calls * (batch?.size ?? 1));
  const { priceMicros = Infinity, unit } = billing;
  const mostMicros = Math.min(answers * priceMicros, left.costMicros) || 0;
  if (mostMicros === Infinity) return { ...known, cost: undefined };
  const cost = price === undefined ? undefined : costOf(mostMicros / MICROS, price);
  const isBound = mostMicros === left.costMicros;
  return { ...known, cost, bill: billOf(mostMicros, unit), isBound };
}

/**
 * Estimates how long calls take at the limit known so far: the given rate, or else the limit that
 * the last run with this API and credential found, however long ago. The shared state of workers on
 * a queue is not read.
 */
export function estimateCalls(
  calls: number,
  job: Job,
  store: Pick<OutcomeStore, 'findPace'>,
  nowMs = Date.now(),
): PlanEstimate | undefined {
  const { rate, queue, workers, maxWait } = job.settings;
  const isShared = queue !== undefined;
  if (workers === 0 || (isShared && rate === 'auto')) return undefined;
  const saved = isShared ? undefined : store.findPace(paceIdOf(job));
  const known = readLearned(saved?.state, 0, { nowMs, maxWaitMs: maxWait });
  const waitMs = Math.max(0, (known?.statedUntilMs ?? 0) - nowMs);
  const limitPerMs = rate === 'auto' ? (known?.limitPerMs ?? 0) : rate.count / rate.perMs;
  if (limitPerMs <= 0) return undefined;
  return {
    durationMs: calls === 0 ? 0 : waitMs + calls / limitPerMs,
    limitPerSecond: limitPerMs * 1_000,
    limitIs: rate === 'auto' ? 'learned' : 'fixed',
  };
}

/**
 * Takes so many domains of a list as evenly spread over it as their number allows, with all their
 * rows. A sample is run as a list of its own. It is the same each time, so that what was asked once
 * is not asked again.
 */
async function takeSample(
  index: Pick<RowIndex, 'read'>,
  { rows, invalidRows, uniqueDomains, lookups }: PlannedRows,
  sample: number,
) {
  const apart = uniqueDomains / Math.min(sample, uniqueDomains);
  const chosen = new Set<string>();
  const counts = { rows: 0, uniqueDomains: 0, freshRows: 0, freshDomains: 0, lookups: 0 };
  let before = 0;
  for await (const some of index.read()) {
    for (const { kind, text, isFirst = false } of some) {
      if (isFirst) {
        if (before >= chosen.size * apart) chosen.add(text);
        before += 1;
      }
      if (!hasDomain({ kind }) || !chosen.has(text)) continue;
      const first = Number(isFirst);
      counts.rows += 1;
      counts.uniqueDomains += first;
      counts.lookups += kind === 'due' ? first : 0;
      counts.freshRows += kind === 'known' ? 1 : 0;
      counts.freshDomains += kind === 'known' ? first : 0;
    }
  }
  const ofInvalid = { invalidRows: 0, invalidByReason: {}, invalidExamples: [], raggedRows: 0 };
  const planned: PlannedRows = {
    ...ofInvalid,
    ...counts,
    sampleOf: { rows: rows - invalidRows, lookups },
  };
  return {
    planned,
    /** That of the list, in which all rows but those of the sample are blank. */
    index: viewOf(index, (row) =>
      hasDomain(row) && chosen.has(row.text) ? row : { ...row, kind: 'blank', text: '' },
    ),
  };
}
