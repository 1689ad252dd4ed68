import type { OutcomeStatus } from '../brand/outcome.ts';
import { DAY_MS } from '../common/format.ts';
import { readEntries, readTable } from './entries.ts';
import { STORE_VERSION } from './lmdb-file.ts';
import { findLogoNote } from './notes.ts';
import type { StoreStats } from './stats.ts';
import { sizeOnDisk } from './store-files.ts';
import { findApiName, type StoreTables } from './tables.ts';

const AGES_DAYS = [1, 7, 30, 90, 180, 365];

/** Counts what is in a store. */
export function countStore(
  tables: StoreTables,
  {
    folder,
    endpointId,
    nowMs,
  }: { readonly folder: string; readonly endpointId: string | undefined; readonly nowMs: number },
): StoreStats {
  const statuses = noStatuses();
  const apis = new Map<string, Record<OutcomeStatus, number>>();
  const ages = Array.from({ length: AGES_DAYS.length + 1 }, () => 0);
  let oldestAtMs: number | undefined;
  let newestAtMs: number | undefined;

  for (const entries of readEntries(tables, { endpointId })) {
    for (const { endpointId: api, head, isLatest } of entries) {
      if (!isLatest) continue;
      const { status, fetchedAtMs } = head;
      const ofApi = apis.get(api) ?? noStatuses();
      apis.set(api, ofApi);
      ofApi[status] += 1;
      statuses[status] += 1;
      const place = AGES_DAYS.findIndex((days) => nowMs - fetchedAtMs < days * DAY_MS);
      const at = place === -1 ? AGES_DAYS.length : place;
      ages[at] = (ages[at] ?? 0) + 1;
      oldestAtMs = Math.min(oldestAtMs ?? fetchedAtMs, fetchedAtMs);
      newestAtMs = Math.max(newestAtMs ?? fetchedAtMs, fetchedAtMs);
    }
  }
  let leftOver = 0;
  for (const batch of readTable(tables.leftOver, endpointId)) leftOver += batch.length;
  let logos = 0;
  for (const batch of readTable(tables.logos, endpointId)) {
    logos += batch.filter(({ key }) => findLogoNote(tables.logos, key)?.saved).length;
  }

  return {
    folder,
    version: STORE_VERSION,
    sizeBytes: sizeOnDisk(folder),
    statuses,
    apis: [...apis].map(([api, ofApi]) => ({
      api,
      name: findApiName(tables.meta, api),
      statuses: ofApi,
    })),
    ages: ages.map((outcomes, at) => ({ underDays: AGES_DAYS[at], outcomes })),
    oldestAtMs,
    newestAtMs,
    leftOver,
    logos,
  };
}

function noStatuses(): Record<OutcomeStatus, number> {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
}
