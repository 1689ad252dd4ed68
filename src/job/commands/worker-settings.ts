import type { Definitions } from '../read-settings.ts';
import { STATUS_SETTINGS } from '../settings/listen.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { duration } from '../values/setting-values.ts';

/** Settings that `worker` and `enrich` share, and the library calls by the same name. */
export type SharedWorkerSetting =
  | 'queue'
  | 'api'
  | 'baseUrl'
  | 'auth'
  | 'apiKeyFile'
  | 'concurrency'
  | 'rate'
  | 'retries'
  | 'timeout'
  | 'maxWait'
  | 'maxOutage'
  | 'maxPending'
  | 'maxCallsPer'
  | 'lostAfter'
  | 'acceptEviction'
  | 'listen'
  | 'allowHost';

/** All settings of `worker`, read and checked. Durations are in milliseconds. */
export interface WorkerSettings extends Pick<Settings, SharedWorkerSetting | 'param' | 'header'> {
  readonly drain: number;
}

const { queue, api, baseUrl, auth, apiKeyFile, param, header } = SETTINGS;
const { concurrency, rate, retries, timeout, maxWait, maxOutage, maxPending, maxCallsPer } =
  SETTINGS;
const { lostAfter, acceptEviction } = SETTINGS;

/** Defines all settings of `worker`; those that `enrich` has too are the same. */
export const WORKER_SETTINGS: Definitions<WorkerSettings> = {
  queue: { ...queue, description: 'Redis to take lookups from' },
  api,
  baseUrl,
  auth,
  apiKeyFile,
  param,
  header,
  concurrency,
  rate,
  retries,
  timeout,
  maxWait,
  maxOutage,
  maxPending: {
    ...maxPending,
    description: `${maxPending.description}; a run goes by its own`,
  },
  maxCallsPer,
  drain: {
    value: 'DURATION',
    default: '25s',
    description: 'how long calls in flight may still take once the worker is told to stop',
    parse: duration(0, 2 ** 31 - 1),
  },
  lostAfter,
  acceptEviction,
  ...STATUS_SETTINGS,
};
