import { isAnswer, type Outcome } from '../brand/outcome.ts';
import type { Shape } from '../brand/shape.ts';
import { timeIn } from './entries.ts';
import { encodeOutcome } from './outcome-codec.ts';
import { keyOf, type StoreTables } from './tables.ts';

/** An outcome from elsewhere. */
export interface IncomingOutcome {
  readonly endpointId: string;
  readonly outcome: Outcome;
  /** The columns of its answer. */
  readonly shape: Shape;
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
  // Before the transaction, because a shape must exist before an outcome refers to it.
  const encoded = incoming.map(({ endpointId, outcome, shape }) => ({
    key: keyOf(endpointId, outcome.domain),
    outcome,
    value: encodeOutcome(outcome, shape.length > 0 ? shapes.idOf(shape) : 0),
  }));
  const put = (): number => {
    let count = 0;
    for (const { key, outcome, value } of encoded) {
      const table = isAnswer(outcome.status) ? answers : failures;
      const isKnown = (timeIn(table, key) ?? -1) >= outcome.fetchedAtMs;
      const isOutdated = table === failures && (timeIn(answers, key) ?? -1) >= outcome.fetchedAtMs;
      if (isKnown || isOutdated) continue;
      table.putSync(key, value);
      count += 1;
    }
    return count;
  };
  return await lock.hold(() => root.transaction(put));
}
