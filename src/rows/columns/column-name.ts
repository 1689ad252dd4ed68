import { type Sense, sensesOf } from './column-lexicon.ts';
import { wordsOfName } from './name-words.ts';

/**
 * The kind of content that a column's name promises: a domain, an address on the web, an e-mail
 * address.
 */
export type NameKind = 'domain' | 'web' | 'email';

/**
 * How sure the name is of that kind:
 * - `plain`: it says nothing else (`Company domain name`).
 * - `qualified`: it has another word that means nothing here (`upstream website`).
 * - `foreign`: it has a word that speaks against the kind (`linkedin url`, `email_opt_in`,
 *   `brand_domain`).
 */
export type NameFit = 'plain' | 'qualified' | 'foreign';

export interface NameMeaning {
  readonly kind: NameKind | undefined;
  readonly fit: NameFit;
}

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;

/**
 * Reads a column's name word by word, in the languages of `column-words.ts`, without regard to
 * case, diacritics, punctuation, `camelCase` or `snake_case`.
 */
export function meaningOfName(name: string): NameMeaning {
  const senses = sensesOf(wordsOfName(name.slice(0, MAX_NAME_LENGTH)));
  return { kind: kindOf(senses), fit: fitOf(senses) };
}

function kindOf(senses: readonly Sense[]): NameKind | undefined {
  // An `email domain` belongs to the provider that carries the mail.
  if (senses.includes('email') && !senses.includes('web')) return 'email';
  return KINDS.find((kind) => senses.includes(kind));
}

const KINDS: readonly NameKind[] = ['domain', 'web', 'email'];

function fitOf(senses: readonly Sense[]): NameFit {
  if (senses.includes('foreign')) return 'foreign';
  return senses.includes('unknown') ? 'qualified' : 'plain';
}
