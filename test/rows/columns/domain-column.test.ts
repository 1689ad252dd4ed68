import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';

/** A table by columns: name to cells. */
type Table = Readonly<Record<string, readonly string[]>>;

const companies = ['Acme Corp', 'Booking.com', 'St. John Ltd', 'Example Inc'];
const domains = ['acme.com', 'booking.com', 'stjohn.co.uk', 'example.org'];
const urls = [
  'https://acme.com/',
  'http://www.booking.com',
  'stjohn.co.uk/about',
  'www.example.org',
];
const emails = ['a@acme.com', 'b@booking.com', 'c@stjohn.co.uk', 'd@example.org'];
const blank = ['', '  ', '-', 'n/a'];
const profiles = ['acme', 'booking', 'stjohn', 'x'].map(
  (name) => `https://www.linkedin.com/company/${name}`,
);
const logos = domains.map((domain) => `https://cdn.${domain}/logo.png`);

function guess(table: Table): string | undefined {
  const height = Math.max(0, ...Object.values(table).map((cells) => cells.length));
  const sample = Array.from({ length: height }, (_, row) =>
    Object.values(table).map((cells) => cells[row] ?? ''),
  );
  return guessDomainColumn(Object.keys(table), sample)?.name;
}

describe('by name alone, when there are no rows', () => {
  it.each([
    'DOMAIN NAME',
    'company_domain_name',

    'Website URL',
    'URL',
    'URLs',

    'email',
    'eMail',
    ' Company website? ',
  ])('takes %j', (name) => {
    expect(guess({ id: [], [name]: [], notes: [] })).toBe(name);
  });

  it('prefers a domain to a website, and a website to an e-mail address', () => {
    expect(guess({ email: [], url: [], domain: [] })).toBe('domain');
    expect(guess({ email: [], url: [] })).toBe('url');
  });
});

describe('by name and cells together', () => {
  it('prefers the plain name when several columns hold domains', () => {
    expect(guess({ company: companies, email: emails, website: urls, domain: domains })).toBe(
      'domain',
    );
    expect(guess({ email: emails, Homepage: urls })).toBe('Homepage');
  });

  it('passes over a named column that is blank for one that holds domains', () => {
    expect(guess({ url: blank, web: urls })).toBe('web');
    expect(guess({ domain: blank, link_to_them: urls })).toBe('link_to_them');
  });

  it('passes over a named column whose cells contradict it', () => {
    expect(guess({ url: ['yes', 'no', 'yes', 'no'], web: urls })).toBe('web');
    expect(guess({ domain: companies, c2: domains })).toBe('c2');
    expect(guess({ domain: ['finance', 'health', 'retail'] })).toBeUndefined();
  });

  it('takes a column of several addresses in a cell, whose rows then say so', () => {
    expect(guess({ name: companies, url: ['a.com, b.com', 'c.de/d.de', 'x@e.io; x@f.io'] })).toBe(
      'url',
    );
  });

  it('prefers a full website column to a nearly blank domain column', () => {
    const rows = Array.from({ length: 40 }, (_, i) => `company${i}.com`);
    expect(guess({ domain: ['acme.com'], website: rows })).toBe('website');
  });

  it('keeps a plain name when its cells are blank and nothing else is plausible', () => {
    expect(guess({ company: companies, website: blank })).toBe('website');
  });

  it('takes a plain name although half of its cells are dirty', () => {
    expect(
      guess({ company: companies, domain: ['acme.com', 'unknown tld', 'b.org', 'see notes'] }),
    ).toBe('domain');
  });

  it('ranks a name with a word against it below a plain one', () => {
    expect(guess({ brand_domain: domains, website: urls })).toBe('website');
    expect(guess({ logo_url: logos, email: emails })).toBe('email');
    expect(guess({ logo_url: logos, company: companies })).toBe('logo_url');
    expect(guess({ logo_url: logos, 'prospect website': urls })).toBe('prospect website');
    expect(guess({ policy_url: urls, website: urls })).toBe('website');
  });

  it('passes over columns that all lead to one site', () => {
    expect(guess({ 'linkedin url': profiles, email: emails })).toBe('email');
    expect(guess({ url: profiles, site: urls })).toBe('site');
    expect(guess({ 'linkedin url': profiles, name: companies })).toBeUndefined();
    expect(guess({ profile: profiles, company: companies })).toBeUndefined();
  });

  it('keeps a plain name that leads to one site when there is nothing better', () => {
    expect(guess({ name: companies, domain: ['acme.com', 'acme.com', 'www.acme.com'] })).toBe(
      'domain',
    );
  });
});

describe('by cells alone', () => {
  it('takes a column of domains whatever its name', () => {
    expect(guess({ a: companies, b: domains })).toBe('b');
    expect(guess({ a: companies, '': urls })).toBe('');
  });

  it('prefers domains and URLs to e-mail addresses', () => {
    expect(guess({ a: emails, b: domains })).toBe('b');
    expect(guess({ a: emails, b: companies })).toBe('a');
  });

  it('does not take a column of which only half are domains, beside others', () => {
    const half = ['acme.com', 'Acme Corp', 'b.org', 'St. John'];
    expect(guess({ company: companies, b: half })).toBeUndefined();
    expect(guess({ company: companies, brand_domain: half })).toBeUndefined();
  });

  it('takes the only column with half of its cells domains', () => {
    expect(guess({ whatever: ['acme.com', 'Acme Corp', 'b.org', 'c'] })).toBe('whatever');
    expect(guess({ profile: profiles })).toBe('profile');
    expect(guess({ whatever: companies })).toBeUndefined();
  });

  it('does not take free text that mentions domains', () => {
    const notes = [
      'see acme.com',
      'Booking.com is large',
      'ask jane@stjohn.co.uk',
      'http://a.com and b.com',
    ];
    expect(guess({ company: companies, notes })).toBeUndefined();
  });

  it('does not take numbers, versions or addresses of machines', () => {
    expect(guess({ a: ['1.5', '2.25', '3'], b: ['10.0.0.1', '10.0.0.2', '::1'] })).toBeUndefined();
  });

  it('looks at rows from all over the sample', () => {
    const late = [
      ...Array<string>(600).fill(''),
      ...Array.from({ length: 900 }, (_, i) => `a${i}.com`),
    ];
    const mails = late.map((_, i) => `jo@agency-${i}.de`);
    expect(guess({ Email: mails, Website: late })).toBe('Website');
  });
});

describe('e-mail addresses', () => {
  const rows = (share: number): readonly string[] =>
    Array.from({ length: 100 }, (_, at) => (at < share ? `https://company${at}.com` : ''));
  const mails = Array.from({ length: 100 }, (_, at) => `jo@firm${at}.com`);

  it('count only where there is no website, however few of those there are', () => {
    expect(guess({ email: mails, website: rows(100) })).toBe('website');
    expect(guess({ email: mails, website: rows(10) })).toBe('website');
    expect(
      guess({ email: mails, website: [...rows(20).slice(0, 40), ...Array(20).fill('?')] }),
    ).toBe('website');
    expect(guess({ email: mails, 'their page': rows(30) })).toBe('their page');
  });

  it('count where the website column has hardly anything in it, or nothing', () => {
    expect(guess({ email: mails, website: rows(9) })).toBe('email');
    expect(guess({ email: mails, website: rows(0) })).toBe('email');
    expect(guess({ contact: mails, website: rows(3) })).toBe('contact');
  });
});

describe('other columns that may be meant', () => {
  const others = (table: Table): readonly string[] | undefined => {
    const sample = domains.map((_, row) => Object.values(table).map((cells) => cells[row] ?? ''));
    return guessDomainColumn(Object.keys(table), sample)?.others?.map(({ name }) => name);
  };

  it('are named, the likelier first', () => {
    expect(others({ email: emails, b: urls, Homepage: urls, domain: domains })).toEqual([
      'Homepage',
      'b',
      'email',
    ]);
  });

  it('are not those that nobody can have meant', () => {
    expect(
      others({ domain: domains, logo_url: logos, linkedin: profiles, url: blank, name: companies }),
    ).toBeUndefined();
  });
});

describe('what is told of the column', () => {
  it('is its place, what it was told by, and the first cell with a domain as it stands', () => {
    const sample = [
      ['Acme Corp', ''],
      ['Booking', ' HTTPS://www.Booking.com/x '],
    ];
    const cell = ' HTTPS://www.Booking.com/x ';
    const expected = { index: 1, name: 'Web Site', by: 'name', example: cell };
    expect(guessDomainColumn(['company', 'Web Site'], sample)).toEqual(expected);
    expect(guessDomainColumn(['company', 'c2'], sample)).toEqual({
      ...expected,
      name: 'c2',
      by: 'content',
    });
    expect(guessDomainColumn(['company', 'url'], [])).toMatchObject({
      by: 'name',
      example: undefined,
    });
  });

  it('does not suffer from rows of other lengths', () => {
    expect(guessDomainColumn(['a', 'b'], [[], ['x'], ['x', 'acme.com', 'y']])?.name).toBe('b');
  });
});
