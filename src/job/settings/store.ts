import type { Definitions } from '../setting-definition.ts';
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
  readonly refresh: boolean | undefined;
  readonly onlyMissing: boolean | undefined;
  readonly store: string;
}

export const STORE_SETTINGS: Definitions<FreshnessSettings> = {
  fresh: {
    value: 'DURATION',
    default: '30d',
    description: 'how long an answer counts before the domain is asked again',
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
      'by how much less of these durations an answer may count, each by chance, so that what was fetched in one night is not due in one night; 0 for none',
    parse: share,
  },
  refresh: {
    description: 'ask about every domain again, however fresh its answer is',
    parse: flag,
  },
  onlyMissing: {
    description:
      'ask only about domains that were never found, also those asked a short while ago; what was found stays, however old',
    parse: flag,
  },
  store: {
    value: 'DIR',
    env: 'BRANDFILL_STORE',
    default: '.brandfill',
    description: 'where answers are kept between runs',
    parse: text,
  },
};
