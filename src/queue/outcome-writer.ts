import type { Queue } from 'bullmq';
import { within } from '../common/lifetime.ts';
import { createChange } from '../common/run-control.ts';
import type { WatchedBudget } from './call-ledger.ts';
import type { LookupsData, OutcomeData, OutcomesData } from './contract.ts';
import { KEPT_MS, streamKey } from './names.ts';
import { createScript, type RedisServer, type Script } from './redis.ts';

/** A job under way, as far as its outcomes need to know it. */
export interface AnsweredJob {
  readonly id: string;
  /** The lock with which this worker has it. */
  readonly token: string;
  readonly data: LookupsData;
  /** What of its domains has no outcome yet. */
  readonly left: readonly string[];
  /** Of the run that it is of, which hears of calls before it hears of their outcomes. */
  readonly budget?: WatchedBudget | undefined;
  /** The batch in which its last outcomes were written. */
  batch: string;
  /** Whether it is to be looked up anew, by others. */
  isLost: boolean;
}

/**
 * For each job: KEYS job, lock, stream. ARGV token, the batch before or nothing, this batch, rest
 * of the job, how long the stream is kept, or 0, how many entries of the stream there are, and
 * those. A batch that was written and comes again, since its answer was lost, is not written twice.
 * The job itself only changes while it is not another's, and Redis knows of the batch before.
 * Returns the jobs of which it does not: as another master it may have lost their outcomes.
 */
const WRITE = `
local at, lost = 1, {}
for i = 0, #KEYS / 3 - 1 do
  local job, lock, stream = KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3]
  local token, before, batch, rest, kept, count = unpack(ARGV, at, at + 5)
  local holder = redis.call('GET', lock)
  local isOurs = (not holder or holder == token) and redis.call('EXISTS', job) == 1
  local known = isOurs and redis.call('HGET', job, 'batch')
  local isLost = isOurs and before ~= '' and known ~= before and known ~= batch
  if isLost then table.insert(lost, i + 1) end
  if not isOurs or known ~= batch then
    for entry = at + 6, at + 5 + count do
      redis.call('XADD', stream, '*', 'data', ARGV[entry])
    end
    if kept ~= '0' then redis.call('PEXPIRE', stream, kept) end
    if isOurs and not isLost then redis.call('HSET', job, 'data', rest, 'batch', batch) end
  end
  at = at + 6 + count
end
return lost
`;

/** Longer, and more outcomes are lost with a worker; shorter, and each costs more. */
const BATCH_MS = 50;
/** Long answers are not gathered for as long, since Redis does nothing else meanwhile. */
const MOST_BYTES = 1_000_000;

/** By then a run has read what was sent to it. */
const UNREAD_MS = 5_000;
/** A worker keeps no more than this for a Redis that may lose it. */
const MOST_UNREAD_BYTES = 8 * MOST_BYTES;

/** A batch of outcomes of runs. */
interface Written {
  readonly atMs: number;
  readonly bytes: number;
  readonly streams: readonly (readonly [stream: string, entries: readonly string[]])[];
}

/** Sends outcomes to their streams, those of all jobs together, a batch every few milliseconds. */
export class OutcomeWriter {
  readonly #redis: RedisServer;
  readonly #queue: Queue;
  readonly #write: Script;
  readonly #over = new AbortController();
  readonly #early = createChange();
  #gathered = new Map<AnsweredJob, OutcomeData[]>();
  #bytes = 0;
  #batches = 0;
  /** What runs may not have read yet, the oldest first. */
  readonly #unread: Written[] = [];
  #unreadBytes = 0;
  /** The batch that outcomes come into; undefined while there are none. */
  #next: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(redis: RedisServer, queue: Queue) {
    this.#redis = redis;
    this.#queue = queue;
    this.#write = createScript(redis.client, WRITE);
    redis.client.once('close', this.#forgetRead).on('ready', this.#sendAgain);
  }

  /** Resolves when they are in Redis, however often it refuses. */
  add(job: AnsweredJob, outcomes: readonly OutcomeData[]): Promise<void> {
    const batch = this.#gathered.get(job) ?? [];
    this.#gathered.set(job, batch);
    batch.push(...outcomes);
    for (const { json } of outcomes) this.#bytes += json.length;
    this.#next ??= this.#gather(this.#last);
    this.#last = this.#next;
    if (this.#bytes > MOST_BYTES) void this.flush();
    return this.#last;
  }

  /** Sends what there is at once. */
  flush(): Promise<void> {
    this.#early.notify();
    return this.#last;
  }

  /** Gives up what Redis refuses. */
  end(): void {
    this.#over.abort();
    this.#redis.client.off('close', this.#forgetRead).off('ready', this.#sendAgain);
  }

  /** Keeps what was written within five seconds, and eight megabytes. */
  readonly #forgetRead = (): void => {
    const sinceMs = performance.now() - UNREAD_MS;
    for (;;) {
      const [oldest] = this.#unread;
      if (!oldest || (oldest.atMs > sinceMs && this.#unreadBytes <= MOST_UNREAD_BYTES)) return;
      this.#unread.shift();
      this.#unreadBytes -= oldest.bytes;
    }
  };

  /**
   * Sends again what runs may not have read when Redis was lost: one that is back may not have it.
   * To have it twice changes nothing. What was forgotten and is lost is asked again: its run finds
   * that it is gone.
   */
  readonly #sendAgain = (): void => {
    const { client, insist } = this.#redis;
    client.once('close', this.#forgetRead); // not at each attempt to connect
    const streams = this.#unread.flatMap((written) => written.streams);
    if (streams.length === 0) return;
    const send = async (): Promise<void> => {
      const sending = client.multi();
      for (const [stream, entries] of streams) {
        for (const entry of entries) sending.xadd(stream, '*', 'data', entry);
        sending.pexpire(stream, KEPT_MS);
      }
      await sending.exec();
    };
    insist(send, this.#over.signal).catch(() => {}); // given up
  };

  /** One batch at a time, so that what is left of a job only ever becomes less. */
  async #gather(before: Promise<void>): Promise<void> {
    await within(BATCH_MS, this.#early.wait());
    await before;
    this.#batches += 1;
    const keys: string[] = [];
    const args: (string | number)[] = [];
    const budgets = new Set<WatchedBudget>();
    const streams: [string, readonly string[]][] = [];
    let bytes = 0;
    const gathered = [...this.#gathered];
    for (const [job, outcomes] of gathered) {
      if (job.budget) budgets.add(job.budget);
      const { id, token, data, left } = job;
      const key = this.#queue.toKey(id);
      const rest = JSON.stringify({ ...data, domains: left });
      const entries = entriesOf(job, outcomes);
      // Those of a backfill wait for as long as it takes.
      const keptMs = data.run === undefined ? 0 : KEPT_MS;
      const stream = streamKey(data.run ?? this.#queue.name);
      keys.push(key, `${key}:lock`, stream);
      if (data.run !== undefined) {
        streams.push([stream, entries]);
        for (const entry of entries) bytes += entry.length;
      }
      const batch = `${token}/${this.#batches}`;
      args.push(token, job.batch, batch, rest, keptMs, entries.length, ...entries);
      job.batch = batch;
    }
    this.#gathered = new Map();
    this.#bytes = 0;
    this.#next = undefined;
    await Promise.all(Array.from(budgets, (budget) => budget.tell()));
    const { insist } = this.#redis;
    const write = async (): Promise<void> => {
      const lost = (await this.#write(keys, args)) as readonly number[];
      for (const [at, [job]] of gathered.entries()) job.isLost ||= lost.includes(at + 1);
    };
    await insist(write, this.#over.signal).catch(() => {}); // given up
    this.#unread.push({ atMs: performance.now(), bytes, streams });
    this.#unreadBytes += bytes;
    this.#forgetRead();
  }
}

/**
 * One for who added the job, and one for each who asked for some of its lookups while it waited.
 */
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
