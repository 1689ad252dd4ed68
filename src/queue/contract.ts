import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Details, detailsOf, type Outcome } from '../calls/outcome.ts';

const lookups = z.looseObject({
  domains: z
    .array(z.string().max(2_048))
    .max(1_000)
    .describe('What to look up: domains, or anything that holds one, such as a URL.'),
  run: z
    .string()
    .regex(/^[\w.-]{1,200}$/)
    .optional()
    .describe(
      'Whose stream gets the outcomes, {brandfill}:outcomes:RUN; without it, that of the backfills of the API.',
    ),
  ref: z
    .json()
    .optional()
    .describe('Comes back with the outcomes; integers beyond 2^53 as texts only, else rounded.'),
  also: z
    .array(z.object({ ref: z.json().optional(), domains: z.array(z.string()) }))
    .optional()
    .describe(
      'Set by `brandfill add`: who else asked for which of the domains, and gets their outcomes.',
    ),
  alone: z
    .object({ domain: z.string(), since: z.int() })
    .optional()
    .describe(
      'Set by workers: the domain that is looked up alone, since workers were lost so often with the job.',
    ),
  pending: z
    .object({ sinceMs: z.number(), asks: z.int().min(1) })
    .optional()
    .describe(
      'Set by workers: since when, in milliseconds since 1970, the API has been at work on these lookups, and how often it was asked.',
    ),
});

/** The data of a job with lookups. */
export type LookupsData = z.infer<typeof lookups>;

/** The contract as JSON Schema, for authors of producers; stored as `jobs/lookups.schema.json`. */
export function lookupsSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(lookups, { io: 'input' });
  return {
    $schema,
    $id: 'urn:brandfill:lookups:v2',
    title: 'Lookups',
    description: 'The data of a job with lookups; see docs/queue-contract.md.',
    ...schema,
  };
}

/** Reads the data of a job. Returns a text that says what is wrong if they are invalid. */
export function parseLookups(data: unknown): LookupsData | string {
  try {
    const read = lookups.safeParse(data);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const at = issue?.path.join('.') ?? '';
    return `the job breaks the contract: ${at === '' ? '' : `'${at}': `}${issue?.message ?? 'unreadable'}`;
  } catch (error) {
    if (error instanceof RangeError) return "the job breaks the contract: 'ref': nested too deep";
    throw error;
  }
}

/** One lookup as it travels back. JSON leaves out what is undefined. */
export interface OutcomeData extends Omit<Outcome, 'status' | keyof Details>, Partial<Details> {
  /** The text in the job, when that is not the domain itself. */
  readonly given?: string | undefined;
  readonly status: Outcome['status'] | 'invalid';
}

/** An entry of a stream of outcomes, the JSON in its field `data`. */
export interface OutcomesData {
  /** The id of the job. */
  readonly job: string;
  readonly ref?: unknown;
  readonly outcomes: readonly OutcomeData[];
}

/** @param given the text in the job */
export function toData(outcome: Outcome, given: string): OutcomeData {
  const { domain, throttled } = outcome;
  return {
    given: given === domain ? undefined : given,
    ...outcome,
    throttled: throttled || undefined,
  };
}

/** The outcome that a run stores. A run checks its domains beforehand, so none is `invalid`. */
export function toOutcome({ given: _, status, ...data }: OutcomeData): Outcome {
  const details = detailsOf(({ member }) => data[member]);
  return { ...data, ...details, status: status === 'invalid' ? 'failed' : status };
}

/** The id of a job: the same lookups for the same owner have the same id. */
export function jobIdOf(owner: string, domains: readonly string[]): string {
  const hash = createHash('sha256').update(domains.join('\n')).digest('base64url').slice(0, 16);
  return `${owner}-${hash}`;
}
