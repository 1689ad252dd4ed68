/** Places with their country; some names are not ASCII. */
export const places: readonly (readonly [city: string, country: string, code: string])[] = [
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

export const industries: readonly string[] = [
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

export const tags: readonly string[] = [
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
export const stories: readonly string[] = [
  ' began in a garage with two people, one van and a borrowed telephone. Today its teams work on three continents, and customers still say it is “the call that gets answered”.',
  ' makes things that last: repairable, documented, and sold with all drawings.\nIts workshop offers "open Fridays"; whoever comes may look, ask and try for themselves.',
  ' connects buyers with small producers – fairly, and without detours. From order to delivery every step is visible; prices, quantities and dates are open to both sides.',
  ' looks after the dull part of the business: invoices, deadlines, archives. “Nobody thanks us for it,” says its founder, “and that’s exactly how it should be.” ✓',
  ' has been independent since its first day. It lends, hires and repairs; what cannot be mended goes back to its makers, who pay for the journey. Zażółć gęślą jaźń.',
  ' runs a network of 24-hour points, from the harbour to the last mountain village.\r\nThe promise: a person, not a form; an answer the same day; no small print.',
];

/** Names that a spreadsheet would take for a formula. */
export const formulaNames: readonly ((name: string) => string)[] = [
  (name) => `=1+1 ${name}`,
  (name) => `+${name}`,
  (name) => `-${name}-`,
  (name) => `@${name}`,
];

/** Beginnings of a short description. */
export const offers: readonly string[] = [
  'Tools and services for',
  'The quiet specialist in',
  'Everything about',
  'New ideas for',
  'Advice, planning and delivery:',
];
