import { isAnswer, type Outcome } from '../brand/outcome.ts';
import type { Shape } from '../brand/shape.ts';
import { timeIn } from './entries.ts';
import { encodeOutcome } from './outcome-codec.ts';
import { keyOf, type StoreTables } from './tables.ts';

/** An outcome from elsewhere. */
export interface IncomingOutcome {
  readonly endpointId: string;
  readonly outcome: Outcome;
  /** The columns of its answer; undefined when it has too many. */
  readonly shape: Shape | undefined;
}

/**
 * Puts outcomes into a store, in one transaction, where it has no outcome of the domain as new.
 *
 * @returns how many were put
 */
export async function putNewer(
  { root, lock, answers, failures, shapes }: StoreTables,
  incoming: readonly IncomingOutcome[],
): Promise<number> {
  const encoded = incoming.map(({ endpointId, outcome, shape }) => {
    const shapeId = shapes.idOf(shape);
    const value = encodeOutcome(outcome, shapeId);
    return { key: keyOf(endpointId, outcome.domain), outcome, value, shapeId, shape };
  });
  const put = (): number => {
    let count = 0;
    for (const { key, outcome, value, shapeId, shape } of encoded) {
      const table = isAnswer(outcome.status) ? answers : failures;
      const isKnown = (timeIn(table, key) ?? -1) >= outcome.fetchedAtMs;
      const isOutdated = table === failures && (timeIn(answers, key) ?? -1) >= outcome.fetchedAtMs;
      if (isKnown || isOutdated) continue;
      table.putSync(key, value);
      shapes.keep(shapeId, shape);
      count += 1;
    }
    return count;
  };
  return await lock.hold(() => root.transaction(put));
}
