import type { LimitHints } from '../../common/limit-hints.ts';
import type { Policy, Quota } from './policy.ts';

/**
 * Combines all policies into one that is as strict as the strictest of them. Undefined when they
 * say nothing.
 */
export function combinePolicies(all: readonly Policy[]): LimitHints | undefined {
  let quota: Quota | undefined;
  let concurrent: number | undefined;
  for (const policy of all) {
    if (policy.quota && (!quota || rateOf(policy.quota) < rateOf(quota))) quota = policy.quota;
    if (policy.concurrent !== undefined) {
      concurrent = Math.min(policy.concurrent, concurrent ?? policy.concurrent);
    }
  }
  const { remaining, resetMs } = narrowestOf(withUnits(all));
  if ((quota ?? remaining ?? resetMs ?? concurrent) === undefined) return undefined;
  return {
    ...(quota === undefined ? {} : { quota }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(resetMs === undefined ? {} : { resetMs }),
    ...(concurrent === undefined ? {} : { concurrent }),
  };
}

function rateOf({ count, perMs }: Quota): number {
  return count / perMs;
}

/** Gives each policy the unit that the policy of the same name has in another field. */
function withUnits(policies: readonly Policy[]): readonly Policy[] {
  const units = new Map<string, Policy['unit']>();
  for (const { name, unit } of policies) {
    if (name !== '' && unit !== 'requests') units.set(name, unit);
  }
  if (units.size === 0) return policies;
  return policies.map((policy) => ({ ...policy, unit: units.get(policy.name) ?? policy.unit }));
}

interface Rest {
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
}

/**
 * How many calls are left, and until when. Of used-up policies the last to reset counts, else the
 * policy with the fewest calls left.
 */
function narrowestOf(all: readonly Policy[]): Rest {
  // Concurrency permits come back with the answers, not with time.
  const policies = all.filter(({ unit }) => unit !== 'concurrent');
  const usedUp = policies.filter(({ remaining }) => remaining === 0);
  if (usedUp.length > 0) return { remaining: 0, resetMs: latestReset(usedUp) };
  let narrowest: Policy | undefined;
  for (const policy of policies) {
    // A number of bytes or points is not a number of calls.
    if (policy.remaining === undefined || policy.unit !== 'requests') continue;
    if (policy.remaining < (narrowest?.remaining ?? Number.POSITIVE_INFINITY)) narrowest = policy;
  }
  if (narrowest) return narrowest;
  const untold = policies.filter(({ remaining }) => remaining === undefined);
  return { remaining: undefined, resetMs: latestReset(untold) };
}

function latestReset(policies: readonly Policy[]): number | undefined {
  let latest: number | undefined;
  for (const { resetMs } of policies) {
    if (resetMs !== undefined) latest = Math.max(resetMs, latest ?? resetMs);
  }
  return latest;
}
