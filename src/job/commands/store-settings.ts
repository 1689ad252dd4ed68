import type { OutcomeStatus } from '../../brand/outcome.ts';
import { BrandfillError } from '../../common/errors.ts';
import type { Definitions } from '../read-settings.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { duration, flag, text } from '../values/setting-values.ts';

/** Chooses a store, and one of the APIs in it. */
export type StoreSettings = Pick<Settings, 'store' | 'baseUrl' | 'param'>;

const { store, param, registrable } = SETTINGS;

/**
 * Settings of all commands that look after a store. The base URL of the environment does not choose
 * among APIs.
 */
export const STORE_SETTINGS: Definitions<StoreSettings> = {
  store: { ...store, description: 'folder of the store' },
  baseUrl: {
    value: 'URL',
    description: 'only outcomes from this API (default: all in the store)',
    parse: (value) => SETTINGS.baseUrl.parse(value),
  },
  param: { ...param, description: 'with --base-url: query parameter that goes with every call' },
};

export interface GetSettings extends StoreSettings, Pick<Settings, 'registrable'> {}

export const GET_SETTINGS: Definitions<GetSettings> = { ...STORE_SETTINGS, registrable };

const dryRun = { description: 'count only; remove nothing', parse: flag };

export interface DeleteSettings extends GetSettings {
  readonly dryRun: boolean | undefined;
}

export const DELETE_SETTINGS: Definitions<DeleteSettings> = { ...GET_SETTINGS, dryRun };

export interface ExportSettings extends StoreSettings {
  readonly out: string | undefined;
  readonly status: OutcomeStatus | undefined;
}

export const EXPORT_SETTINGS: Definitions<ExportSettings> = {
  ...STORE_SETTINGS,
  out: {
    value: 'FILE',
    description: 'write the outcomes to this file (default: standard output)',
    parse: text,
  },
  status: {
    value: 'STATUS',
    description: 'only outcomes with this status: found, not_found, rejected or failed',
    parse: parseStatus,
  },
};

export interface PruneSettings extends StoreSettings {
  readonly olderThan: number | undefined;
  readonly dryRun: boolean | undefined;
}

export const PRUNE_SETTINGS: Definitions<PruneSettings> = {
  ...STORE_SETTINGS,
  olderThan: {
    value: 'DURATION',
    description: 'remove outcomes older than this, such as 180d',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  dryRun,
};

export const IMPORT_SETTINGS: Definitions<StoreSettings> = {
  ...STORE_SETTINGS,
  baseUrl: {
    ...STORE_SETTINGS.baseUrl,
    description: 'import all outcomes for this API (default: the one that each line names)',
  },
};

const STATUSES: readonly OutcomeStatus[] = ['found', 'not_found', 'rejected', 'failed', 'pending'];

function parseStatus(value: unknown): OutcomeStatus {
  const status = STATUSES.find((known) => known === value);
  if (status !== undefined) return status;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected found, not_found, rejected or failed, received '${String(value)}'`,
  );
}
