import type { Definitions } from '../read-settings.ts';
import { SETTINGS, type Settings } from '../settings.ts';

/** Settings that `try` and `enrich` share, and the library calls by the same name. */
export type SharedTrySetting =
  | 'api'
  | 'baseUrl'
  | 'auth'
  | 'apiKeyFile'
  | 'registrable'
  | 'keepFreeMail'
  | 'keepSharedHosts'
  | 'fields'
  | 'maxColumns'
  | 'prefix'
  | 'rate'
  | 'retries'
  | 'timeout'
  | 'maxWait'
  | 'maxPending'
  | 'maxCallsPer'
  | 'fresh'
  | 'freshNotFound'
  | 'freshRejected'
  | 'freshJitter'
  | 'refresh'
  | 'store';

/** All settings of `try`, read and checked. */
export type TrySettings = Pick<Settings, SharedTrySetting | 'param' | 'header'>;

const { api, baseUrl, auth, apiKeyFile, param, header } = SETTINGS;
const { registrable, keepFreeMail, keepSharedHosts } = SETTINGS;
const { fields, maxColumns, prefix, rate, retries, timeout, maxWait, maxPending, maxCallsPer } =
  SETTINGS;
const { fresh, freshNotFound, freshRejected, freshJitter, refresh, store } = SETTINGS;

/**
 * Defines all settings of `try`. They are those of `enrich`, with defaults for somebody who is
 * waiting.
 */
export const TRY_SETTINGS: Definitions<TrySettings> = {
  api,
  baseUrl,
  auth,
  apiKeyFile,
  param,
  header,
  registrable,
  keepFreeMail,
  keepSharedHosts,
  fields,
  maxColumns,
  prefix,
  rate,
  retries: { ...retries, default: '2' },
  timeout,
  maxWait: { ...maxWait, default: '10s' },
  maxPending: { ...maxPending, default: '10s' },
  maxCallsPer,
  fresh,
  freshNotFound,
  freshRejected,
  freshJitter,
  refresh: {
    ...refresh,
    description: 'look the domain up again, however fresh the answer in the store is',
  },
  store,
};
