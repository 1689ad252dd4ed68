import type { Encoding } from '../../rows/encoding/encodings.ts';
import type { Definitions } from '../setting-definition.ts';
import { parseEncoding } from '../values/encoding.ts';
import { flag, integer, text } from '../values/setting-values.ts';

/** Settings of how a list is read. */
export interface ListSettings {
  readonly sheet: string | undefined;
  readonly domainColumn: string | undefined;
  readonly registrable: boolean | undefined;
  readonly keepFreeMail: boolean | undefined;
  readonly encoding: Encoding | undefined;
  readonly noHeader: boolean | undefined;
  readonly skipLines: number | undefined;
}

export const LIST_SETTINGS: Definitions<ListSettings> = {
  sheet: {
    value: 'NAME',
    description:
      'of a workbook, the sheet that has the list (default: the first that is not empty)',
    parse: text,
  },
  domainColumn: {
    value: 'NAME',
    description:
      'the column that holds the domain, or its place in a CSV file, from 1 (default: guessed by name and content, and said)',
    parse: text,
  },
  registrable: {
    description: 'reduce each domain to its registrable part: shop.example.co.uk to example.co.uk',
    parse: flag,
  },
  keepFreeMail: {
    description:
      'look up what comes behind the @ also where everybody can have an address, such as gmail.com',
    parse: flag,
  },
  encoding: {
    value: 'NAME',
    description:
      'the encoding of the list, such as windows-1252 or utf-16 (default: found out, and said)',
    parse: (value) => parseEncoding(text(value)),
  },
  noHeader: {
    description:
      'the first line of a CSV file is a row; its columns are called column_1, column_2, …',
    parse: flag,
  },
  skipLines: {
    value: 'N',
    description: 'leave out the first N lines of a CSV file, which stand above its header',
    ...integer(0, 1_000),
  },
};
