import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from '../../../common/is-running.ts';
import { KEPT_MS, ledgerKey, logKey, PREFIX, runQueueKeys } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/**
 * Notes in Redis which chunks carry the lookups of a run. Workers that cut a chunk or give one back
 * note it there. After a run was killed, its successor finds there what it had given out.
 */
export interface RunLedger {
  readonly runId: string;
  /** The chunks that are out, with their domains. */
  read(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Notes chunks before they are added to the queue. */
  note(chunks: ReadonlyMap<string, readonly string[]>): Promise<void>;
  /** Notes that nothing more is expected of chunks. */
  strike(chunks: readonly string[]): Promise<void>;
  /** Sets an expiry on all keys that the run has by now, in case the run is killed. */
  date(): Promise<void>;
  /** Releases the run. With `isOver` its ledger is removed. */
  close(isOver: boolean): Promise<void>;
}

const CLAIM_MS = 10_000;
const BEAT_MS = 3_000;
/**
 * A field that every ledger has, so that it exists while no chunk is out. It holds the name of the
 * list.
 */
export const OPEN_FIELD = 'open';

/** Whether a run still waits for outcomes. */
export async function isRunOpen(client: RedisClient, runId: string): Promise<boolean> {
  return (await client.exists(ledgerKey(runId))) === 1;
}

/**
 * The domains of a chunk that a run still waits for; undefined when the run no longer has the
 * chunk.
 */
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
  /** Domains that the chunk itself is still to be answered for. */
  readonly kept: readonly string[];
  /** The chunks that carry the rest. */
  readonly by: ReadonlyMap<string, readonly string[]>;
}

/**
 * Replaces a chunk by others in the ledger of its run, apart from domains whose outcomes are known.
 */
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
  /** The name of the run: the same for the same list on the same store. */
  readonly name: string;
  /** The name of the list, for people. */
  readonly list: string;
  /** Called when a run of that name is going on elsewhere. This run then gets a name of its own. */
  readonly onTaken: () => void;
}

/**
 * Claims a run by its name, so that it resumes an earlier run that was killed. While a run of that
 * name is alive, the next one gets a name of its own.
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
 * Claims a lost run under its own name.
 *
 * @returns undefined when another process has it
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
  // A live process renews its claim. The claim of a process killed on another machine expires.
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
  // Also restores both when Redis has lost everything. The keys of a killed run expire.
  const date = async (): Promise<void> => {
    const saying = client
      .multi()
      .set(claimKey(runId), JSON.stringify(owner), 'PX', CLAIM_MS)
      .hset(key, OPEN_FIELD, list);
    for (const left of [key, ...runQueueKeys(runId)]) saying.pexpire(left, KEPT_MS);
    await saying.exec();
  };
  const beat = (): void => void date().catch(() => {}); // the next beat will do
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
      // Not a transaction, which costs as much as ten commands, because it learns all scripts of
      // BullMQ.
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
