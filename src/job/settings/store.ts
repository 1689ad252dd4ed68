import type { Definitions } from '../read-settings.ts';
import { duration, flag, share, text } from '../values/setting-values.ts';

/**
 * Settings of the answers that are kept between runs, and of how long they count. Durations are in
 * milliseconds.
 */
export interface FreshnessSettings {
  readonly fresh: number;
  readonly freshNotFound: number;
  readonly freshRejected: number;
  readonly freshJitter: number;
  readonly maxStale: number | undefined;
  readonly refresh: boolean | undefined;
  readonly onlyMissing: boolean | undefined;
  readonly store: string;
}

export const STORE_SETTINGS: Definitions<FreshnessSettings> = {
  fresh: {
    value: 'DURATION',
    default: '30d',
    description: 'how long an answer stays fresh; after that, the domain is looked up again',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshNotFound: {
    value: 'DURATION',
    default: '7d',
    description: 'the same for domains that were not found',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshRejected: {
    value: 'DURATION',
    default: '7d',
    description: 'the same for domains that the API refused',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  freshJitter: {
    value: 'SHARE',
    default: '20%',
    description:
      'shorten these durations at random by up to this share, so that answers fetched in one night do not all expire in one night; 0 for none',
    parse: share,
  },
  maxStale: {
    value: 'DURATION',
    description:
      'how old an answer may be that a row keeps when its domain could not be looked up; 0 for none (default: any age)',
    parse: duration(0, Number.MAX_SAFE_INTEGER),
  },
  refresh: {
    description: 'look up every domain again, however fresh its answer is',
    parse: flag,
  },
  onlyMissing: {
    description:
      'look up only domains that were never found, even if they were tried recently; found answers stay, however old',
    parse: flag,
  },
  store: {
    value: 'DIR',
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    description: 'folder that keeps answers between runs',
    parse: text,
  },
};
