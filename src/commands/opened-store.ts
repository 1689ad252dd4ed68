import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BrandfillError } from '../common/errors.ts';
import { findEndpointIds, readSettingsWithProfile } from '../options/api.ts';
import type { StoreChoice, StoreOptionNaming } from '../options/command-options.ts';
import { STORE_OPTIONS, type StoreSettings } from '../options/command-options.ts';
import type { SettingsOf } from '../options/option.ts';
import { libraryNaming } from '../options/read-options.ts';
import { DATABASE } from '../store/store-files.ts';
import { openTables, type StoreTables } from '../store/tables.ts';
import { isLmdbError, readError, writeError } from '../store/writes.ts';

/** An open store with the settings of a command. */
export interface OpenedStore<T> {
  readonly tables: StoreTables;
  readonly settings: T;
  /** The API that was chosen. */
  readonly endpointId: string | undefined;
}

export interface OpenStoreTask<D extends typeof STORE_OPTIONS> {
  readonly options: StoreChoice;
  readonly declared: D;
  readonly naming?: StoreOptionNaming | undefined;
  /** Whether to create the store if there is none. @default false */
  readonly mayMake?: boolean;
  /** Whether nothing is written, which works on a full disk too. @default false */
  readonly isToRead?: boolean;
}

/**
 * Reads the options, opens the store, and closes it when the work is done.
 *
 * @throws BrandfillError `INVALID_SETTING` or `UNUSABLE_STORE`
 */
export async function withOpenedStore<D extends typeof STORE_OPTIONS, R>(
  { options, declared, naming = libraryNaming, mayMake = false, ...how }: OpenStoreTask<D>,
  work: (opened: OpenedStore<SettingsOf<D>>) => Promise<R>,
): Promise<R> {
  const sources = { given: { ...options }, env: process.env, describe: naming };
  const { settings, profile } = readSettingsWithProfile(declared, sources);
  const endpointId = findEndpointIds(settings, naming, profile)?.id;
  const { store: folder } = settings as StoreSettings;
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
    throw explain(folder, error);
  } finally {
    await tables.close();
  }
}

/** lmdb marks a failed write with the error of its commit. */
function explain(folder: string, error: unknown): unknown {
  if (error instanceof Error && 'commitError' in error) return writeError(folder, error);
  return isLmdbError(error) ? readError(folder, error) : error;
}
