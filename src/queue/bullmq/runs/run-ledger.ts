import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from '../../../common/is-running.ts';
import { KEPT_MS, ledgerKey, logKey, PREFIX, runQueueKeys } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

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
  /** Has all that is there of the run by now go by itself, should the run be killed. */
  date(): Promise<void>;
  /** Gives the run up, and with `isOver` forgets it. */
  close(isOver: boolean): Promise<void>;
}

const CLAIM_MS = 10_000;
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
  /** Told when a run of that name is going on elsewhere, and this one keeps apart from it. */
  readonly onTaken: () => void;
}

/**
 * Claims a run by its name, so that it goes on with what an earlier one left that was killed. While
 * such a run is alive, the next one has a name of its own.
 */
export async function claimRun(options: ClaimRunOptions): Promise<RunLedger> {
  const { client, name, list, onTaken } = options;
  const owner = describeOwner();
  for (let place = 1; ; place += 1) {
    const runId = place === 1 ? name : `${name}-${place}`;
    if (await claim(client, runId, JSON.stringify(owner))) {
      return openLedger(client, runId, { owner, list });
    }
    if (place === 1) onTaken();
  }
}

/**
 * Claims a run that is lost, under the name that it had.
 *
 * @returns undefined when somebody has it
 */
export async function claimLostRun(
  client: RedisClient,
  runId: string,
): Promise<RunLedger | undefined> {
  const owner = describeOwner();
  if (!(await claim(client, runId, JSON.stringify(owner)))) return undefined;
  const list = (await client.hget(ledgerKey(runId), OPEN_FIELD)) ?? '';
  return openLedger(client, runId, { owner, list });
}

/** Whether a run has lookups on the queue. */
export async function areChunksOut(client: RedisClient, runId: string): Promise<boolean> {
  const fields = await client.hkeys(ledgerKey(runId));
  return fields.some((field) => field !== OPEN_FIELD);
}

function describeOwner(): object {
  return { host: hostname(), pid: process.pid, at: Date.now() };
}

async function claim(client: RedisClient, runId: string, owner: string): Promise<boolean> {
  const key = claimKey(runId);
  const tryClaim = async (): Promise<boolean> =>
    (await client.set(key, owner, 'PX', CLAIM_MS, 'NX')) !== null;
  if (await tryClaim()) return true;
  if (isDead(await client.get(key))) {
    await client.del(key);
    if (await tryClaim()) return true;
  }
  // Whoever is alive renews the claim; that of a process killed on another machine runs out.
  let leftMs = await client.pttl(key);
  while (leftMs > 0) {
    await delay(250);
    const nowLeftMs = await client.pttl(key);
    if (nowLeftMs > leftMs) return false;
    leftMs = nowLeftMs;
  }
  return await tryClaim();
}

/** Whether the owner of a claim was a process of this machine that is gone. */
function isDead(claim: string | null): boolean {
  if (claim === null) return true;
  const { host, pid } = JSON.parse(claim) as { host: string; pid: number };
  if (host !== hostname()) return false;
  return !isRunning(pid);
}

function openLedger(
  client: RedisClient,
  runId: string,
  { owner, list }: { readonly owner: object; readonly list: string },
): RunLedger {
  const key = ledgerKey(runId);
  // Also puts both back when Redis has lost everything. What a run that is killed leaves goes by itself.
  const date = async (): Promise<void> => {
    const saying = client
      .multi()
      .set(claimKey(runId), JSON.stringify(owner), 'PX', CLAIM_MS)
      .hset(key, OPEN_FIELD, list);
    for (const left of [key, ...runQueueKeys(runId)]) saying.pexpire(left, KEPT_MS);
    await saying.exec();
  };
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
      await client.del(claimKey(runId), ...(isOver ? [key] : []));
    },
  };
}

function claimKey(runId: string): string {
  return `${PREFIX}:claim:${runId}`;
}
