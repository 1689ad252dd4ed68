import { createField, type Field } from './fields.ts';

// The columns that a list keeps whichever API is asked, and what answers call them where no profile
// says so.

/** By their names, in the order of the output: JMESPath that tries one name after the other. */
const STANDARD: Readonly<Record<string, string>> = {
  name: 'name || title || company_name || display_name || legal_name',
  description: 'description || short_description || summary || tagline',
  industry: 'industry.name || industry || category.industry || industries[0].name || industries[0]',
  employees: 'employees || employee_count || employees_count || metrics.employees || size',
  founded: 'founded || founded_year || year_founded || foundedYear',
  city: 'city || location.city || address.city || geo.city || headquarters.city || locality',
  country:
    'country.name || country || location.country || address.country || geo.country || headquarters.country',
  country_code:
    'country_code || countryCode || location.country_code || location.countryCode || address.country_code || geo.countryCode',
  logo: 'logo.url || logo || logo_url || logos[0].url || logos[0].src || logos[0].formats[0].src',
  color: 'color || primary_color || colors[0].hex || colors[0]',
  linkedin: 'linkedin || linkedin_url || links.linkedin || socials.linkedin || social.linkedin',
  website: 'website || website_url || links.website || homepage || url',
};

export const STANDARD_NAMES: readonly string[] = Object.keys(STANDARD);

/** What is given for them in place of expressions. */
export const STANDARD_NAME = 'standard';

/** The standard columns of an API that no profile describes. */
export function standardFields(): readonly Field[] {
  return Object.entries(STANDARD).map(([name, expression]) =>
    Object.assign(createField(name, expression), { isGuessed: true }),
  );
}

/** Whether a column is one of the standard ones. */
export function isStandard(name: string): boolean {
  return Object.hasOwn(STANDARD, name);
}
