import { describe, expect, it } from 'vitest';
import {
  createDomainReader,
  type DomainReaderOptions,
} from '../../../src/rows/domain/domain-reader.ts';

const FREE = { invalid: 'free_mail' };

function read(cell: string, options: Omit<DomainReaderOptions, 'column'> = {}) {
  return createDomainReader({ column: { name: 'Website' }, ...options })(cell);
}

describe('an e-mail address', () => {
  it.each([
    'jo@gmail.com',
    'Jo Doe <Jo.Doe@GMAIL.com>',
    'mailto:jo@hotmail.co.uk',
    'jo@gmx.ch', // not in the package
    'jo@tutanota.com',
  ])('where everybody can have one is none of a company: %s', (cell) => {
    expect(read(cell)).toEqual(FREE);
  });

  it.each([
    ['jo@acme.com', 'acme.com'],
    ['jo@mail.acme.com', 'mail.acme.com'],
    ['jo@facebook.com', 'facebook.com'], // in the package, but those who work there have it
  ])('of a company counts: %s', (cell, domain) => {
    expect(read(cell)).toEqual({ domain });
  });

  it('is of free mail also when its domain is reduced', () => {
    expect(read('jo@uk.yahoo.com', { registrable: true })).toEqual(FREE);
    expect(read('jo@shop.acme.co.uk', { registrable: true })).toEqual({ domain: 'acme.co.uk' });
  });

  it('that is none has the reason for that', () => {
    expect(read('jo@localhost')).toEqual({ invalid: 'single_label' });
    expect(read('@')).toEqual({ invalid: 'malformed' });
  });
});

describe('a website', () => {
  it.each(['gmail.com', 'https://jo@gmail.com/x'])(
    'at a domain of free mail is one: %s',
    (cell) => {
      expect(read(cell)).toHaveProperty('domain');
    },
  );
});

describe('a page on a host that many share', () => {
  const SHARED = { invalid: 'shared_host' };

  it.each([
    'https://www.facebook.com/acme',
    'https://m.facebook.com/profile.php?id=1',
    'de.linkedin.com/company/acme/',
    'https://twitter.com/#!/acme',
    'https://bit.ly/3abc',
    'https://apps.apple.com/de/app/acme/id1',
    'https://maps.google.com/?cid=123',
    'https://www.google.de/maps/place/Acme',
    'https://www.amazon.co.uk/stores/Acme',
    'https://us02web.zoom.us/j/123',
    'https://www.microsoft.com/p/acme/9',
    'https://www.npmjs.com/~acme',
    'https://www.tumblr.com/acme',
    'https://duckduckgo.com/?q=acme',
    'https://acme-de.translate.goog/?_x_tr_sl=de',
    'facebook.com/acme.com',
    'https://nam02.safelinks.protection.outlook.com/?url=http%3A%2F%2Fwww.example.com%2F&data=05',
    // A link whose target does not stand in it, is no domain, or is such a page too.
    'https://acme.us1.list-manage.com/track/click?u=abc&id=1',
    'https://l.facebook.com/l.php?u=https%3A%2F%2F192.0.2.1',
    'https://l.facebook.com/l.php?u=https%3A%2F%2Fbit.ly%2Fabc',
  ])('says nothing about a company: %s', (cell) => {
    expect(read(cell)).toEqual(SHARED);
    expect(read(cell, { registrable: true })).toEqual(SHARED);
  });

  it.each([
    ['linkedin.com', 'linkedin.com'],
    ['https://www.facebook.com/', 'facebook.com'],
    ['https://www.facebook.com/acme, facebook.com', 'facebook.com'],
    ['https://www.tripadvisor.com/index.html', 'tripadvisor.com'],
    ['https://www.google.com/about', 'google.com'],
    ['https://github.com/about', 'github.com'],
    ['https://www.amazon.com/careers', 'amazon.com'],
    ['indeed.com/about', 'indeed.com'],
    ['https://www.microsoft.com/products', 'microsoft.com'],
    ['https://developer.apple.com/programs/', 'developer.apple.com'],
    ['https://acme.tumblr.com/about', 'acme.tumblr.com'],
    ['jo@facebook.com', 'facebook.com'],
    ['https://myfacebook.com/acme', 'myfacebook.com'],
    ['https://acme.com/facebook.com/', 'acme.com'],
  ])('is not its front page, nor another host: %s', (cell, domain) => {
    expect(read(cell)).toEqual({ domain });
  });
});

describe('a domain alone', () => {
  it('is one of free mail in a column that is named for e-mail', () => {
    const reader = createDomainReader({ column: { name: 'Email Domain' } });
    expect(reader('gmail.com')).toEqual(FREE);
    expect(reader('acme.com')).toEqual({ domain: 'acme.com' });
  });
});
