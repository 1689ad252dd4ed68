import type { Definitions } from '../setting-definition.ts';
import { flag, text } from '../setting-values.ts';

/** Settings of how a list is read. */
export interface ListSettings {
  readonly domainColumn: string | undefined;
  readonly registrable: boolean | undefined;
  readonly keepFreeMail: boolean | undefined;
}

export const LIST_SETTINGS: Definitions<ListSettings> = {
  domainColumn: {
    value: 'NAME',
    description:
      'the column that holds the domain (default: guessed by name and content, and said)',
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
};
