import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createEndpoint } from '../brand/endpoint.ts';
import { BrandfillError } from '../common/errors.ts';
import { libraryNaming } from '../enrich.ts';
import type { StoreSettings } from '../job/commands/store-settings.ts';
import { readSettings } from '../job/read-settings.ts';
import type { Definitions } from '../job/setting-definition.ts';
import { DATABASE } from '../store/store-files.ts';
import { openTables, type StoreTables } from '../store/tables.ts';
import { writeError } from '../store/told-writes.ts';
import type { StoreChoice, StoreOptionNaming } from './store-choice.ts';

/** A store that is open, and what is to be done with it. */
export interface OpenedStore<T> {
  readonly tables: StoreTables;
  readonly settings: T;
  /** The API that was chosen. */
  readonly endpointId: string | undefined;
}

export interface OpenStoreTask<T extends StoreSettings> {
  readonly options: StoreChoice;
  readonly definitions: Definitions<T>;
  readonly naming?: StoreOptionNaming | undefined;
  /** Makes the store where there is none. @default false */
  readonly mayMake?: boolean;
  /** Whether nothing is written, which works on a full disk too. @default false */
  readonly isToRead?: boolean;
}

/**
 * Reads the options, opens the store, and closes it when the work is done.
 *
 * @throws BrandfillError `INVALID_SETTING` or `UNUSABLE_STORE`
 */
export async function withOpenedStore<T extends StoreSettings, R>(
  { options, definitions, naming = libraryNaming, mayMake = false, ...how }: OpenStoreTask<T>,
  work: (opened: OpenedStore<T>) => Promise<R>,
): Promise<R> {
  const { params, ...given } = options;
  const sources = { given: { ...given, param: params }, env: process.env, describe: naming };
  const settings = readSettings(definitions, sources as Parameters<typeof readSettings<T>>[1]);
  const endpointId = endpointIdOf(settings, naming);
  const { store: folder } = settings;
  if (!mayMake && !existsSync(join(folder, DATABASE))) {
    throw new BrandfillError(
      'UNUSABLE_STORE',
      `Cannot open the store ${folder}: there is none; name its folder with ${naming('store')}.`,
    );
  }
  const tables = await openTables(folder, how);
  try {
    return await work({ tables, settings, endpointId });
  } catch (error) {
    throw isLmdbError(error) ? writeError(folder, error) : error;
  } finally {
    await tables.close();
  }
}

function endpointIdOf(
  { baseUrl, param }: StoreSettings,
  naming: StoreOptionNaming,
): string | undefined {
  if (baseUrl !== undefined) return createEndpoint({ baseUrl, params: param ?? [] }).id;
  if (param === undefined) return undefined;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${naming('param')} alone: it tells which API is meant only along with ${naming('baseUrl')}.`,
  );
}

/** lmdb marks what went wrong with a write by LMDB's own number, or by the error behind it. */
function isLmdbError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return 'commitError' in error || ('code' in error && typeof error.code === 'number');
}
