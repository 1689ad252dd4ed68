import { expect, it } from 'vitest';
import { LookupSession } from '../../../src/run/lookups/session.ts';
import { outcomeOf } from '../../store/outcomes.ts';

/** A session about domains with three rows each, and what commits what is put into its store. */
function openSession(domains: readonly string[]) {
  const commits: (() => void)[] = [];
  const put = (): Promise<void> => new Promise((resolve) => void commits.push(resolve));
  const api = {
    name: 'one',
    job: { settings: { maxWait: 60_000, maxFailed: 0.2 } },
    store: { put, findHead: () => undefined },
  };
  const options = { rowsOf: () => 3, startedAtMs: 0, now: () => 5_000 };
  const session = new LookupSession(api as never, domains.length, options);
  for (const domain of domains) session.outstanding.add(domain);
  return { session, commit: () => commits.splice(0).forEach((end) => end()) };
}

it('an outcome counts once, when it is stored; then nothing is outstanding', async () => {
  const { session, commit } = openSession(['a.com', 'b.com']);
  const outcomes = ['a.com', 'b.com', 'a.com'].map((domain) => outcomeOf(domain));
  const collected = session.parking.collect(outcomes);
  let isQuiet = false;
  const quiet = session.outstanding.untilEmpty(session.stopSwitch.noNewCall).then(() => {
    isQuiet = true;
  });
  await new Promise(setImmediate);
  expect([session.done, isQuiet]).toEqual([0, false]);
  commit();
  await Promise.all([collected, quiet]);
  expect([session.done, session.outcomes.found, session.rows.found]).toEqual([2, 2, 6]);
  expect(session.counters.calls).toBe(2);
});

it('what is pending stays outstanding until a stop, and its calls count', async () => {
  const { session, commit } = openSession(['a.com']);
  const pending = outcomeOf('a.com', { status: 'pending', json: '', attempts: 1, calls: 2 });
  await session.parking.collect([pending]);
  expect([session.done, session.counters.calls, [...session.outstanding]]).toEqual([
    0,
    2,
    ['a.com'],
  ]);
  const quiet = session.outstanding.untilEmpty(session.stopSwitch.noNewCall);
  session.stopSwitch.stop({ reason: 'interrupted' });
  await quiet;
  const closing = session.parking.close();
  await new Promise(setImmediate);
  commit();
  await closing;
  expect([session.done, session.counters.calls]).toEqual([1, 2]);
});
