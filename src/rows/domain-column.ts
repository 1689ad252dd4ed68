import { meaningOfName, type NameFit, type NameKind } from './column-name.ts';
import { normalizeDomain } from './domain.ts';

/** The column that a row's domain is taken from. */
export interface DomainColumn {
  /** position among the columns, from 0 */
  readonly index: number;
  /** the name as it stands in the file */
  readonly name: string;
  /** what it was told by */
  readonly by: 'name' | 'content' | 'option';
  /** the first sample cell that holds a domain, as it stands in the file */
  readonly example: string | undefined;
}

/** What the sample cells of one column hold. */
interface Evidence {
  /** share of all sampled rows that are not blank, 0 to 1 */
  readonly filled: number;
  /** share of the cells that are not blank and hold a domain, 0 to 1 */
  readonly domains: number;
  /** most of these are e-mail addresses */
  readonly isEmail: boolean;
  /** three cells or more and nearly all at one registrable domain: links into one site */
  readonly isOneSite: boolean;
  readonly example: string | undefined;
}

const MAX_SAMPLE_ROWS = 200;
/** A dirty list is still a list: fewer domains than this speak against a plain name. */
const MIN_SHARE_NAMED = 0.5;
/** Without a name, nearly every cell has to be one. Free text that mentions domains is far below. */
const MIN_SHARE_UNNAMED = 0.8;
const ONE_SITE_SHARE = 0.9;
const PLACEHOLDER = /^(?:n\/?a|#n\/a|null|nil|none|unknown|undefined|tbd|[-–—?.]+)$/i;
/** Names of fields of flattened objects that end in what is a top-level domain too. */
const DOTTED_FIELD =
  /^(?!www\.)\w+(?:\.\w+)*\.(?:name|id|email|website|domains|company|site|host|contact|zip|phone|tel|city|country|page|link|date)$/i;

/** What a column is worth before its cells count; they add up to 40. */
const WORTH_WITH_CELLS: Readonly<Record<NameFit, Readonly<Record<NameKind, number>>>> = {
  plain: { domain: 90, web: 80, email: 60 },
  qualified: { domain: 75, web: 72, email: 55 },
  foreign: { domain: 50, web: 45, email: 35 },
};
const WORTH_UNNAMED = { address: 70, email: 40, foreign: 30 };
const WORTH_WITHOUT_CELLS: Readonly<Record<NameKind, number>> = { domain: 30, web: 25, email: 20 };
const WORTH_OF_ONE_SITE: Readonly<Record<NameKind, number>> = { domain: 15, web: 12, email: 10 };

/**
 * Finds the column that most likely holds the domains, by its name and its cells together.
 *
 * A plain name (`domain`, then `website` or `url`, then `email`) is believed unless its cells
 * contradict it, and needs none. Any other column needs cells that normalise to domains: four in
 * five without a telling name, half in a list of one column. Links that all lead to one site, such
 * as profiles, do not count. Where several are plausible the best is taken, the leftmost of equals.
 *
 * @param columns names of the columns
 * @param sample the first rows, as cells; 200 of them are looked at
 */
export function guessDomainColumn(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const rows = sample.slice(0, MAX_SAMPLE_ROWS);
  let best: DomainColumn | undefined;
  let bestWorth = 0;
  for (const [index, name] of columns.entries()) {
    const evidence = evidenceOf(rows.map((row) => row[index] ?? ''));
    const worth = worthOf(name, evidence, columns.length === 1);
    if (worth <= bestWorth) continue;
    bestWorth = worth;
    const by = meaningOfName(name).kind === undefined ? 'content' : 'name';
    best = { index, name, by, example: evidence.example };
  }
  return best;
}

/**
 * Finds the column that most likely holds the domains by its name, whatever its cells are: for rows
 * that were left over because they hold none. Of names that are worth the same, cells decide.
 */
export function guessDomainColumnByName(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const rows = sample.slice(0, MAX_SAMPLE_ROWS);
  let best: DomainColumn | undefined;
  let bestWorth = 0;
  for (const [index, name] of columns.entries()) {
    const { kind, fit } = meaningOfName(name);
    if (kind === undefined || fit === 'foreign') continue;
    const { filled, domains, example } = evidenceOf(rows.map((row) => row[index] ?? ''));
    // Names differ by more than the 2 that cells can come to.
    const worth = WORTH_WITH_CELLS[fit][kind] + filled + domains;
    if (worth <= bestWorth) continue;
    bestWorth = worth;
    best = { index, name, by: 'name', example };
  }
  return best;
}

/** Finds a column by name: exactly, else without regard to case and surrounding white space. */
export function findColumn(columns: readonly string[], name: string): DomainColumn | undefined {
  const exact = columns.indexOf(name);
  const wanted = folded(name);
  const index = exact === -1 ? columns.findIndex((column) => folded(column) === wanted) : exact;
  const found = columns[index];
  return found === undefined ? undefined : { index, name: found, by: 'option', example: undefined };
}

/**
 * Whether the first row can be a header. It cannot when a cell of it is itself a domain, URL or
 * e-mail address. Beside other columns, dotted names of fields such as `company.name` or
 * `contact.email` pass for names, although they would be valid domains.
 */
export function looksLikeHeader(columns: readonly string[]): boolean {
  const mayBeField = (cell: string): boolean => columns.length > 1 && DOTTED_FIELD.test(cell);
  return !columns.some((cell) => 'domain' in normalizeDomain(cell) && !mayBeField(cell));
}

function worthOf(name: string, evidence: Evidence, isOnlyColumn: boolean): number {
  const { kind, fit } = meaningOfName(name);
  const isPlain = kind !== undefined && fit === 'plain';
  if (evidence.filled === 0) return isPlain ? WORTH_WITHOUT_CELLS[kind] : 0;
  if (evidence.domains < (isPlain || isOnlyColumn ? MIN_SHARE_NAMED : MIN_SHARE_UNNAMED)) return 0;
  if (evidence.isOneSite && !isOnlyColumn) return isPlain ? WORTH_OF_ONE_SITE[kind] : 0;
  const ofCells = 20 * evidence.filled + 20 * evidence.domains;
  if (kind !== undefined) return WORTH_WITH_CELLS[fit][kind] + ofCells;
  if (fit === 'foreign') return WORTH_UNNAMED.foreign + ofCells;
  return (evidence.isEmail ? WORTH_UNNAMED.email : WORTH_UNNAMED.address) + ofCells;
}

function evidenceOf(cells: readonly string[]): Evidence {
  const filled = cells.filter((cell) => !isBlank(cell));
  const perSite = new Map<string, number>();
  let domains = 0;
  let emails = 0;
  let example: string | undefined;
  for (const cell of filled) {
    const result = normalizeDomain(cell, { registrable: true });
    if (!('domain' in result)) continue;
    example ??= cell;
    domains += 1;
    if (/^[^/]*@/.test(cell)) emails += 1;
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

function isBlank(cell: string): boolean {
  const text = cell.trim();
  return text === '' || (text.length < 12 && PLACEHOLDER.test(text));
}

function folded(name: string): string {
  return name
    .replace(/^\ufeff/, '')
    .trim()
    .toLowerCase();
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
