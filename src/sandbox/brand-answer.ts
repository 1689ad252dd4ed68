import { domainToUnicode } from 'node:url';

/**
 * Creates the answer for a domain, 700 to 1,000 bytes as JSON. The same domain and hash give the
 * same answer. Optional fields are missing for some domains, as they are in practice. The shape is
 * an invention: the real API promises none.
 *
 * @param logoFolder beginning of the URLs of pictures
 */
export function createBrandAnswer(
  domain: string,
  hash: number,
  logoFolder = 'https://cdn.example/logos',
) {
  let drawn = 0;
  const chance = (): number => {
    drawn += 1;
    return draw(hash, purposes.brand, drawn);
  };
  const below = (limit: number): number => Math.floor(chance() * limit);
  const pick = <T>(list: readonly T[], fallback: T): T => list[below(list.length)] ?? fallback;

  const [label = '', ...endings] = domainToUnicode(domain).split('.');
  const name = toName(label.slice(0, 24), endings.at(-1));
  const slug = label.normalize('NFD').replaceAll(/[^a-z\d-]/g, '') || 'brand';
  const [city, country, countryCode] = pick(places, ['Oslo', 'Norway', 'NO']);
  const industry = pick(industries, 'Other');
  const isPublic = chance() < 0.1;
  return {
    name,
    domain,
    // One in 25 looks like a formula.
    description: `${chance() < 0.04 ? '=' : ''}${pick(offers, 'All about')} ${industry.toLowerCase()}, from ${city}`,
    about: name + pick(stories, ''),
    ...(chance() < 0.9 && { industry }),
    ...(chance() < 0.8 && { employees: Math.ceil(3 ** (1 + chance() * 9)) }),
    ...(chance() < 0.85 && { founded: 1890 + below(134) }),
    public: isPublic,
    ...(isPublic && { ticker: slug.replaceAll('-', '').slice(0, 4).toUpperCase() }),
    location: {
      city,
      country,
      country_code: countryCode,
      // Leading zeros keep programs from taking it for a number.
      ...(chance() < 0.6 && { postal_code: String(below(100_000)).padStart(5, '0') }),
    },
    links: {
      website: `https://${domain}/`,
      ...(chance() < 0.75 && { linkedin: `https://linkedin.example/company/${slug}` }),
      ...(chance() < 0.3 && { github: `https://github.example/${slug}` }),
    },
    logos: createLogos(`${logoFolder}/${domain}`, 1 + below(2)),
    colors: Array.from(
      { length: 1 + below(4) },
      () => `#${below(0x1000000).toString(16).padStart(6, '0')}`,
    ),
    tags: [...new Set(Array.from({ length: below(6) }, () => pick(tags, 'other')))],
  };
}

/** `café-du-monde` of `.fr` is Café du Monde SAS. */
function toName(label: string, ending = ''): string {
  const words = label.split('-').filter((word) => word !== '');
  const title = words.map((word, at) =>
    at > 0 && SMALL_WORDS.test(word) ? word : word.charAt(0).toUpperCase() + word.slice(1),
  );
  return [...title, LEGAL_FORMS[ending] ?? []].flat().join(' ');
}

const SMALL_WORDS = /^(?:and|by|da|de|del|der|di|du|et|for|la|le|of|the|und|van|von|y)$/;
/** By the ending of the domain; others have none. */
const LEGAL_FORMS: Readonly<Record<string, string>> = {
  at: 'GmbH',
  ch: 'AG',
  de: 'GmbH',
  fr: 'SAS',
  it: 'S.r.l.',
  nl: 'B.V.',
  pl: 'Sp. z o.o.',
  se: 'AB',
  uk: 'Ltd',
};

const themes = ['light', 'dark'] as const;

function createLogos(folder: string, count: number) {
  return themes.slice(0, count).map((theme) => ({
    url: `${folder}/${theme}.png`,
    width: 512,
    height: 128,
    theme,
  }));
}

/** Places with their country; some names are not ASCII. */
const places: readonly (readonly [city: string, country: string, code: string])[] = [
  ['São Paulo', 'Brazil', 'BR'],
  ['Zürich', 'Switzerland', 'CH'],
  ['Kraków', 'Poland', 'PL'],
  ['Austin', 'United States', 'US'],
  ['東京', 'Japan', 'JP'],
  ['Malmö', 'Sweden', 'SE'],
  ['Montréal', 'Canada', 'CA'],
  ['Bengaluru', 'India', 'IN'],
  ['Αθήνα', 'Greece', 'GR'],
  ['Nairobi', 'Kenya', 'KE'],
];

const industries: readonly string[] = [
  'Software',
  'Logistics & Freight',
  'Food, Beverages',
  'Health care',
  'Renewable energy',
  'Textiles',
  'Banking',
  'Education',
  'Machine tools',
  'Tourism',
];

const tags: readonly string[] = [
  'b2b',
  'family-owned',
  'open source',
  'export',
  'certified',
  'startup',
  'retail',
  'wholesale',
  'café',
  'mobile',
];

/**
 * Sentences that follow the name in the long text. Their quotes, line breaks, commas and semicolons
 * need escaping.
 */
const stories: readonly string[] = [
  ' began in a garage with two people, one van and a borrowed telephone. Today its teams work on three continents, and customers still say it is “the call that gets answered”.',
  ' makes things that last: repairable, documented, and sold with all drawings.\nIts workshop offers "open Fridays"; whoever comes may look, ask and try for themselves.',
  ' connects buyers with small producers – fairly, and without detours. From order to delivery every step is visible; prices, quantities and dates are open to both sides.',
  ' looks after the dull part of the business: invoices, deadlines, archives. “Nobody thanks us for it,” says its founder, “and that’s exactly how it should be.” ✓',
  ' has been independent since its first day. It lends, hires and repairs; what cannot be mended goes back to its makers, who pay for the journey. Zażółć gęślą jaźń.',
  ' runs a network of 24-hour points, from the harbour to the last mountain village.\r\nThe promise: a person, not a form; an answer the same day; no small print.',
];

/** Beginnings of a short description. */
const offers: readonly string[] = [
  'Tools and services for',
  'The quiet specialist in',
  'Everything about',
  'New ideas for',
  'Advice, planning and delivery:',
];

/**
 * Hash a text with a seed to 32 bits. The same text and seed always give the same number.
 * @see http://www.isthe.com/chongo/tech/comp/fnv/ (FNV-1a, then a finishing mix)
 */
export function hashText(text: string, seed: number): number {
  let hash = mix(seed ^ 0x811c9dc5);
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return mix(hash);
}

/**
 * A number from 0 (inclusive) to 1 (exclusive) that depends on nothing but its arguments.
 *
 * @param hash of what is drawn for, from {@link hashText}
 * @param purpose keeps draws for different decisions independent
 * @param ordinal tells repeated draws for the same purpose apart
 */
export function draw(hash: number, purpose: number, ordinal = 0): number {
  const salted = mix(hash ^ Math.imul(purpose, 0x9e3779b1));
  return mix(salted + Math.imul(ordinal, 0x85ebca77)) / 2 ** 32;
}

/** The purposes of draws. The values only need to differ. */
export const purposes = {
  latency: 1,
  latencyAngle: 2,
  fault: 3,
  faultKind: 4,
  notFound: 5,
  brand: 6,
  logo: 7,
} as const;

/** Spread every input bit over all 32 output bits (murmur3's finisher). */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
