import { z } from 'zod';
import { findJsonObject } from '../brand/json-object.ts';
import type { Outcome } from '../brand/outcome.ts';

/** An outcome in transit from one store to another. */
export interface TravellingOutcome {
  /** The id of its API in the store; undefined when the line does not state it. */
  readonly endpointId: string | undefined;
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

const ANSWER = ',"answer":';

const line = z.object({
  api: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'expected the name of an API as it was exported')
    .optional(),
  domain: z.string().min(1).max(253),
  status: z.enum(['found', 'not_found', 'rejected', 'failed', 'pending']),
  reason: z.string().default(''),
  http_status: z.int().min(100).max(999).optional(),
  attempts: z.int().min(0).default(0),
  fetched_at: z.iso.datetime({ offset: true }),
  answer: z.record(z.string(), z.unknown()).optional(),
});

/** Reads a line. Returns a text that says what is wrong when it holds no outcome. */
export function parseOutcomeLine(text: string): TravellingOutcome | string {
  const parsed = line.safeParse(parseJson(text));
  if (!parsed.success) return describe(parsed.error);
  const { api, domain, status, reason, http_status, attempts, fetched_at, answer } = parsed.data;
  if (status === 'found' && answer === undefined) return "'answer' is missing";
  const fetchedAtMs = Date.parse(fetched_at);
  const json = status === 'found' ? rawAnswer(text, answer) : '';
  const numbers = { httpStatus: http_status, attempts, fetchedAtMs };
  return { endpointId: api, outcome: { domain, status, reason, json, ...numbers } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe({ issues }: z.ZodError): string {
  const [issue] = issues;
  const name = issue?.path.join('.') ?? '';
  return name === '' ? 'it is no JSON object' : `'${name}' is missing or not as expected`;
}

/**
 * The answer as it stands in the line, if it is the last member and written as exported. Otherwise
 * it is written anew. Numbers that JavaScript cannot hold then become texts, as which they are read
 * anyway.
 */
function rawAnswer(text: string, answer: unknown): string {
  const at = text.indexOf(ANSWER);
  const raw = text.slice(at + ANSWER.length, text.lastIndexOf('}')).trim();
  const isLast =
    at !== -1 &&
    // If the mark is within a text or a nested object, closing the part before it gives no valid
    // JSON.
    parseJson(`${text.slice(0, at)}}`) !== undefined &&
    parseJson(raw) !== undefined;
  return isLast ? raw : JSON.stringify(findJsonObject(text)?.['answer'] ?? answer);
}
