import { z } from 'zod';
import type { Outcome } from '../brand/outcome.ts';

/** An outcome in transit from one store to another. */
export interface TravellingOutcome {
  /** The id of its API in the store. */
  readonly endpointId: string;
  readonly outcome: Outcome;
}

/**
 * Writes an outcome as one line of JSON, without the line end. The answer comes last, unchanged: if
 * it were parsed and written again, numbers with more digits than JavaScript holds would not
 * survive.
 */
export function formatOutcomeLine(endpointId: string, outcome: Outcome): string {
  const { domain, status, reason, httpStatus, attempts, fetchedAtMs, json } = outcome;
  const head = JSON.stringify({
    api: endpointId,
    domain,
    status,
    ...(reason === '' ? {} : { reason }),
    ...(httpStatus === undefined ? {} : { http_status: httpStatus }),
    attempts,
    fetched_at: new Date(fetchedAtMs).toISOString(),
  });
  if (status !== 'found') return head;
  // A raw line break in JSON occurs only between tokens, where a space will do as well.
  return `${head.slice(0, -1)}${ANSWER}${json.replaceAll(/[\r\n]+/g, ' ').trim()}}`;
}

/** Nothing before it holds this: a quote within a text has a backslash before it. */
const ANSWER = ',"answer":';

const line = z.object({
  api: z.string().regex(/^[\w-]{1,64}$/),
  domain: z.string().min(1).max(253),
  status: z.enum(['found', 'not_found', 'rejected', 'failed', 'pending']),
  reason: z.string().default(''),
  http_status: z.int().min(100).max(999).optional(),
  attempts: z.int().min(0),
  fetched_at: z.iso.datetime(),
  answer: z.record(z.string(), z.unknown()).optional(),
});

/** Reads a line. Returns a text that says what is wrong when it holds no outcome. */
export function parseOutcomeLine(text: string): TravellingOutcome | string {
  const parsed = line.safeParse(parseJson(text));
  if (!parsed.success) {
    const name = parsed.error.issues[0]?.path.join('.') ?? '';
    return name === '' ? 'it is no JSON object' : `'${name}' is missing or not as exported`;
  }
  const { api, domain, status, reason, http_status: httpStatus, attempts } = parsed.data;
  const at = text.indexOf(ANSWER);
  const json = status === 'found' ? text.slice(at + ANSWER.length, text.lastIndexOf('}')) : '';
  if (status === 'found' && (at === -1 || parseJson(json) === undefined))
    return "'answer' is missing or not as exported";
  const fetchedAtMs = Date.parse(parsed.data.fetched_at);
  const outcome = { domain, status, reason, httpStatus, attempts, fetchedAtMs, json };
  return { endpointId: api, outcome };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
