import { CronExpressionParser } from 'cron-parser';
import { findNearest, isTimezone } from '../common/text.ts';

/** The times at which a job runs by itself. */
export interface Schedule {
  /** Five fields (minute, hour, day, month, weekday), six with seconds in front, or `@daily`. */
  readonly cron: string;
  /** Such as `Europe/Berlin`; the machine's own when it is not given. */
  readonly timezone?: string | undefined;
}

/** Says what is wrong with a cron expression; undefined if it is right. */
export function findCronProblem(cron: string): string | undefined {
  const fields = cron.trim().split(/\s+/).length;
  const isMacro = cron.trim().startsWith('@');
  if (!isMacro && fields !== 5 && fields !== 6) {
    return `expected five fields (minute, hour, day, month, weekday) such as '30 2 * * *', received '${cron}'`;
  }
  if (RANDOM_TIME.test(cron)) {
    return `'${cron}' has no fixed times: H is another value whenever it is read; give a number for each H`;
  }
  try {
    CronExpressionParser.parse(cron.trim(), { tz: 'UTC' }).next(); // it may name days that never come
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `'${cron}' is no cron expression such as '30 2 * * *': ${reason}`;
  }
}

/**
 * cron-parser draws a value for each `H`, as Jenkins does. It draws anew each time, so the job would
 * be due several times a day, or not at all.
 */
const RANDOM_TIME = /(?<![A-Za-z])H(?![A-Za-z])/;

/** Says what is wrong with a time zone; undefined if it is right. */
export function findTimezoneProblem(timezone: string): string | undefined {
  if (isTimezone(timezone)) return undefined;
  const meant = findNearest(timezone, Intl.supportedValuesOf('timeZone'));
  const hint =
    meant === undefined ? 'expected a name such as Europe/Berlin' : `did you mean '${meant}'?`;
  return `there is no time zone '${timezone}'; ${hint}`;
}
