import type { OutcomeData, OutcomesData } from '../../queue/bullmq/contract.ts';
import type { PartKind } from './journal.ts';

/** The lines that one reply adds to the files: whole lines or none. */
export interface OutcomeLines {
  readonly text: Readonly<Record<PartKind, string>>;
  readonly count: Readonly<Record<PartKind, number>>;
}

/**
 * Writes a reply as lines of JSON: found outcomes for `enriched`, all others for `failures`. A job
 * that was refused as a whole becomes one line.
 */
export function toLines(reply: OutcomesData): OutcomeLines {
  const found = reply.outcomes.filter(({ status }) => status === 'found');
  const failures = reply.outcomes
    .filter(({ status }) => status !== 'found')
    .map((outcome) => failureLine(outcome, reply));
  if (reply.error !== undefined) failures.push(refusalLine(reply.error, reply));
  return {
    text: {
      enriched: found.map((outcome) => enrichedLine(outcome, reply)).join(''),
      failures: failures.join(''),
    },
    count: { enriched: found.length, failures: failures.length },
  };
}

function enrichedLine(outcome: OutcomeData, reply: OutcomesData): string {
  const { status, httpStatus, attempts } = outcome;
  const head = JSON.stringify({
    ...nameOf(outcome),
    status,
    http_status: httpStatus ?? null,
    attempts,
    ...originOf(outcome, reply),
  });
  return `${head.slice(0, -1)},"answer":${onOneLine(outcome.json)}}\n`;
}

function failureLine(outcome: OutcomeData, reply: OutcomesData): string {
  const { status, reason, httpStatus, attempts } = outcome;
  const line = {
    ...nameOf(outcome),
    status,
    reason,
    ...(httpStatus === undefined ? {} : { http_status: httpStatus }),
    attempts,
    ...originOf(outcome, reply),
  };
  return `${JSON.stringify(line)}\n`;
}

function refusalLine(error: string, { chunk, ref }: OutcomesData): string {
  const line = { status: 'rejected', reason: error, chunk, ...(ref === undefined ? {} : { ref }) };
  return `${JSON.stringify(line)}\n`;
}

function nameOf({ domain, given }: OutcomeData): object {
  return { domain, ...(given === undefined || given === domain ? {} : { given }) };
}

function originOf({ fetchedAtMs }: OutcomeData, { chunk, ref }: OutcomesData): object {
  const fetchedAt = new Date(fetchedAtMs).toISOString();
  return { fetched_at: fetchedAt, chunk, ...(ref === undefined ? {} : { ref }) };
}

/**
 * The answer is not parsed and written again, because numbers with more digits than JavaScript
 * holds would not survive. A raw line break in JSON occurs only between tokens, where a space will
 * do as well.
 */
function onOneLine(json: string): string {
  const text = json.replaceAll(/[\r\n]+/g, ' ').trim();
  // Any other text would break the line.
  return text.startsWith('{') && text.endsWith('}') ? text : JSON.stringify(text);
}
