import { describe, expect, it } from 'vitest';
import { createDomainReader } from '../../../src/rows/domain/domain-reader.ts';

const FREE = { invalid: 'free_mail' };

function read(cell: string, options: { registrable?: boolean; keepFreeMail?: boolean } = {}) {
  return createDomainReader({ column: { name: 'Website' }, ...options })(cell);
}

describe('an e-mail address', () => {
  it.each([
    'jo@gmail.com',
    'Jo Doe <Jo.Doe@GMAIL.com>',
    'mailto:jo@hotmail.co.uk',
    'jo@web.de',
    'jo@qq.com',
    'jo@yandex.ru',
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

  it('counts wherever it is when that is asked for', () => {
    expect(read('jo@gmail.com', { keepFreeMail: true })).toEqual({ domain: 'gmail.com' });
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
  it.each(['gmail.com', 'https://www.gmail.com/', 'https://jo@gmail.com/x', 'web.de'])(
    'at a domain of free mail is one: %s',
    (cell) => {
      expect(read(cell)).toHaveProperty('domain');
    },
  );
});

describe('a domain alone', () => {
  it.each(['Email Domain', 'E-Mail', 'メールアドレス'])(
    'is one of free mail in a column named %s',
    (name) => {
      const reader = createDomainReader({ column: { name } });
      expect(reader('gmail.com')).toEqual(FREE);
      expect(reader('acme.com')).toEqual({ domain: 'acme.com' });
    },
  );
});
