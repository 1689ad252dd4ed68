import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Whose tests take long, mostly waiting, those first, else one file runs on when all others are
 * done; and beside them what computes all the time.
 */
const ORDER = [
  'integration/schedule.test',
  'chaos/queue-outage',
  'chaos/queue-stops',
  'chaos/queue-restart',
  'simulation/',
]
  .concat(['chaos/', 'integration/pace', 'integration/schedule'])
  .concat(['integration/queue', 'integration/call-budget', 'integration/hostile'])
  .concat(['browser/', 'integration/', 'docs/']);

/** Starts the longest test files first, also where vitest does not know yet how long they take. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = ORDER.findIndex((start) => moduleId.includes(`/test/${start}`));
  return place === -1 ? ORDER.length : place;
}
