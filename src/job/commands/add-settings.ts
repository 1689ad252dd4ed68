import type { Definitions } from '../setting-definition.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { flag, text } from '../values/setting-values.ts';

/** All settings of `add`, read and checked. */
export interface AddSettings
  extends Pick<
    Settings,
    | 'queue'
    | 'sheet'
    | 'domainColumn'
    | 'registrable'
    | 'keepFreeMail'
    | 'encoding'
    | 'noHeader'
    | 'skipLines'
    | 'chunk'
    | 'baseUrl'
    | 'param'
    | 'acceptEviction'
  > {
  readonly ref: string | undefined;
  readonly interactive: boolean | undefined;
}

const {
  queue,
  sheet,
  domainColumn,
  registrable,
  keepFreeMail,
  encoding,
  noHeader,
  skipLines,
  chunk,
  baseUrl,
  param,
  acceptEviction,
} = SETTINGS;

/** Defines all settings of `add`; those that `enrich` has too are the same. */
export const ADD_SETTINGS: Definitions<AddSettings> = {
  queue: {
    ...queue,
    description: 'the Redis that lookups are put on, such as redis://localhost:6379/0',
  },
  sheet,
  domainColumn,
  registrable,
  keepFreeMail,
  encoding,
  noHeader,
  skipLines,
  chunk: { ...chunk, description: 'how many lookups travel together' },
  ref: {
    value: 'TEXT',
    description: 'comes back with each outcome (default: the name of the file)',
    parse: text,
  },
  interactive: {
    description: 'somebody waits for the outcomes: go before all lists that were added without it',
    parse: flag,
  },
  baseUrl: {
    ...baseUrl,
    description:
      'the API that is meant: workers of another one leave the lookups alone (default: any)',
  },
  param: {
    ...param,
    description: 'with --base-url: a query parameter that the worker must have too',
  },
  acceptEviction,
};
