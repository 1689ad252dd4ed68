import { meaningOfName } from '../columns/column-name.ts';
import type { DomainColumn } from '../columns/domain-column.ts';
import { invalidDomain } from './address.ts';
import { type NormalizedDomain, readCell } from './domain.ts';
import { isFreeMail } from './shared-hosts.ts';

/** Reads the domain in a cell of one column. */
export type DomainReader = (cell: string) => NormalizedDomain;

export interface DomainReaderOptions {
  /** The column that the cells belong to. */
  readonly column: Pick<DomainColumn, 'name'>;
  /** Reduce each domain to its registrable part. */
  readonly registrable?: boolean | undefined;
}

/**
 * Makes a reader of a column. A domain at which anybody can have an e-mail address says nothing
 * about the company of such an address. So these addresses are invalid, in whatever column. Such
 * domains alone are invalid too, in a column that is named for e-mail (`Email Domain`). A website
 * at such a domain is valid. Pages on hosts that many share are invalid in the same way; such a host
 * alone is its owner's.
 */
export function createDomainReader({
  column,
  registrable = false,
}: DomainReaderOptions): DomainReader {
  const isNamedForEmail = meaningOfName(column.name).kind === 'email';
  return (cell) => {
    const found = readCell(cell, registrable);
    if ('invalid' in found) return found;
    const { domain, host, isEmail, isShared } = found;
    if (isShared) return SHARED_HOST;
    if (isEmail || isNamedForEmail) {
      // Some of these domains are below the registrable part, such as those of one city.
      if (isFreeMail(domain) || isFreeMail(host)) return FREE_MAIL;
    }
    return { domain };
  };
}

const FREE_MAIL = invalidDomain('free_mail');
const SHARED_HOST = invalidDomain('shared_host');
