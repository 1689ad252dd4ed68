import type { Cluster, Redis } from 'ioredis';
import type { OnNotice } from '../../../common/notice.ts';

/** The one `maxmemory-policy` under which a Redis refuses writes rather than to throw keys away. */
export const NO_EVICTION = 'noeviction';

const POLICY_LINE = /^maxmemory_policy:(\S*)\r?\n?/m;

/** What another policy means for a queue, and what to do about it. */
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
 * Tells once of a policy that was changed after the start, and takes it out of what BullMQ reads: at
 * each queue that it opens it would write a warning of its own to standard error, into our log.
 */
export function createEvictionWatch(onNotice: OnNotice): (client: Redis | Cluster) => void {
  let known: Set<string> | undefined; // at the start it was checked, and told

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
      // With arguments it is asked by the client itself, which wants all of it.
      info: async (...args: unknown[]) =>
        args.length > 0 ? await info(...args) : withoutPolicy(await info()),
      // A worker waits for jobs over another connection, which it opens like this.
      duplicate: (...args: unknown[]) => {
        const other = duplicate(...args);
        watch(other);
        return other;
      },
    };
    Object.assign(client, ours);
  };
}
