import type { Encoding } from '../../rows/encoding/encodings.ts';
import type { Definitions } from '../read-settings.ts';
import { parseEncoding } from '../values/encoding.ts';
import { flag, integer, text } from '../values/setting-values.ts';

/** Settings of how a list is read. */
export interface ListSettings {
  readonly sheet: string | undefined;
  readonly domainColumn: string | undefined;
  readonly registrable: boolean | undefined;
  readonly keepFreeMail: boolean | undefined;
  readonly keepSharedHosts: boolean | undefined;
  readonly encoding: Encoding | undefined;
  readonly noHeader: boolean | undefined;
  readonly skipLines: number | undefined;
}

export const LIST_SETTINGS: Definitions<ListSettings> = {
  sheet: {
    value: 'NAME',
    description:
      'sheet of the workbook that contains the list (default: the first that is not empty)',
    parse: text,
  },
  domainColumn: {
    value: 'NAME',
    description:
      'name of the column that holds the domain, or its position in a CSV file, from 1 (default: guessed from names and content, and reported)',
    parse: text,
  },
  registrable: {
    description:
      'reduce each domain to its registrable part: shop.example.co.uk becomes example.co.uk',
    parse: flag,
  },
  keepFreeMail: {
    description:
      'look up the domain of an email address even at a free mail provider, such as gmail.com',
    parse: flag,
  },
  keepSharedHosts: {
    description:
      'look up the host of a page even where many share it, such as facebook.com or bit.ly',
    parse: flag,
  },
  encoding: {
    value: 'NAME',
    description:
      'encoding of the list, such as windows-1252 or utf-16 (default: detected, and reported)',
    parse: (value) => parseEncoding(text(value)),
  },
  noHeader: {
    description:
      'treat the first line of a CSV file as a row; columns are named column_1, column_2, …',
    parse: flag,
  },
  skipLines: {
    value: 'N',
    description: 'skip the first N lines of a CSV file, those above its header',
    ...integer(0, 1_000),
  },
};
