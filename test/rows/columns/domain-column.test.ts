import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';

/** A table by columns: name to cells. */
type Table = Readonly<Record<string, readonly string[]>>;

const companies = ['Acme Corp', 'Booking.com', 'St. John Ltd', 'Example Inc'];
const domains = ['acme.com', 'booking.com', 'stjohn.co.uk', 'example.org'];
const urls = ['https://acme.com/', 'http://www.booking.com', 'stjohn.co.uk/about', 'example.org'];
const emails = domains.map((domain) => `jo@${domain}`);
const blank = ['', '  ', '-', 'n/a'];
const half = ['acme.com', 'Acme Corp', 'b.org', 'St. John'];
const profiles = domains.map((domain) => `https://www.linkedin.com/company/${domain.slice(0, 4)}`);
const logos = domains.map((domain) => `https://cdn.${domain}/logo.png`);
const notes = ['see acme.com', 'Booking.com is large', 'ask jo@b.io', 'http://a.com and b.com'];
const many = (share: number, cell = ''): readonly string[] =>
  Array.from({ length: 100 }, (_, at) => (at < share ? `https://company${at}.com` : cell));
const sentences = domains.map((domain) => `they all went over to https://${domain} in May`);
const links = domains.map((_, at) => `https://crm.vendor.com/account/${at}`);
const files = ['readme.md', 'main.py', 'old.zip', 'setup.py'];
/** A third of them say that there is none. */
const third = Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? 'ingenting' : `a${at}.com`));
const mails = Array.from({ length: 100 }, (_, at) => `jo@firm${at}.com`);
/** A list that is sorted by website, blanks first. */
const late = Array.from({ length: 1_500 }, (_, at) => (at < 600 ? '' : `a${at}.com`));
const lateMails = late.map((_, at) => `jo@agency-${at}.de`);

function guess(table: Table) {
  const height = Math.max(0, ...Object.values(table).map((cells) => cells.length));
  const sample = Array.from({ length: height }, (_, row) =>
    Object.values(table).map((cells) => cells[row] ?? ''),
  );
  return guessDomainColumn(Object.keys(table), sample);
}

it.each<[Table, string | undefined]>([
  // By name alone, where there are no rows.
  [{ id: [], ' Company website? ': [], notes: [] }, ' Company website? '],
  [{ id: [], eMail: [] }, 'eMail'],
  [{ email: [], url: [], domain: [] }, 'domain'],
  [{ email: [], url: [] }, 'url'],
  // A plain name is believed, unless its cells contradict it.
  [{ company: companies, email: emails, website: urls, domain: domains }, 'domain'],
  [{ url: blank, web: urls }, 'web'],
  [{ domain: blank, link_to_them: urls }, 'link_to_them'],
  [{ url: ['yes', 'no', 'yes', 'no'], web: urls }, 'web'],
  [{ domain: companies, c2: domains }, 'c2'],
  [{ domain: ['finance', 'health', 'retail'] }, undefined],
  [{ name: companies, url: ['a.com, b.com', 'c.de/d.de', 'x@e.io; x@f.io'] }, 'url'],
  [{ domain: ['acme.com'], website: many(100) }, 'website'],
  [{ company: companies, website: blank }, 'website'],
  [{ company: companies, domain: half }, 'domain'],
  // A word against it, and links into one site.
  [{ brand_domain: domains, website: urls }, 'website'],
  [{ logo_url: logos, email: emails }, 'email'],
  [{ logo_url: logos, company: companies }, undefined],
  [{ 'linkedin url': profiles, email: emails }, 'email'],
  [{ url: profiles, site: urls }, 'site'],
  [{ profile: profiles, company: companies }, undefined],
  [{ name: companies, domain: ['acme.com', 'acme.com', 'www.acme.com'] }, 'domain'],
  [{ website: many(40), reseller: many(100) }, 'website'],
  [{ company: many(100), website: many(40) }, 'website'],
  [{ 'shop website': many(100), website: many(40) }, 'website'],
  // Sentences and files never choose, in a list of one column neither.
  [{ website: many(40), notes: sentences.concat(sentences) }, 'website'],
  [{ company: companies, notes: sentences }, undefined],
  [{ company: companies, talk: urls.map((url) => `${url} met twice`) }, undefined],
  [{ 'how to use': ['Fill in the list', ...sentences] }, undefined],
  [{ url: links, company: companies }, undefined],
  [{ url: links, email: emails }, 'email'],
  [{ script: files, company: companies }, undefined],
  [{ script: files, mail: emails }, 'mail'],
  // Addresses on the web before those of e-mail, though a word for none stands in many cells.
  [{ 'e-mail': mails, link: third }, 'link'],
  [{ Sähköposti: mails, Kotisivut: third }, 'Kotisivut'],
  [{ 'Эл. почта': mails, 'Веб-страница': third }, 'Веб-страница'],
  [{ メール: mails, ホームページ: many(30) }, 'ホームページ'],
  [{ plan: ['free', 'free', 'free', 'paid', 'acme.com'] }, undefined],
  // By cells alone.
  [{ a: companies, '': urls }, ''],
  [{ a: emails, b: domains }, 'b'],
  [{ a: emails, b: companies }, 'a'],
  [{ company: companies, b: half }, undefined],
  [{ whatever: half }, undefined],
  [{ profile: profiles }, 'profile'],
  [{ whatever: companies }, undefined],
  [{ company: companies, notes }, undefined],
  [{ a: ['1.5', '2.25', '3'], b: ['10.0.0.1', '10.0.0.2', '::1'] }, undefined],
  [{ Email: lateMails, Website: late }, 'Website'],
  // Addresses of e-mail count where hardly any website is there.
  [{ email: mails, website: many(10) }, 'website'],
  [{ email: mails, website: many(9) }, 'email'],
  [{ email: mails, website: many(50, '?') }, 'website'],
  [{ email: mails, 'their page': many(30) }, 'their page'],
  [{ contact: mails, website: many(3) }, 'contact'],
])('of %j the column of the domains is %j', (table, expected) => {
  expect(guess(table)?.name).toBe(expected);
});

describe('what is told of the column', () => {
  it('is the others that may be meant, the likelier first, and no others', () => {
    const othersOf = (table: Table) => guess(table)?.others.map(({ name }) => name);
    expect(othersOf({ email: emails, b: urls, Homepage: urls, domain: domains })).toEqual([
      'Homepage',
      'b',
      'email',
    ]);
    expect(othersOf({ website: urls, reseller: domains, notes: sentences })).toEqual(['reseller']);
    const none = { domain: domains, logo_url: logos, linkedin: profiles, url: blank };
    expect(othersOf(none)).toEqual([]);
    const twice = guessDomainColumn(
      ['url', 'n', 'url'],
      domains.map((domain) => ['', 'x', domain]),
    );
    expect(twice).toMatchObject({ index: 2, others: [{ index: 0, name: 'url' }] });
  });

  it('is its place, what it was told by, and the first cell with a domain as it stands', () => {
    const cell = ' HTTPS://www.Booking.com/x ';
    const sample = [['Acme Corp'], ['Booking', cell, 'more']];
    const expected = { index: 1, name: 'Web Site', by: 'name', example: cell, others: [] };
    expect(guessDomainColumn(['company', 'Web Site'], sample)).toEqual(expected);
    const unnamed = { ...expected, name: 'c2', by: 'content' };
    expect(guessDomainColumn(['company', 'c2'], sample)).toEqual(unnamed);
  });
});
