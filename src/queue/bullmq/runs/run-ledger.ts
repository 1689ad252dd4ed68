import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import {
  describeOwner,
  describeSelf,
  isHere,
  type Owner,
  startHeartbeat,
} from '../../../common/owner.ts';
import { CONTRACT_VERSION, chunkId, type LookupsData, type RunBounds } from '../contract.ts';
import {
  CHUNK_OPTIONS,
  doneKey,
  KEPT_MS,
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  ledgerKey,
  PREFIX,
  RUN_PRIORITY,
  runQueueName,
  runStreamKey,
} from '../names.ts';
import { createServerClock, type RedisClient } from '../server/redis.ts';
import { createRetrier } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';

/**
 * Notes in Redis which chunks carry the lookups of a run. Workers that cut a chunk or give one back
 * note it there. After a run was killed, its successor finds there what it had given out.
 */
export interface RunLedger {
  readonly runId: string;
  /** The chunks that are out, with those of their domains that no worker has reported. */
  read(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** The same for one chunk; undefined when it is no longer noted. */
  readLeft(chunk: string): Promise<readonly string[] | undefined>;
  /** Notes chunks before they are added to the queue. */
  note(chunks: ReadonlyMap<string, readonly string[]>): Promise<void>;
  /** Notes that nothing more is expected of chunks, of what their workers have not reported. */
  strike(chunks: readonly string[]): Promise<void>;
  /**
   * Sets an expiry on all keys that the run has by now, in case the run is killed.
   *
   * @returns whether the run still has its name: another run may own it meanwhile
   */
  touch(): Promise<boolean>;
  /** Releases the run. With `isOver` its ledger is removed, unless another run has the name. */
  close(isOver: boolean): Promise<void>;
}

const HEARTBEAT_MS = 3_000;
/**
 * A field that every ledger has, so that it exists while no chunk is out. It holds the name of the
 * list.
 */
export const OPEN_FIELD = 'open';

/**
 * The domains of a chunk that a run waits for and no worker has reported; undefined when the run no longer
 * has the chunk.
 */
export async function readLeft(
  client: RedisClient,
  runId: string,
  chunk: string,
): Promise<readonly string[] | undefined> {
  // In this order: whoever finishes the chunk strikes it before it removes what is done.
  const [reported, noted] = await Promise.all([
    client.get(doneKey(chunk)),
    client.hget(ledgerKey(runId), chunk),
  ]);
  return noted === null ? undefined : withoutReported(noted, reported);
}

function withoutReported(noted: string, reported: string | null | undefined): readonly string[] {
  const done = new Set(reported?.split('\n'));
  return (JSON.parse(noted) as string[]).filter((domain) => !done.has(domain));
}

/** Replaces a chunk by others in the ledger of its run. What it has outcomes for is reported. */
export async function replaceChunk(
  client: RedisClient,
  runId: string,
  chunk: string,
  by: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const key = ledgerKey(runId);
  const multi = client.multi();
  for (const [id, domains] of by) multi.hset(key, id, JSON.stringify(domains));
  await multi.hdel(key, chunk).del(doneKey(chunk)).exec();
}

export interface OwnRunOptions {
  readonly client: RedisClient;
  /** The name of the run: the same for the same list on the same store. */
  readonly name: string;
  /** The name of the list, for people. */
  readonly list: string;
  /** Called when another run owns the name, or takes it because this one was silent for too long. */
  readonly onNotice: (message: string) => void;
}

/**
 * Owns a run by its name, so that it resumes an earlier run that was killed. While a run of that
 * name is alive, the next one gets a name of its own.
 */
export async function ownRun(options: OwnRunOptions): Promise<RunLedger> {
  const { client, name, onNotice } = options;
  for (let place = 1; ; place += 1) {
    const ownership = await becomeOwner(client, place === 1 ? name : `${name}-${place}`);
    if (ownership) return openLedger(client, ownership, options);
    if (place === 1) onNotice(KEEPS_APART);
  }
}

const KEEPS_APART =
  'Another run is already enriching the same list on this store; the two are kept apart on the queue.';

/**
 * Takes over a lost run under its own name.
 *
 * @returns undefined when another process has it
 */
export async function ownLostRun(
  client: RedisClient,
  runId: string,
  onNotice: OwnRunOptions['onNotice'],
): Promise<RunLedger | undefined> {
  const ownership = await becomeOwner(client, runId);
  if (!ownership) return undefined;
  const list = (await client.hget(ledgerKey(runId), OPEN_FIELD)) ?? '';
  return openLedger(client, ownership, { list, onNotice });
}

/** Whether a run has lookups on the queue. */
export async function areChunksOut(client: RedisClient, runId: string): Promise<boolean> {
  const fields = await client.hkeys(ledgerKey(runId));
  return fields.some((field) => field !== OPEN_FIELD);
}

function openLedger(
  client: RedisClient,
  ownership: RunOwnership,
  { list, onNotice }: Pick<OwnRunOptions, 'list' | 'onNotice'>,
): RunLedger {
  const { runId } = ownership;
  const key = ledgerKey(runId);
  let isOvertaken = false;
  let isClosed = false;

  // Also restores both when Redis has lost everything. The keys of a killed run expire.
  async function touch(): Promise<boolean> {
    const holder = await ownership.renew();
    if (holder !== undefined && !isOvertaken) onNotice(describeOvertaken(holder));
    isOvertaken = holder !== undefined;
    if (isOvertaken || isClosed) return !isOvertaken;
    const saying = client.multi().hset(key, OPEN_FIELD, list);
    for (const left of [key, runStreamKey(runId)]) saying.pexpire(left, KEPT_MS);
    await saying.exec();
    return true;
  }

  const heartbeat = startHeartbeat(HEARTBEAT_MS, touch);
  return {
    runId,
    touch,
    read: async () => {
      const { [OPEN_FIELD]: _, ...noted } = await client.hgetall(key);
      const chunks = Object.entries(noted);
      if (chunks.length === 0) return new Map();
      const reported = await client.mget(chunks.map(([id]) => doneKey(id)));
      return new Map(
        chunks.map(([id, domains], at) => [id, withoutReported(domains, reported[at])]),
      );
    },
    readLeft: (chunk) => readLeft(client, runId, chunk),
    note: async (chunks) => {
      const entries = [...chunks].flatMap(([id, domains]) => [id, JSON.stringify(domains)]);
      if (entries.length > 0) await client.hset(key, ...entries);
    },
    strike: async (chunks) => {
      if (chunks.length === 0) return;
      // Not a transaction, which costs as much as ten commands, because it learns all scripts of
      // BullMQ.
      await Promise.all([client.hdel(key, ...chunks), client.del(...chunks.map(doneKey))]);
    },
    close: async (isOver) => {
      heartbeat.close();
      isClosed = true;
      await ownership.release(isOver);
    },
  };
}

function describeOvertaken(by: string): string {
  return `Another run (${by}) has taken over the lookups that this run has on the queue, because this run was silent for too long. Both go on, and the outcomes of both are kept.`;
}

/** That this process owns the name of a run, and so all that is on the queue under that name. */
interface RunOwnership {
  readonly runId: string;
  /**
   * Extends it. If this process was silent for too long, another one may own the name by now, and keeps it.
   *
   * @returns the process that has the name now, if it is another one
   */
  renew(): Promise<OwnerText | undefined>;
  /**
   * Releases the name, and with `isOver` removes the ledger under it. Does nothing if another process
   * has the name.
   */
  release(isOver: boolean): Promise<void>;
}

/** A process, described for people. */
type OwnerText = string;

const OWNED_MS = 10_000;
const POLL_MS = 250;

/**
 * KEYS: the owner. ARGV: the one to be, the one that it may replace, for how long in milliseconds. Returns the
 * owner that is in the way.
 */
const OWN = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] and owner ~= ARGV[2] then return owner end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return false
`;

/**
 * KEYS: the owner, and the keys to be removed with it, first the ledger. ARGV: this process, and how a key
 * begins where it is noted what is done of a chunk. A chunk may still be in the ledger, if its outcomes came
 * from a worker that has lost it.
 */
const RELEASE = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
if KEYS[2] then
  for _, chunk in ipairs(redis.call('HKEYS', KEYS[2])) do redis.call('DEL', ARGV[2] .. chunk) end
end
return redis.call('DEL', unpack(KEYS))
`;

/**
 * Makes this process own the name of a run. A dead process of this machine is replaced at once. An owner whose
 * process cannot be looked up from here is waited for until it is renewed or has expired.
 *
 * @returns undefined when another process has the name
 */
async function becomeOwner(client: RedisClient, runId: string): Promise<RunOwnership | undefined> {
  const key = ownerKey(runId);
  const self = describeSelf();
  const ours = JSON.stringify(self);

  /** If two processes find the same owner dead, only the first one replaces it. */
  async function take(replaceable = ''): Promise<string | undefined> {
    const owner = await client.eval(OWN, 1, key, ours, replaceable, OWNED_MS);
    return typeof owner === 'string' ? owner : undefined;
  }

  async function replaceDead(): Promise<boolean> {
    let owner = await take();
    while (owner !== undefined && isHere(parseOwner(owner), self) === false)
      owner = await take(owner);
    return owner === undefined;
  }

  async function outlast(): Promise<boolean> {
    let leftMs = await client.pttl(key);
    while (leftMs > 0) {
      await delay(POLL_MS);
      const nowLeftMs = await client.pttl(key);
      if (nowLeftMs > leftMs) return false;
      leftMs = nowLeftMs;
    }
    return (await take()) === undefined;
  }

  if (!(await replaceDead()) && !(await outlast())) return undefined;
  return {
    runId,
    renew: async () => {
      const owner = await take();
      return owner === undefined ? undefined : describeOwner(parseOwner(owner));
    },
    release: async (isOver) => {
      const keys = isOver ? [key, ledgerKey(runId), runStreamKey(runId)] : [key];
      await client.eval(RELEASE, keys.length, ...keys, ours, doneKey(''));
    },
  };
}

/** An owner of an earlier version has other members. Its process cannot be looked up. */
function parseOwner(owner: string): Owner {
  return { pid: 0, startedAt: '', place: '', token: '', ...(JSON.parse(owner) as Partial<Owner>) };
}

function ownerKey(runId: string): string {
  return `${PREFIX}:claim:${runId}`;
}

/** The chunks that a run gives to workers. */
export interface GivenChunks {
  /** The queue where they wait. */
  readonly queue: Queue;
  /**
   * Puts domains on the queue as a chunk, however long Redis refuses it.
   *
   * @param round tells apart chunks with the same domains that follow each other. @default none does
   * @throws the reason of `giveUp` when that fires first
   */
  readonly give: (domains: readonly string[], round?: number) => Promise<void>;
  /**
   * Returns chunks that no worker has begun to the run. Returns the domains that are left of them. Leaves
   * out those that Redis does not let go for now.
   */
  readonly returnToRun: () => Promise<readonly (readonly string[])[]>;
  close(): Promise<void>;
}

export interface GivenChunksOptions extends RunBounds {
  readonly client: RedisClient;
  readonly ledger: RunLedger;
  /** The API that is meant. */
  readonly api: string;
  /** Domains without an outcome yet. */
  readonly outstanding: ReadonlySet<string>;
  readonly giveUp: AbortSignal;
  readonly onNotice: (message: string) => void;
}

export function openGivenChunks(options: GivenChunksOptions): GivenChunks {
  const { client, ledger, api, maxCalls, maxCost, outstanding, giveUp, onNotice } = options;
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...queueOptions(client) });
  queue.on('error', () => {}); // errors of the connections are reported elsewhere
  const retrier = createRetrier(onNotice);
  const now = createServerClock(client);
  const terms: Omit<LookupsData, 'domains'> = {
    v: CONTRACT_VERSION,
    replyTo: runQueueName(ledger.runId),
    api,
    ...(maxCalls === undefined ? {} : { maxCalls }),
    ...(maxCost === undefined ? {} : { maxCost }),
  };

  async function takeBack(id: string): Promise<readonly string[]> {
    const job = await queue.getJob(id);
    const isWithdrawn = await job?.remove().then(
      () => true,
      () => false, // a worker has it
    );
    if (!isWithdrawn && job) return [];
    // Its worker may have finished it just now, or an earlier worker was lost in the middle of it.
    const domains = (await ledger.readLeft(id)) ?? [];
    await ledger.strike([id]);
    return domains.filter((domain) => outstanding.has(domain));
  }

  return {
    queue,
    give: async (domains, round) => {
      // The worker may not have removed the job of the round before yet.
      const rounds = round === undefined ? [] : [String(round)];
      const id = chunkId(ledger.runId, [...domains, ...rounds]);
      const data: LookupsData = { ...terms, domains: [...domains] };
      const jobOptions = { ...CHUNK_OPTIONS, jobId: id, priority: RUN_PRIORITY };
      await retrier.retryUntilAborted(async () => {
        const [timestamp] = await Promise.all([now(), ledger.note(new Map([[id, domains]]))]);
        await queue.add(LOOKUPS_JOB, data, { ...jobOptions, timestamp });
      }, giveUp);
    },
    returnToRun: async () => {
      const chunks = await ledger.read();
      // What was taken back is on no queue any more: it must not be lost with what could not be.
      const left = await Promise.all([...chunks.keys()].map((id) => takeBack(id).catch(() => [])));
      return left.filter((domains) => domains.length > 0);
    },
    close: () => queue.close(),
  };
}
