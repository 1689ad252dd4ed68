import { BrandfillError } from '../../common/errors.ts';
import { parseRedisUrl } from '../../common/redis-url.ts';
import type { Definitions } from '../read-settings.ts';
import { duration, flag, integer, text } from '../values/setting-values.ts';

/** Settings of a run over Redis. Durations are in milliseconds. */
export interface QueueSettings {
  readonly queue: string | undefined;
  readonly workers: number;
  readonly chunk: number;
  readonly window: number | undefined;
  readonly lostAfter: number;
  readonly acceptEviction: boolean | undefined;
}

const ZERO_OR_ONE = integer(0, 1);

export const QUEUE_SETTINGS: Definitions<QueueSettings> = {
  queue: {
    value: 'URL',
    env: 'BRANDFILL_QUEUE',
    description:
      'Redis that carries lookups to workers, such as redis://localhost:6379/0 (default: none; this process makes all lookups)',
    parse: queueUrl,
  },
  workers: {
    value: '0 or 1',
    default: '1',
    description:
      'with --queue: 1 makes lookups in this process too, 0 leaves them all to other workers',
    range: ZERO_OR_ONE.range,
    parse: workersHere,
  },
  chunk: {
    value: 'N',
    default: '50',
    description:
      'with --queue: number of lookups sent to a worker together; fewer for a short list',
    ...integer(1, 1_000),
  },
  window: {
    value: 'N',
    description:
      'with --queue: maximum number of chunks outstanding at the same time (default: enough for this --concurrency, at least 64)',
    ...integer(1, 1_000_000),
  },
  lostAfter: {
    value: 'DURATION',
    default: '15s',
    description:
      'with --queue: how long a worker may be silent before others take over its lookups',
    parse: duration(1_000, 60 * 60_000),
  },
  acceptEviction: {
    description: 'use a Redis even if it may evict lookups when its memory is full',
    parse: flag,
  },
};

/** A run has one worker or none, whatever number somebody hopes for. */
function workersHere(value: unknown): number {
  try {
    return ZERO_OR_ONE.parse(value);
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `expected 0 or 1 (more workers are processes of their own: brandfill worker), received '${String(value)}'`,
      { cause: error },
    );
  }
}

/** Checks the URL before anything is read or called, and returns it unchanged. */
function queueUrl(value: unknown): string {
  const url = text(value);
  parseRedisUrl(url);
  return url;
}
