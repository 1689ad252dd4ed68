import type { Definitions } from '../read-settings.ts';
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
    | 'keepSharedHosts'
    | 'encoding'
    | 'noHeader'
    | 'skipLines'
    | 'chunk'
    | 'api'
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
  keepSharedHosts,
  encoding,
  noHeader,
  skipLines,
  chunk,
  api,
  baseUrl,
  param,
  acceptEviction,
} = SETTINGS;

/** Defines all settings of `add`; those that `enrich` has too are the same. */
export const ADD_SETTINGS: Definitions<AddSettings> = {
  queue: {
    ...queue,
    description: 'Redis to put the lookups on, such as redis://localhost:6379/0',
  },
  sheet,
  domainColumn,
  registrable,
  keepFreeMail,
  keepSharedHosts,
  encoding,
  noHeader,
  skipLines,
  chunk: { ...chunk, description: 'number of lookups sent to a worker together' },
  ref: {
    value: 'TEXT',
    description: 'reference that comes back with each outcome (default: the name of the file)',
    parse: text,
  },
  interactive: {
    description:
      'go ahead of all lists that were added without this option, because somebody is waiting for the outcomes',
    parse: flag,
  },
  api: {
    ...api,
    description:
      'profile of the API to ask, by its name or as a file; workers with another one leave the lookups alone (default: any)',
  },
  baseUrl: {
    ...baseUrl,
    description:
      'base URL of the API to ask; workers for another API leave the lookups alone (default: any)',
  },
  param: {
    ...param,
    description: 'with --base-url: query parameter that the worker must have too',
  },
  acceptEviction,
};
