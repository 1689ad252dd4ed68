import { normalizeDomain } from '../domain/domain.ts';
import { isNothing } from '../domain/idioms.ts';

/** Facts about the sample cells of one column. */
export interface ColumnEvidence {
  /** share of all sampled rows that are not blank, 0 to 1 */
  readonly filled: number;
  /** share of the cells that are not blank and hold a domain, or several of them, 0 to 1 */
  readonly domains: number;
  /** most of these are e-mail addresses */
  readonly isEmail: boolean;
  /** three cells or more and nearly all at one registrable domain: links into one site */
  readonly isOneSite: boolean;
  /** the first cell that holds a domain, as it is in the file */
  readonly example: string | undefined;
}

const ONE_SITE_SHARE = 0.9;

/** Gathers facts about the cells of a column. */
export function evidenceOf(cells: readonly string[]): ColumnEvidence {
  const filled = cells.filter((cell) => !isNothing(cell));
  const perSite = new Map<string, number>();
  let domains = 0;
  let emails = 0;
  let example: string | undefined;
  for (const cell of filled) {
    const result = normalizeDomain(cell, { registrable: true });
    // Several addresses are none to look up, but show what the column is for.
    if ('invalid' in result && result.invalid !== 'several_domains') continue;
    domains += 1;
    if (/^[^/]*@/.test(cell)) emails += 1;
    if ('invalid' in result) continue;
    example ??= cell;
    perSite.set(result.domain, (perSite.get(result.domain) ?? 0) + 1);
  }
  const largest = Math.max(0, ...perSite.values());
  return {
    filled: share(filled.length, cells.length),
    domains: share(domains, filled.length),
    isEmail: emails * 2 > domains,
    isOneSite: domains >= 3 && largest >= ONE_SITE_SHARE * domains,
    example,
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
