import { within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';
import type { LookupsData, OutcomeData, OutcomesData } from './contract.ts';
import { streamKey } from './names.ts';
import { createScript, type RedisServer } from './redis.ts';

/** A job under way, as far as its outcomes need to know it. */
export interface AnsweredJob {
  readonly id: string;
  /** The key of the job itself. */
  readonly key: string;
  /** The lock with which this worker has it. */
  readonly token: string;
  /** Who asked for its lookups. */
  readonly data: Pick<LookupsData, 'ref' | 'also'>;
  /** Whose stream gets the outcomes. */
  readonly stream: string;
  /** How long outcomes are kept that nobody reads, in milliseconds. @default as long as it takes */
  readonly keptMs?: number | undefined;
  /** What the job is from now on, as JSON: without what was answered. */
  readonly rest: () => string;
}

/** Sends outcomes to their streams, those of all jobs together, a batch every few milliseconds. */
export interface OutcomeWriter {
  /** Resolves when they are in Redis, however often it refuses. */
  add(job: AnsweredJob, outcomes: readonly OutcomeData[]): Promise<void>;
  /** Sends what there is at once. */
  flush(): Promise<void>;
  /** Gives up what Redis refuses. */
  end(): void;
}

/**
 * For each job: KEYS job, lock, stream. ARGV token, batch, rest of the job, how long the stream is kept, or 0,
 * how many entries of the stream there are, and those. A batch that was written and comes again, since its answer was lost, is not
 * written twice. The job itself only changes while it is not another's.
 */
const WRITE = `
local at = 1
for i = 0, #KEYS / 3 - 1 do
  local job, lock, stream = KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3]
  local token, batch, rest, kept, count = unpack(ARGV, at, at + 4)
  local holder = redis.call('GET', lock)
  local isOurs = (not holder or holder == token) and redis.call('EXISTS', job) == 1
  local isAgain = isOurs and redis.call('HGET', job, 'batch') == batch
  if not isAgain then
    for entry = at + 5, at + 4 + count do
      redis.call('XADD', stream, '*', 'data', ARGV[entry])
    end
    if kept ~= '0' then redis.call('PEXPIRE', stream, kept) end
    if isOurs then redis.call('HSET', job, 'data', rest, 'batch', batch) end
  end
  at = at + 5 + count
end
`;

/** Longer, and more outcomes are lost with a worker; shorter, and each costs more. */
const BATCH_MS = 50;
/** Long answers are not gathered for as long, since Redis does nothing else meanwhile. */
const MOST_BYTES = 1_000_000;

export function createOutcomeWriter({ client, insist }: RedisServer): OutcomeWriter {
  const write = createScript(client, WRITE);
  let gathered = new Map<AnsweredJob, OutcomeData[]>();
  let bytes = 0;
  let batches = 0;
  const over = new AbortController();
  const early = createChange();
  /** The batch that outcomes come into; undefined while there are none. */
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  /** One batch at a time, so that what is left of a job only ever becomes less. */
  async function gather(before: Promise<void>): Promise<void> {
    await within(BATCH_MS, early.wait());
    await before;
    batches += 1;
    const keys: string[] = [];
    const args: (string | number)[] = [];
    for (const [job, outcomes] of gathered) {
      const { key, token, stream, keptMs = 0 } = job;
      const entries = entriesOf(job, outcomes);
      keys.push(key, `${key}:lock`, streamKey(stream));
      args.push(token, `${token}/${batches}`, job.rest(), keptMs, entries.length, ...entries);
    }
    gathered = new Map();
    bytes = 0;
    next = undefined;
    await insist(() => write(keys, args), over.signal).catch(() => {}); // given up
  }

  function flush(): Promise<void> {
    early.notify();
    return last;
  }

  return {
    add: (job, outcomes) => {
      const batch = gathered.get(job) ?? [];
      gathered.set(job, batch);
      batch.push(...outcomes);
      for (const { json } of outcomes) bytes += json.length;
      next ??= gather(last);
      last = next;
      if (bytes > MOST_BYTES) void flush();
      return last;
    },
    flush,
    end: () => over.abort(),
  };
}

/** One for who added the job, and one for each who asked for some of its lookups while it waited. */
function entriesOf(
  { id, data: { ref, also = [] } }: AnsweredJob,
  outcomes: readonly OutcomeData[],
): readonly string[] {
  const ofOthers = also.map((other) => {
    const domains = new Set(other.domains);
    const theirs = outcomes.filter(({ domain, given = domain }) => domains.has(given));
    return { job: id, ref: other.ref, outcomes: theirs };
  });
  const entries: readonly OutcomesData[] = [{ job: id, ref, outcomes }, ...ofOthers];
  return entries.flatMap((entry) => (entry.outcomes.length > 0 ? [JSON.stringify(entry)] : []));
}
