import { setTimeout as delay } from 'node:timers/promises';
import { describeOwner, describeSelf, isHere, type Owner } from '../../../common/owner.ts';
import { ledgerKey, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** The claim of this process on the name of a run: whoever has it goes on with what is on the queue under it. */
export interface RunClaim {
  readonly runId: string;
  /**
   * Says that this process is there. A claim that another process has made meanwhile, because nothing was
   * heard of this one for long, is left alone.
   *
   * @returns who has the name now, if that is another process
   */
  renew(): Promise<Holder | undefined>;
  /**
   * Gives the name up, and with `isOver` forgets what is noted under it. Where another process has the
   * name, nothing is done.
   */
  release(isOver: boolean): Promise<void>;
}

/** For people. */
export type Holder = string;

const CLAIM_MS = 10_000;
const LOOK_MS = 250;

/**
 * KEYS: the claim. ARGV: the claim to be made, the one that it may replace, how long it counts in
 * milliseconds. Returns the claim that is in the way.
 */
const CLAIM = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[2] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return false
`;

/** KEYS: the claim, and what goes with it. ARGV: the own claim. */
const RELEASE = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
return redis.call('DEL', unpack(KEYS))
`;

/**
 * Claims the name of a run. That of a process of this machine which is gone is replaced at once; one that
 * cannot be looked up from here is waited for until it is renewed or has run out.
 *
 * @returns undefined when another process has the name
 */
export async function findClaim(client: RedisClient, runId: string): Promise<RunClaim | undefined> {
  const key = claimKey(runId);
  const self = describeSelf();
  const own = JSON.stringify(self);

  /** Of two processes that find the same claim dead, only the first one still finds it there. */
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
      await delay(LOOK_MS);
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
      const keys = isOver ? [key, ledgerKey(runId)] : [key];
      await client.eval(RELEASE, keys.length, ...keys, own);
    },
  };
}

/** Earlier versions noted another shape, of which nothing can be looked up. */
function parseOwner(claim: string): Owner {
  return { pid: 0, startedAt: '', place: '', token: '', ...(JSON.parse(claim) as Partial<Owner>) };
}

function claimKey(runId: string): string {
  return `${PREFIX}:claim:${runId}`;
}
