import { KEPT_MS, ledgerKey, logKey, runQueueKeys } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { findClaim, type RunClaim } from './run-claim.ts';

/**
 * Which chunks carry the lookups of a run, in Redis: workers that cut a chunk or give one back note
 * it there, and a run that was killed finds there what it had given out.
 */
export interface RunLedger {
  readonly runId: string;
  /** The chunks that are out, with their domains. */
  read(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Notes chunks before they are added to the queue. */
  note(chunks: ReadonlyMap<string, readonly string[]>): Promise<void>;
  /** Notes that nothing is to be expected of chunks any more. */
  strike(chunks: readonly string[]): Promise<void>;
  /**
   * Has all that is there of the run by now go by itself, should the run be killed.
   *
   * @returns whether its name is still this run's: another one may have claimed it meanwhile
   */
  date(): Promise<boolean>;
  /** Gives the run up, and with `isOver` forgets it, unless another one has its name. */
  close(isOver: boolean): Promise<void>;
}

const BEAT_MS = 3_000;
/** A field that every ledger has, so that it is there while no chunk is out; it names the list. */
export const OPEN_FIELD = 'open';

/** Whether a run still waits for outcomes. */
export async function isRunOpen(client: RedisClient, runId: string): Promise<boolean> {
  return (await client.exists(ledgerKey(runId))) === 1;
}

/** What a run still waits for of a chunk; undefined when it does not know of it any more. */
export async function findExpected(
  client: RedisClient,
  runId: string,
  chunk: string,
): Promise<readonly string[] | undefined> {
  const domains = await client.hget(ledgerKey(runId), chunk);
  return domains === null ? undefined : (JSON.parse(domains) as string[]);
}

export interface Replacement {
  readonly chunk: string;
  /** What it is to be answered for all the same. */
  readonly kept: readonly string[];
  /** Chunks that carry the rest. */
  readonly by: ReadonlyMap<string, readonly string[]>;
}

/** Puts other chunks in the place of one, for a run that has it in its ledger, but for what is known of it. */
export async function replaceChunk(
  client: RedisClient,
  runId: string,
  { chunk, kept, by }: Replacement,
): Promise<void> {
  const key = ledgerKey(runId);
  const multi = client.multi();
  for (const [id, domains] of by) multi.hset(key, id, JSON.stringify(domains));
  if (kept.length > 0) multi.hset(key, chunk, JSON.stringify(kept));
  else multi.hdel(key, chunk);
  await multi.exec();
}

export interface ClaimRunOptions {
  readonly client: RedisClient;
  /** The same for the same list on the same store. */
  readonly name: string;
  /** What the list is called, for people. */
  readonly list: string;
  /** Told when another run has the name, or claims it because nothing was heard of this one for long. */
  readonly onNotice: (message: string) => void;
}

/**
 * Claims a run by its name, so that it goes on with what an earlier one left that was killed. While
 * such a run is alive, the next one has a name of its own.
 */
export async function claimRun(options: ClaimRunOptions): Promise<RunLedger> {
  const { client, name, onNotice } = options;
  for (let place = 1; ; place += 1) {
    const claim = await findClaim(client, place === 1 ? name : `${name}-${place}`);
    if (claim) return openLedger(client, claim, options);
    if (place === 1) onNotice(KEEPS_APART);
  }
}

const KEEPS_APART = 'The same list is being enriched on this store already; this run keeps apart.';

/**
 * Claims a run that is lost, under the name that it had.
 *
 * @returns undefined when somebody has it
 */
export async function claimLostRun(
  client: RedisClient,
  runId: string,
  onNotice: ClaimRunOptions['onNotice'],
): Promise<RunLedger | undefined> {
  const claim = await findClaim(client, runId);
  if (!claim) return undefined;
  const list = (await client.hget(ledgerKey(runId), OPEN_FIELD)) ?? '';
  return openLedger(client, claim, { list, onNotice });
}

/** Whether a run has lookups on the queue. */
export async function areChunksOut(client: RedisClient, runId: string): Promise<boolean> {
  const fields = await client.hkeys(ledgerKey(runId));
  return fields.some((field) => field !== OPEN_FIELD);
}

function openLedger(
  client: RedisClient,
  claim: RunClaim,
  { list, onNotice }: Pick<ClaimRunOptions, 'list' | 'onNotice'>,
): RunLedger {
  const { runId } = claim;
  const key = ledgerKey(runId);
  let isOvertaken = false;
  let isClosed = false;

  // Also puts both back when Redis has lost everything. What a run that is killed leaves goes by itself.
  async function date(): Promise<boolean> {
    const holder = await claim.renew();
    if (holder !== undefined && !isOvertaken) onNotice(describeOvertaken(holder));
    isOvertaken = holder !== undefined;
    if (isOvertaken || isClosed) return !isOvertaken;
    const saying = client.multi().hset(key, OPEN_FIELD, list);
    for (const left of [key, ...runQueueKeys(runId)]) saying.pexpire(left, KEPT_MS);
    await saying.exec();
    return true;
  }

  const beat = (): void => void date().catch(() => {}); // the next one will do
  beat();
  const timer = setInterval(beat, BEAT_MS);
  return {
    runId,
    date,
    read: async () => {
      const { [OPEN_FIELD]: _, ...chunks } = await client.hgetall(key);
      return new Map(
        Object.entries(chunks).map(([id, domains]) => [id, JSON.parse(domains) as string[]]),
      );
    },
    note: async (chunks) => {
      const entries = [...chunks].flatMap(([id, domains]) => [id, JSON.stringify(domains)]);
      if (entries.length > 0) await client.hset(key, ...entries);
    },
    strike: async (chunks) => {
      if (chunks.length === 0) return;
      // A worker that was killed at the very end has left its log.
      // No transaction, which costs as much as ten commands: it learns all scripts of BullMQ.
      await Promise.all([client.hdel(key, ...chunks), client.del(...chunks.map(logKey))]);
    },
    close: async (isOver) => {
      clearInterval(timer);
      isClosed = true;
      await claim.release(isOver);
    },
  };
}

function describeOvertaken(by: string): string {
  return `Another run (${by}) has taken over what this one has on the queue, because nothing was heard of this one for a while. Both go on: what either finds out is kept.`;
}
