import { normalizeDomain } from '../domain/domain.ts';
import { type ColumnEvidence, evidenceOf } from './column-evidence.ts';
import { meaningOfName, type NameFit, type NameKind } from './column-name.ts';

/** The column that a row's domain is taken from. */
export interface DomainColumn {
  /** position among the columns, from 0 */
  readonly index: number;
  /** the name as it is in the file */
  readonly name: string;
  /** how the column was found */
  readonly by: 'name' | 'content' | 'option';
  /** the first sample cell that holds a domain, as it is in the file */
  readonly example: string | undefined;
  /** other columns that may be meant, the most likely first; missing if there are none */
  readonly others?: readonly Pick<DomainColumn, 'index' | 'name'>[];
}

const MAX_SAMPLE_ROWS = 200;
/** The most columns that a spreadsheet can have; no column beyond them is guessed. */
const MAX_COLUMNS = 16_384;
/** A dirty list is still a list: only a smaller share of domains speaks against a plain name. */
const MIN_SHARE_NAMED = 0.5;
/**
 * Without a telling name, nearly every cell has to be a domain. Free text that mentions domains is
 * far below.
 */
const MIN_SHARE_UNNAMED = 0.8;
/** A column with a smaller share of filled cells counts as blank beside a fuller one. */
const NEARLY_BLANK = 0.1;
/** Field names of flattened objects that end like a top-level domain. */
const DOTTED_FIELD =
  /^(?!www\.)\w+(?:\.\w+)*\.(?:name|id|email|website|domains|company|site|host|contact|zip|phone|tel|city|country|page|link|date)$/i;

/**
 * The worth of a column before its cells count; cells add up to 40. An e-mail column, however full,
 * is worth less than any website column with something in it.
 */
const WORTH_WITH_CELLS: Readonly<Record<NameFit, Readonly<Record<NameKind, number>>>> = {
  plain: { domain: 90, web: 80, email: 52 },
  qualified: { domain: 75, web: 72, email: 47 },
  foreign: { domain: 50, web: 45, email: 30 },
};
const WORTH_UNNAMED = { address: 70, email: 37, foreign: 30 };
const WORTH_WITHOUT_CELLS: Readonly<Record<NameKind, number>> = { domain: 30, web: 25, email: 20 };
const WORTH_OF_ONE_SITE: Readonly<Record<NameKind, number>> = { domain: 15, web: 12, email: 10 };
const LESS_WHEN_NEARLY_BLANK = 40;

/**
 * Finds the column that most likely holds the domains, by its name and its cells together.
 *
 * A plain name (`domain`, then `website` or `url`, then `email`) is believed unless its cells
 * contradict it, and needs no cells. Any other column needs cells that normalise to domains: four
 * in five without a telling name, half in a list of one column. Links that all lead to one site,
 * such as profiles, do not count. E-mail addresses count if there is no website column, or hardly
 * anything in it. If several columns are plausible, the best one is taken, the leftmost of equals,
 * and the others are named.
 *
 * @param columns names of the columns
 * @param sample the first rows, as cells; 200 of them are looked at
 */
export function guessDomainColumn(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const rows = sample.slice(0, MAX_SAMPLE_ROWS);
  const candidates: Candidate[] = [];
  for (const [index, name] of columns.slice(0, MAX_COLUMNS).entries()) {
    const evidence = evidenceOf(rows.map((row) => row[index] ?? ''));
    const { kind, fit } = meaningOfName(name);
    const worth = worthOf({ kind, fit }, evidence, columns.length === 1);
    const by = kind === undefined ? 'content' : 'name';
    const isPlausible = fit !== 'foreign' && evidence.domains > 0 && !evidence.isOneSite;
    if (worth > 0) candidates.push({ index, name, by, worth, isPlausible, ...evidence });
  }
  const [best, ...others] = candidates.sort((one, other) => other.worth - one.worth);
  if (best === undefined) return undefined;
  const { index, name, by, example } = best;
  const named = others
    .filter(({ isPlausible }) => isPlausible)
    .map(({ index, name }) => ({ index, name }));
  return { index, name, by, example, ...(named.length > 0 && { others: named }) };
}

/** A column that may hold the domains. */
interface Candidate extends Pick<DomainColumn, 'index' | 'name' | 'by' | 'example'> {
  readonly worth: number;
  /** Whether a person might also have meant it. */
  readonly isPlausible: boolean;
}

/**
 * Finds the column that most likely holds the domains by its name, whatever its cells are. It is
 * for rows that were left over because they hold no domain. Cells decide between names of equal
 * worth.
 */
export function guessDomainColumnByName(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
): DomainColumn | undefined {
  const rows = sample.slice(0, MAX_SAMPLE_ROWS);
  let best: DomainColumn | undefined;
  let bestWorth = 0;
  for (const [index, name] of columns.slice(0, MAX_COLUMNS).entries()) {
    const { kind, fit } = meaningOfName(name);
    if (kind === undefined || fit === 'foreign') continue;
    const { filled, domains, example } = evidenceOf(rows.map((row) => row[index] ?? ''));
    // Names differ by more than 2, the most that cells can add here.
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
 * Whether the first row can be a header. It cannot if one of its cells is itself a domain, URL or
 * e-mail address. Beside other columns, dotted field names such as `company.name` or
 * `contact.email` count as names, although they would be valid domains.
 */
export function looksLikeHeader(columns: readonly string[]): boolean {
  const mayBeField = (cell: string): boolean => columns.length > 1 && DOTTED_FIELD.test(cell);
  return !columns.some((cell) => 'domain' in normalizeDomain(cell) && !mayBeField(cell));
}

function worthOf(
  { kind, fit }: ReturnType<typeof meaningOfName>,
  evidence: ColumnEvidence,
  isOnlyColumn: boolean,
): number {
  const isPlain = kind !== undefined && fit === 'plain';
  if (evidence.filled === 0) return isPlain ? WORTH_WITHOUT_CELLS[kind] : 0;
  if (evidence.domains < (isPlain || isOnlyColumn ? MIN_SHARE_NAMED : MIN_SHARE_UNNAMED)) return 0;
  if (evidence.isOneSite && !isOnlyColumn) return isPlain ? WORTH_OF_ONE_SITE[kind] : 0;
  const less = evidence.filled < NEARLY_BLANK ? LESS_WHEN_NEARLY_BLANK : 0;
  const ofCells = 20 * evidence.filled + 20 * evidence.domains - less;
  if (kind !== undefined) return WORTH_WITH_CELLS[fit][kind] + ofCells;
  if (fit === 'foreign') return WORTH_UNNAMED.foreign + ofCells;
  return (evidence.isEmail ? WORTH_UNNAMED.email : WORTH_UNNAMED.address) + ofCells;
}

function folded(name: string): string {
  return name
    .replace(/^\ufeff/, '')
    .trim()
    .toLowerCase();
}
