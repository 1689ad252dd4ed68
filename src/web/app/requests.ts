import { z } from 'zod';
import type {
  ColumnChoice,
  ConnectionRequest,
  JobRequest,
  MendRequest,
  Reading,
  RunRequest,
  SamplesRequest,
  TestRequest,
} from './contract.ts';

// What the page asks for, checked: anything may come over HTTP. What is known only of a list, an API
// or a run is checked where that is known.

const MOST_ITEMS = 10_000;
const text = z.string().max(10_000);
const words = z.string().min(1).max(10_000);
const items = <T extends z.ZodType>(item: T) => z.array(item).max(MOST_ITEMS);

const choice: z.ZodType<ColumnChoice> = z.object({
  fields: items(z.object({ name: text, expression: words })).nullable(),
  fills: items(z.object({ column: text, expression: words })).default([]),
});

const price = z.number().nonnegative();
const count = z.number().int().positive();

const connection: z.ZodType<ConnectionRequest> = z.object({
  profile: words.optional(),
  baseUrl: text.optional(),
  auth: text.optional(),
  apiKey: text.optional(),
  keepKey: z.boolean().optional(),
  price: price.optional(),
  rate: text.optional(),
});

const reading: z.ZodType<Reading> = z.object({
  sheet: words.optional(),
  column: text.optional(),
  encoding: words.optional(),
  noHeader: z.boolean().optional(),
  skipLines: z.number().int().min(0).max(1_000).optional(),
});

const run: z.ZodType<RunRequest> = z.object({
  choice: choice.optional(),
  maxCalls: count.optional(),
  maxCost: z.number().positive().optional(),
  firstAskMe: count.max(1_000).optional(),
});

const mend: z.ZodType<MendRequest> = z.object({
  cells: items(z.object({ row: count, value: z.string().min(1).max(1_000) })).min(1),
});

const test: z.ZodType<TestRequest> = z.object({ domain: text });
const samples: z.ZodType<SamplesRequest> = z.object({ count: count.max(3).optional() });
const job: z.ZodType<JobRequest> = z.object({ at: words.optional() });

/** The shapes of what the page sends. */
export const REQUESTS = { choice, connection, job, mend, reading, run, samples, test } as const;
