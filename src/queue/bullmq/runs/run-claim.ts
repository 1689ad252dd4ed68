import { setTimeout as delay } from 'node:timers/promises';
import { describeOwner, describeSelf, isHere, type Owner } from '../../../common/owner.ts';
import { ledgerKey, PREFIX, runStreamKey } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** The claim of this process on the name of a run, and so on all that is on the queue under that name. */
export interface RunClaim {
  readonly runId: string;
  /**
   * Extends the claim. If this process was silent for too long, another process may have claimed the
   * name meanwhile. Its claim is left alone.
   *
   * @returns the process that has the name now, if it is another one
   */
  renew(): Promise<Holder | undefined>;
  /**
   * Releases the name, and with `isOver` removes the ledger under it. Does nothing if another process
   * has the name.
   */
  release(isOver: boolean): Promise<void>;
}

/** A process, described for people. */
export type Holder = string;

const CLAIM_MS = 10_000;
const POLL_MS = 250;

/**
 * KEYS: the claim. ARGV: the claim to be made, the one that it may replace, its expiry in milliseconds.
 * Returns the claim that is in the way.
 */
const CLAIM = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[2] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return false
`;

/** KEYS: the claim, and the keys to be removed with it. ARGV: the own claim. */
const RELEASE = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
return redis.call('DEL', unpack(KEYS))
`;

/**
 * Claims the name of a run. A claim of a dead process of this machine is replaced at once. A claim whose
 * process cannot be looked up from here is waited for until it is renewed or has expired.
 *
 * @returns undefined when another process has the name
 */
export async function findClaim(client: RedisClient, runId: string): Promise<RunClaim | undefined> {
  const key = claimKey(runId);
  const self = describeSelf();
  const own = JSON.stringify(self);

  /** If two processes find the same claim dead, only the first one replaces it. */
  async function claim(replaceable = ''): Promise<string | undefined> {
    const held = await client.eval(CLAIM, 1, key, own, replaceable, CLAIM_MS);
    return typeof held === 'string' ? held : undefined;
  }

  async function replaceDead(): Promise<boolean> {
    let held = await claim();
    while (held !== undefined && isHere(parseOwner(held), self) === false) held = await claim(held);
    return held === undefined;
  }

  async function outlast(): Promise<boolean> {
    let leftMs = await client.pttl(key);
    while (leftMs > 0) {
      await delay(POLL_MS);
      const nowLeftMs = await client.pttl(key);
      if (nowLeftMs > leftMs) return false;
      leftMs = nowLeftMs;
    }
    return (await claim()) === undefined;
  }

  if (!(await replaceDead()) && !(await outlast())) return undefined;
  return {
    runId,
    renew: async () => {
      const held = await claim();
      return held === undefined ? undefined : describeOwner(parseOwner(held));
    },
    release: async (isOver) => {
      const keys = isOver ? [key, ledgerKey(runId), runStreamKey(runId)] : [key];
      await client.eval(RELEASE, keys.length, ...keys, own);
    },
  };
}

/** A claim of an earlier version has other members. Its process cannot be looked up. */
function parseOwner(claim: string): Owner {
  return { pid: 0, startedAt: '', place: '', token: '', ...(JSON.parse(claim) as Partial<Owner>) };
}

function claimKey(runId: string): string {
  return `${PREFIX}:claim:${runId}`;
}
