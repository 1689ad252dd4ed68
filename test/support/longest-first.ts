import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Whose tests take long, mostly waiting, those first: else one file runs on when all others are done. */
const ORDER = ['chaos', 'simulation', 'browser', 'integration', 'docs'];

/** Starts the longest test files first, also where vitest does not know yet how long they take. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = ORDER.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
  return place === -1 ? ORDER.length : place;
}
