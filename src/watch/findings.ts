import type { SameRecord } from '../collector/same-records.ts';
import { countOf, formatCount } from '../common/format.ts';
import type { Finding } from '../worker/answer-kinds.ts';
import type { Limit } from '../worker/pace-memory.ts';
import type { RunReason } from './run-view.ts';
import { seenOf, upperFirst } from './words.ts';

/** What a run found out about an API, so that a person can check it. */
export interface FoundOut {
  readonly findings: readonly Finding[];
  /** What calls were held to at last: without a limit nothing is told as how one is told. */
  readonly limit?: Limit | undefined;
  /** The record that most domains have in common, if several have one. */
  readonly sameRecord: SameRecord | undefined;
  /** Which of several APIs it is. */
  readonly source?: string | undefined;
}

/** So many domains have one record by chance, or because they are one company's. */
const FEW_DOMAINS = 5;
/** A share of the rows found below which one record for several is no news. */
const SMALL_SHARE = 0.01;

/**
 * Says what was found out about an API, a sentence each: `403 is how this API refuses a domain: 30
 * rows.`
 *
 * @param reasons why rows were not enriched
 * @param found how many rows were
 */
export function describeFindings(
  { findings: all, limit, sameRecord, source }: FoundOut,
  reasons: readonly RunReason[],
  found: number,
): string[] {
  const isLimited = limit?.limitIs !== 'unknown' || limit.mostAtOnce !== undefined;
  const findings = all.filter(({ about }) => about !== 'limit' || isLimited);
  const byChance = findings.filter(({ about }) => about === 'chance');
  const sentences = [
    ...findings.flatMap((finding) => sentenceOn(finding, reasons) ?? []),
    ...(byChance.length > 0 ? [sentenceOnChance(byChance)] : []),
  ];
  if (sameRecord && sameRecord.domains > FEW_DOMAINS && sameRecord.rows > SMALL_SHARE * found) {
    const { rows, domains, example } = sameRecord;
    const of = rows > domains ? ` of ${formatCount(domains)} domains` : '';
    sentences.push(
      `${countOf(rows, 'row')}${of} have one and the same record, such as that of ${example}.`,
    );
  }
  return source === undefined ? sentences : sentences.map((one) => `${source}: ${one}`);
}

function sentenceOn(
  { about, httpStatus, reason }: Finding,
  reasons: readonly RunReason[],
): string | undefined {
  const what = upperFirst(whatOf({ httpStatus, reason }));
  if (about === 'limit') return `${what} is how this API limits the rate of calls.`;
  if (about === 'chance') return undefined;
  const of = reasons.filter((one) => one.reason === reason && one.httpStatus === httpStatus);
  const rows = of.reduce((sum, one) => sum + one.rows, 0);
  if (rows === 0) return undefined;
  return of.some(({ status }) => status === 'failed' || status === 'stale')
    ? `${what} comes for the same domains however often they are asked: ${countOf(rows, 'row')}.`
    : `${what} is how this API refuses a domain: ${countOf(rows, 'row')}.`;
}

/** `About one call in 44 gets 500, 502, 503 by chance: such domains were asked again.` */
function sentenceOnChance(findings: readonly Finding[]): string {
  const share = findings.reduce((sum, one) => sum + one.share, 0);
  const what = findings.map(whatOf).join(', ');
  return `About one call in ${formatCount(Math.max(2, Math.round(1 / share)))} gets ${what} by chance: such domains were asked again.`;
}

/** What came: `403`, `200 (no json)`, `no answer (connections are broken off)`. */
function whatOf({ httpStatus, reason }: Pick<Finding, 'httpStatus' | 'reason'>): string {
  if (httpStatus === undefined) return `no answer (${seenOf(reason)})`;
  return reason === `http_${httpStatus}` ? `${httpStatus}` : `${httpStatus} (${seenOf(reason)})`;
}
