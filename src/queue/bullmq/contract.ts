import { createHash } from 'node:crypto';
import { type Job, type JobJson, Worker } from 'bullmq';
import { z } from 'zod';
import type { Outcome } from '../../brand/outcome.ts';
import type { Shape } from '../../brand/shape.ts';
import type { PendingSince } from '../parking.ts';
import { findRunId, PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';

/** The version of the contract that this Brandfill speaks. */
export const CONTRACT_VERSION = 1;

/** The data of a job on the queue of lookups. */
export interface LookupsData extends RunBounds {
  readonly v: typeof CONTRACT_VERSION;
  readonly domains: readonly string[];
  readonly replyTo?: string | undefined;
  readonly ref?: unknown;
  readonly api?: string | undefined;
  readonly poison?: boolean | undefined;
  readonly pending?: PendingSince | undefined;
}

/** What all workers may do for a run together. */
export interface RunBounds {
  /** How many calls. @default no bound */
  readonly maxCalls?: number | undefined;
  /** What they may cost. @default no bound */
  readonly maxCost?: CostBound | undefined;
}

/** In millionths of the unit that the API bills in. */
export interface CostBound {
  readonly micros: number;
  /** What each call under way may cost. */
  readonly perCall: number;
}

/** A name that is neither the queue of lookups nor one of schedules. */
const queueName = z.string().regex(/^(?!lookups$|schedule-)[\w.-]{1,200}$/);

const ref = z.json();

const lookups = z.looseObject({
  v: z.literal(CONTRACT_VERSION).describe('Version of the contract.'),
  domains: z
    .array(z.string().min(1).max(2_048))
    .min(1)
    .max(1_000)
    .describe('What to look up: domains, or anything that holds one, such as a URL.'),
  replyTo: queueName
    .optional()
    .describe('The queue that gets the outcomes; without it, the queue "outcomes".'),
  ref: ref
    .optional()
    .describe('Comes back with the outcomes; integers beyond 2^53 as texts only, else rounded.'),
  api: z
    .string()
    .max(64)
    .optional()
    .describe(
      'The API that is meant, as a worker names it at its start; others do not look it up.',
    ),
  poison: z
    .boolean()
    .optional()
    .describe('Set by workers: cut from a chunk whose workers were lost again and again.'),
  pending: z
    .object({ sinceMs: z.number(), asks: z.int().min(1) })
    .optional()
    .describe(
      'Set by workers: since when, in milliseconds since 1970, the API has been at work on these lookups, and how often it was asked.',
    ),
  maxCalls: z
    .int()
    .min(1)
    .optional()
    .describe('Set by runs: how many calls may be made for all chunks of the run together.'),
  maxCost: z
    .object({ micros: z.int().min(0), perCall: z.int().min(0) })
    .optional()
    .describe(
      'Set by runs: what these calls may cost together, and what each may cost, in millionths of the unit that the API bills in.',
    ),
});

/** One lookup as it travels back. */
export interface OutcomeData {
  readonly domain: string;
  /** The text in the chunk, when that is not the domain itself. */
  readonly given?: string | undefined;
  readonly status: 'found' | 'not_found' | 'rejected' | 'failed' | 'pending' | 'invalid';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly attempts: number;
  /** Calls that the API refused for the moment (429 and the like). They do not count as attempts. */
  readonly throttled?: number | undefined;
  /** What its calls cost, in millionths of the unit that the profile of the API names. */
  readonly billedMicros?: number | undefined;
  /** When to ask again at the earliest, for `pending`, in milliseconds from `fetchedAtMs`, if the API said. */
  readonly retryAfterMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly fetchedAtMs: number;
  /** The answer as it came, a text with a JSON object; empty unless `found`. */
  readonly json: string;
}

/** The data of a job on a queue of outcomes. */
export interface OutcomesData {
  readonly v: typeof CONTRACT_VERSION;
  /** The id of the chunk. The same chunk may be answered more than once, always with this id. */
  readonly chunk: string;
  readonly ref?: unknown;
  readonly outcomes: readonly OutcomeData[];
  /** Why the job was refused as a chunk of lookups, if it was. */
  readonly error?: string;
}

/** The contract as JSON Schema, for authors of producers; stored as `jobs/lookups.schema.json`. */
export function lookupsSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(lookups, { io: 'input' });
  return {
    $schema,
    $id: `urn:brandfill:lookups:v${CONTRACT_VERSION}`,
    title: 'Lookups',
    description: 'The data of a job on the queue of lookups; see docs/queue-contract.md.',
    ...schema,
  };
}

/** Reads the data of a job. Returns a text that says what is wrong if they are invalid. */
export function parseLookups(data: unknown): LookupsData | string {
  const read = unlessTooDeep(() => lookups.safeParse(data));
  if (read === undefined) return "the job breaks the contract: 'ref': nested too deep";
  if (read.success) return { ...read.data, ...refOf(data) };
  const [issue] = read.error.issues;
  const at = issue?.path.join('.') ?? '';
  const version = findVersion(data);
  if (version !== undefined && version !== CONTRACT_VERSION) {
    return `the job is of version ${version} of the contract, this worker speaks version ${CONTRACT_VERSION}`;
  }
  return `the job breaks the contract: ${at === '' ? '' : `'${at}': `}${issue?.message ?? 'unreadable'}`;
}

/** The addressee of a complaint about a job that breaks the contract, as far as it says. */
export function addresseeOf(
  data: unknown,
  chunk: string,
): { replyTo: string | undefined; ref: unknown } {
  const given = refOf(data)?.ref;
  const isReadable = unlessTooDeep(() => ref.safeParse(given).success) ?? false;
  const replyTo = isForeignToRun(chunk, data) ? undefined : replyToOf(data);
  return { replyTo, ref: isReadable ? given : undefined };
}

/** The `ref` of a job as it came: the schema's copy of it has no members named `__proto__`. */
function refOf(data: unknown): { readonly ref: unknown } | undefined {
  return isObject(data) && 'ref' in data ? { ref: data.ref } : undefined;
}

/** Why a chunk that is foreign to the run whose queue it names is refused. */
export const FOREIGN_TO_RUN =
  "the job breaks the contract: 'replyTo': names that begin with run- belong to runs of brandfill enrich";

/** Whether a chunk names the queue of a run although, by its id, neither a run nor a worker has made it. */
export function isForeignToRun(chunk: string, data: unknown): boolean {
  const runId = findRunId(replyToOf(data) ?? '');
  return runId !== undefined && ![runId, PART].some((owner) => chunk.startsWith(`${owner}-`));
}

/** The queue that a job names for its outcomes, even if the rest of the job is invalid. */
export function replyToOf(data: unknown): string | undefined {
  return isObject(data) && 'replyTo' in data ? queueName.safeParse(data.replyTo).data : undefined;
}

/**
 * Undefined when data are nested too deep for the stack. Data that can be read can also be sent
 * back: writing JSON takes less stack.
 */
function unlessTooDeep<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isObject(data: unknown): data is object {
  return typeof data === 'object' && data !== null;
}

function findVersion(data: unknown): number | undefined {
  return isObject(data) && 'v' in data && typeof data.v === 'number' ? data.v : undefined;
}

/** The owner of chunks that workers make of other chunks. */
export const PART = 'part';

/** The id of a chunk. The same lookups for the same owner have the same id. */
export function chunkId(owner: string, domains: readonly string[]): string {
  const hash = createHash('sha256').update(domains.join('\n')).digest('base64url').slice(0, 16);
  return `${owner}-${hash}`;
}

/**
 * An outcome in the form in which it is sent, without the parsed answer.
 *
 * @param given the text in the chunk, when that is not the domain itself
 */
export function toData(outcome: Outcome, given: string = outcome.domain): OutcomeData {
  const { domain, status, reason, httpStatus, attempts, throttled, fetchedAtMs, json } = outcome;
  const { retryAfterMs, billedMicros } = outcome;
  // JSON leaves out what is undefined. Spreads would take as long as the rest of the way to Redis.
  return {
    domain,
    given: given === domain ? undefined : given,
    status,
    reason,
    httpStatus,
    attempts,
    throttled: throttled || undefined,
    billedMicros,
    retryAfterMs,
    fetchedAtMs,
    json,
  };
}

/** An outcome that no call was made for. */
export function withoutCall(
  domain: string,
  { status, reason, nowMs }: { status: 'failed' | 'invalid'; reason: string; nowMs: number },
): OutcomeData {
  return { domain, status, reason, attempts: 0, fetchedAtMs: nowMs, json: '' };
}

/**
 * The outcome that a run stores. A run checks its domains beforehand, so `invalid` cannot come up
 * for it.
 */
export function toOutcome(data: OutcomeData, shape?: Shape): Outcome {
  const { domain, status, reason, httpStatus, attempts, throttled, fetchedAtMs, json } = data;
  const { retryAfterMs, billedMicros } = data;
  return {
    domain,
    status: status === 'invalid' ? 'failed' : status,
    reason,
    httpStatus,
    attempts,
    throttled,
    billedMicros,
    retryAfterMs,
    fetchedAtMs,
    json,
    shape,
  };
}

/** Fields of a job, apart from its data, that BullMQ reads as JSON. It throws on invalid JSON. */
const READ = ['opts', 'progress', 'parent'] as const;
/** Fields that a chunk or a reply can do without. */
const EXTRAS = ['progress', 'parent', 'stacktrace', 'returnvalue'];

/** Whether a job could not be read. Redis and its connection fail with other errors. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError;
}

export interface MendUnreadableOptions {
  readonly client: RedisClient;
  readonly queue: string;
  /** Whether this worker has taken a job, by the token with which it was taken. */
  readonly isOurs: (token: string) => boolean;
}

/**
 * Removes invalid JSON from jobs that were taken here, and releases them. Such jobs were written by
 * hand. No worker could read them, and they would come again whenever their lock expires.
 *
 * @returns the ids of the mended jobs
 */
export async function mendUnreadable(options: MendUnreadableOptions): Promise<readonly string[]> {
  const { client, queue, isOurs } = options;
  const prefix = `${PREFIX}:${queue}:`;
  const active = await client.lrange(`${prefix}active`, 0, -1);
  if (active.length === 0) return [];
  const tokens = await client.mget(active.map((id) => `${prefix}${id}:lock`));
  const mended: string[] = [];
  for (const [at, id] of active.entries()) {
    const key = prefix + id;
    const token = tokens[at];
    if (typeof token !== 'string' || !isOurs(token)) continue;
    if (canRead(await client.hmget(key, ...READ))) continue;
    await client
      .multi()
      .hset(key, 'opts', '{}')
      .hdel(key, ...EXTRAS)
      .del(`${key}:lock`)
      .exec();
    mended.push(id);
  }
  return mended;
}

function canRead([opts, ...others]: readonly (string | null)[]): boolean {
  try {
    for (const text of others) JSON.parse(text || '0');
    return JSON.parse(opts || '{}') !== null;
  } catch {
    return false;
  }
}

/**
 * Turns a job that is not JSON into one whose data are a text, which no chunk and no reply is. If
 * taking it failed instead, it would come again and again, and its id would stay unknown.
 */
export class AnyDataWorker extends Worker<unknown> {
  protected override createJob(json: JobJson, id: string): Job<unknown> {
    try {
      return super.createJob(json, id);
    } catch {
      return super.createJob({ ...json, data: JSON.stringify(json.data) }, id);
    }
  }
}
