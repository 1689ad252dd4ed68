/** @import { RunChange, RunState } from '../board.ts' */

/**
 * A run after a change of it; fields that are null are gone.
 *
 * @param {RunState | undefined} before
 * @param {RunChange} change
 * @returns {RunState}
 */
export function mergeRun(before, { newHistory, ...change }) {
  const fields = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  const run = /** @type {RunState} */ (/** @type {unknown} */ (Object.fromEntries(fields)));
  return newHistory ? { ...run, history: [...run.history, ...newHistory] } : run;
}
