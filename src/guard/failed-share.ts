/** Detects that too many lookups have failed. */
export interface FailedShare {
  /**
   * A lookup has ended.
   *
   * @returns true when more than the share have failed, out of enough lookups to tell
   */
  add(isFailure: boolean): boolean;
}

/** Fewer lookups than this say nothing about the rest. */
const LEAST_LOOKUPS = 200;

/** @param most the share that may fail, 0 to 1 */
export function createFailedShare(most: number): FailedShare {
  let lookups = 0;
  let failures = 0;
  return {
    add: (isFailure) => {
      lookups += 1;
      if (isFailure) failures += 1;
      return lookups >= LEAST_LOOKUPS && failures > most * lookups;
    },
  };
}
