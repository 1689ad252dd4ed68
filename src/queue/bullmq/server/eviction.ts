import type { Cluster, Redis } from 'ioredis';
import type { OnNotice } from '../../../common/notice.ts';

/** The only `maxmemory-policy` under which a Redis refuses writes rather than evicts keys. */
export const NO_EVICTION = 'noeviction';

const POLICY_LINE = /^maxmemory_policy:(\S*)\r?\n?/m;

/** The harm that another policy does to a queue, and the cure. */
export function describeEviction(policy: string): { readonly harm: string; readonly cure: string } {
  return {
    harm: `its maxmemory-policy is ${policy}: when its memory is full it throws lookups away`,
    cure: `set it with: redis-cli config set maxmemory-policy ${NO_EVICTION}`,
  };
}

/** @param policy such as `allkeys-lru` */
export function evictionWarning(policy: string): string {
  const { harm, cure } = describeEviction(policy);
  return `This Redis may lose lookups: ${harm}; ${cure}.`;
}

/**
 * Reports once when the policy was changed after the start. It also hides the policy from BullMQ,
 * which would print a warning to standard error for each queue that it opens.
 */
export function createEvictionWatch(onNotice: OnNotice): (client: Redis | Cluster) => void {
  let known: Set<string> | undefined; // the policy was checked and reported at the start

  function withoutPolicy(info: string): string {
    const policy = POLICY_LINE.exec(info)?.[1];
    if (policy === undefined) return info;
    known ??= new Set([NO_EVICTION, policy]);
    if (!known.has(policy)) onNotice(evictionWarning(policy));
    known.add(policy);
    return info.replace(POLICY_LINE, '');
  }

  return function watch(client) {
    const info = client.info.bind(client) as (...args: unknown[]) => Promise<string>;
    const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => Redis | Cluster;
    const ours = {
      // With arguments, the client itself asks, and it needs the full answer.
      info: async (...args: unknown[]) =>
        args.length > 0 ? await info(...args) : withoutPolicy(await info()),
      // A worker waits for jobs on another connection, which it opens with this function.
      duplicate: (...args: unknown[]) => {
        const other = duplicate(...args);
        watch(other);
        return other;
      },
    };
    Object.assign(client, ours);
  };
}
