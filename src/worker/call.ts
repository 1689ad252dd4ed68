import type { Answer } from '../brand/answer.ts';
import type { BrandClient } from '../brand/client.ts';
import type { Clock } from '../pace/clock.ts';
import type { Turnstile } from '../pace/turnstile.ts';
import type { Budget } from './budget.ts';
import type { StopSwitch } from './stop-switch.ts';

/** What has been done so far. */
export interface CallCounters {
  /** HTTP requests made, those answered 429 included. */
  calls: number;
  /** Calls that were answered 429. */
  throttled: number;
  /** Times a lookup was tried again after a failure. */
  retries: number;
}

/** What every call needs. */
export interface CallContext {
  readonly client: BrandClient;
  readonly turnstile: Turnstile;
  readonly budget: Budget;
  readonly stopSwitch: StopSwitch;
  readonly counters: CallCounters;
  readonly clock: Clock;
}

/** The run stopped before there was an answer. */
export class NotAskedError extends Error {
  override readonly name = 'NotAskedError';
}

/**
 * Makes one call when the budget has one left and the pacer says so, and tells both what came of it.
 *
 * @throws NotAskedError when the budget is used up
 * @throws the stop switch's reasons when the run stops first
 */
export async function callInTurn(
  path: string,
  context: CallContext,
): Promise<{ readonly answer: Answer; readonly sentAtMs: number }> {
  const { client, turnstile, budget, stopSwitch, counters, clock } = context;
  if (!(await budget.reserve(stopSwitch.noNewCall))) {
    stopSwitch.stop({ reason: 'max_calls' });
    throw new NotAskedError();
  }
  try {
    await turnstile.enter(stopSwitch.noNewCall);
  } catch (error) {
    budget.giveBack();
    throw error;
  }
  const sentAtMs = clock.nowMs();
  counters.calls += 1;
  let answer: Answer;
  try {
    answer = await client.call(path, stopSwitch.noCall);
  } catch (error) {
    budget.spend(); // given up while under way: it may well be billed
    throw error;
  }
  if (answer.kind === 'throttled') {
    counters.throttled += 1;
    budget.giveBack();
  } else {
    budget.spend();
    if (answer.httpStatus !== undefined) turnstile.accepted();
  }
  return { answer, sentAtMs };
}
