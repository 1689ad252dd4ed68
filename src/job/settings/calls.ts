import type { CallsPer } from '../../guard/shared-budget.ts';
import type { Rate } from '../../pace/rate.ts';
import type { Definitions } from '../read-settings.ts';
import { parseCallsPer, parseMaxCost, parsePrice, parseRate } from '../values/quantities.ts';
import { duration, flag, integer, share, text } from '../values/setting-values.ts';

/** Settings of how many calls are made, how fast, and when they stop. Durations are in milliseconds. */
export interface CallSettings {
  readonly concurrency: number;
  readonly rate: Rate | 'auto';
  readonly retries: number;
  readonly timeout: number;
  readonly maxWait: number;
  readonly maxOutage: number;
  readonly maxPending: number;
  readonly maxCalls: number | undefined;
  readonly maxCallsPer: CallsPer | undefined;
  readonly maxCost: number | undefined;
  readonly maxFailed: number;
  readonly price: number | undefined;
  readonly confirmAbove: number;
  readonly yes: boolean | undefined;
}

export const CALL_SETTINGS: Definitions<CallSettings> = {
  concurrency: {
    value: 'N',
    default: '32',
    description: 'maximum number of calls in flight at the same time',
    ...integer(1, 10_000),
  },
  rate: {
    value: 'N/s, N/min or auto',
    default: 'auto',
    description:
      'rate of calls to keep to, shared by all workers on a queue; auto finds the fastest rate that the API allows',
    parse: (value) => parseRate(text(value)),
  },
  retries: {
    value: 'N',
    default: '5',
    description: 'how many times to retry a lookup after a server error or a broken connection',
    ...integer(0, 100),
  },
  timeout: {
    value: 'DURATION',
    default: '60s',
    description: 'time limit for a single call',
    parse: duration(1, 2 ** 31 - 1),
  },
  maxWait: {
    value: 'DURATION',
    default: '15min',
    description: 'longest wait that the API may ask for; if it asks for more, the run stops',
    parse: duration(0, 2 ** 31 - 1),
  },
  maxOutage: {
    value: 'DURATION',
    default: '1h',
    description: 'how long to wait during an outage of the API before the run stops',
    parse: duration(0, 2 ** 31 - 1),
  },
  maxPending: {
    value: 'DURATION',
    default: '10min',
    description:
      'how long to ask again about a domain that the API has accepted and has no answer ready for (202)',
    parse: duration(0, 2 ** 31 - 1),
  },
  maxCalls: {
    value: 'N',
    description:
      'stop after N calls (429s do not count); the remaining rows are skipped, and the next run takes them up',
    ...integer(1, Number.MAX_SAFE_INTEGER),
  },
  maxCallsPer: {
    value: 'N/UNIT',
    description:
      'stop after N calls in a calendar min, hour, day or month (UTC), such as 1000/day; the calls of all runs with this credential count together, 429s do not count',
    parse: (value) => parseCallsPer(text(value)),
  },
  maxCost: {
    value: 'NUMBER',
    description:
      'stop before the API bills more than this, in the units of its profile, such as credits; the remaining rows are skipped, and the next run takes them up',
    parse: parseMaxCost,
  },
  maxFailed: {
    value: 'SHARE',
    default: '20%',
    description:
      'stop when more than this share of lookups fails, out of at least 200; those that failed in the previous run do not count',
    parse: share,
  },
  price: {
    value: 'NUMBER',
    description:
      'cost of a call, such as 0.01, or of a unit where the profile of the API says what it bills; the plan and the summary then show the total',
    parse: parsePrice,
  },
  confirmAbove: {
    value: 'N',
    default: '0',
    defaultInJobFile: '10000',
    description:
      'on a terminal, ask for confirmation before a run that makes more than N calls; the default in a job file is 10000',
    ...integer(0, Number.MAX_SAFE_INTEGER),
  },
  yes: {
    description: 'do not ask for confirmation',
    parse: flag,
  },
};
