import { onTestFinished } from 'vitest';
import { type Claims, type ClaimsOptions, createClaims } from '../../../src/store/claims/claims.ts';

/** A run, as far as its claims go. */
export interface Run extends Claims {
  readonly underWay: Set<string>;
  /** Claims what is not done. */
  want(...domains: readonly string[]): ReturnType<Claims['take']>;
}

/** The number of no process. */
export const NOBODY_PID = 2 ** 22 + 1;

/** Opens the claims of a run until the test ends. */
export function openRun(
  folder: string,
  { done = new Set(), ...options }: Partial<ClaimsOptions> & { done?: Set<string> } = {},
): Run {
  const underWay = new Set<string>();
  const endpointId = 'an-api';
  const claims = createClaims(folder, { endpointId, underWay, onOthers: () => {}, ...options });
  onTestFinished(() => claims.close());
  return {
    ...claims,
    underWay,
    want: (...domains) => {
      for (const domain of domains) underWay.add(domain);
      const taken = claims.take(domains, (domain) => done.has(domain));
      for (const domain of domains) if (!taken.granted.includes(domain)) underWay.delete(domain);
      return taken;
    },
  };
}
