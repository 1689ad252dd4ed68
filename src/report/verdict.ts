import {
  describeGoingOn,
  describeNothing,
  describePruned,
  describeStop,
} from '../watch/describe.ts';
import type { StatusCounts } from '../watch/summary.ts';
import type { Stop } from '../worker/stop-switch.ts';

/** The facts of a run's end that decide what the report says about it. */
export interface RunEnd {
  readonly rows: number;
  readonly statuses: Readonly<StatusCounts>;
  readonly calls: number;
  readonly stopped: Stop | undefined;
  /** What went wrong, for people; undefined when the rows were written. */
  readonly error: string | undefined;
}

/** The first sentences of a report. */
export interface Verdict {
  readonly end: 'done' | 'some_failed' | 'nothing_found' | 'stopped' | 'interrupted' | 'error';
  /** How it went, in a sentence. */
  readonly headline: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly next: string;
}

/** Says in a sentence whether the run worked, and what to do. */
export function judge(run: RunEnd): Verdict {
  const { stopped, error, statuses } = run;
  if (error !== undefined) {
    return {
      end: 'error',
      headline: 'It ended with an error before the rows were written.',
      next: `${error} What was found is kept: run the same command again to go on.`,
    };
  }
  if (stopped) return judgeStopped(run, stopped);
  if (statuses.failed + statuses.stale > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}${failed(statuses)}.`,
      next: 'Run the same command again: it tries those that failed, and asks nothing else that is fresh.',
    };
  }
  if (statuses.pending > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}, ${rows(statuses.pending)} pending.`,
      next: 'Run the same command again: it asks at once about those that are pending, and about nothing else that is fresh.',
    };
  }
  if (statuses.skipped > 0) {
    return {
      end: 'some_failed',
      headline: `Done: ${enriched(run)}, ${rows(statuses.skipped)} skipped.`,
      next: `${describePruned(statuses.skipped)} Run the same command again.`,
    };
  }
  const nothing = describeNothing(run);
  if (nothing !== undefined) {
    return {
      end: 'nothing_found',
      headline: `Done, but nothing was found: ${enriched(run)}.`,
      next: nothing,
    };
  }
  return { end: 'done', headline: `Done: ${enriched(run)}.`, next: '' };
}

function judgeStopped(run: RunEnd, stopped: Stop): Verdict {
  const { skipped: left, stale } = run.statuses;
  const skipped =
    (left === 0 ? '' : `; ${rows(left)} not asked`) + (stale === 0 ? '' : `; ${kept(stale)}`);
  const again = describeGoingOn(stopped);
  if (stopped.reason === 'interrupted') {
    return {
      end: 'interrupted',
      headline: `Interrupted: ${enriched(run)}${skipped}.`,
      next: again,
    };
  }
  const why = describeStop(stopped).replace(' No further call is made.', '');
  return {
    end: 'stopped',
    headline: `Stopped early: ${enriched(run)}${skipped}.`,
    next: `${why} ${again}`,
  };
}

/** `all 22 rows enriched`, `15 of 22 rows enriched`. */
function enriched({ rows: total, statuses }: RunEnd): string {
  if (total === 0) return 'the list has no rows';
  if (statuses.found === total)
    return total === 1 ? 'the row was enriched' : `all ${rows(total)} enriched`;
  return `${statuses.found.toLocaleString('en-US')} of ${rows(total)} enriched`;
}

/** `, 2 rows failed, 3 rows keep an older answer`. */
function failed({ failed, stale }: RunEnd['statuses']): string {
  return (failed === 0 ? '' : `, ${rows(failed)} failed`) + (stale === 0 ? '' : `, ${kept(stale)}`);
}

function kept(stale: number): string {
  return `${rows(stale)} ${stale === 1 ? 'keeps' : 'keep'} an older answer`;
}

function rows(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'row' : 'rows'}`;
}
