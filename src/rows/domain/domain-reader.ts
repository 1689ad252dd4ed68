import { meaningOfName } from '../columns/column-name.ts';
import type { DomainColumn } from '../columns/domain-column.ts';
import { type NormalizedDomain, normalizeDomain } from './domain.ts';
import { invalidDomain } from './find-host.ts';
import { isFreeMail } from './free-mail.ts';

/** Reads the domain in a cell of one column. */
export type DomainReader = (cell: string) => NormalizedDomain;

export interface DomainReaderOptions {
  /** The column that the cells belong to. */
  readonly column: Pick<DomainColumn, 'name'>;
  /** Reduce each domain to its registrable part. */
  readonly registrable?: boolean | undefined;
  /** Take `jo@gmail.com` for `gmail.com`. @default false */
  readonly keepFreeMail?: boolean | undefined;
}

/**
 * Makes a reader of a column. A domain at which anybody can have an e-mail address says nothing
 * about the company of such an address. So these addresses are invalid, in whatever column. Such
 * domains alone are invalid too, in a column that is named for e-mail (`Email Domain`). A website
 * at such a domain is valid.
 */
export function createDomainReader({
  column,
  registrable = false,
  keepFreeMail = false,
}: DomainReaderOptions): DomainReader {
  if (keepFreeMail) return (cell) => normalizeDomain(cell, { registrable });
  const isNamedForEmail = meaningOfName(column.name).kind === 'email';
  return (cell) => {
    const found = normalizeDomain(cell, { registrable });
    if (!('domain' in found) || !(isNamedForEmail || isEmail(cell))) return found;
    return isFreeMail(found.domain) || (registrable && isFreeMailHost(cell)) ? FREE_MAIL : found;
  };
}

const FREE_MAIL = invalidDomain('free_mail');

/** `jo@acme.com`, `mailto:jo@acme.com`, `Jo <jo@acme.com>`, but not `https://jo@acme.com/`. */
function isEmail(cell: string): boolean {
  const at = cell.indexOf('@');
  return at !== -1 && !cell.slice(0, at).includes('/');
}

/** Some of these domains are below the registrable part, such as those of one city. */
function isFreeMailHost(cell: string): boolean {
  const found = normalizeDomain(cell);
  return 'domain' in found && isFreeMail(found.domain);
}
