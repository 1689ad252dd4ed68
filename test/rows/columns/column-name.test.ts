import { describe, expect, it } from 'vitest';
import {
  COLUMN_WORDS,
  type ColumnWords,
  meaningOfName,
} from '../../../src/rows/columns/column-name.ts';

type Kind = 'domain' | 'web' | 'email';

function wordsOf(words: ColumnWords, sense: keyof ColumnWords): readonly string[] {
  return words[sense]
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

describe.each(Object.entries(COLUMN_WORDS))('%s', (_, words) => {
  const named = (['domain', 'web', 'email'] as const).flatMap((kind) =>
    wordsOf(words, kind).map((word) => [word, kind] as const),
  );

  it('is understood, whatever the case and without accents', () => {
    for (const [word, kind] of named) {
      const bare = word.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '');
      const ways = [word, word.toUpperCase(), bare, ` ${word} *`, `${word}_2`, `(${word})`];
      const plain = { kind, fit: 'plain' };
      expect(ways.map((name) => [name, meaningOfName(name)])).toEqual(
        ways.map((name) => [name, plain]),
      );
    }
  });

  it('has no word that is neutral and foreign at once', () => {
    const foreign = new Set(wordsOf(words, 'foreign'));
    expect(wordsOf(words, 'neutral').filter((word) => foreign.has(word))).toEqual([]);
  });
});

describe('a name', () => {
  it.each<[string, Kind]>([
    ['WebsiteURL', 'web'],
    ['companyEmailAddress', 'email'],
    ['account_primary_domain', 'domain'],
    ['emailaddress1', 'email'],
    ['Firmenwebsite', 'web'],
    ['Organisationswebseite', 'web'],
    ['bedrijfswebsite', 'web'],
    ['会社URL', 'web'],
    ['公司的网址', 'web'],
    ['ﾒｰﾙｱﾄﾞﾚｽ', 'email'],
    ['ＵＲＬ', 'web'],
    ['الموقع الالكتروني للشركة', 'web'],
    ['WEB SİTESİ', 'web'],
    ['Web-Präsenz', 'web'],
    ['Email Domain', 'email'],
    ['Website or e-mail', 'web'],
  ])('says by its words what it promises: %s', (name, kind) => {
    expect(meaningOfName(name)).toMatchObject({ kind });
  });

  it.each([
    'curl',
    'mailing',
    'hosting',
    'subdomain',
    'websphere',
    'Emaille',
    'Seite',
    'Adresse',
    '住所',
    '地址',
    'Country',
    '',
    '123',
    '—',
  ])('is none for a part of a word, or a word alone that says nothing: %s', (name) => {
    expect(meaningOfName(name).kind).toBeUndefined();
  });

  it.each([
    'LinkedIn-Seite URL',
    'ロゴ画像URL',
    'e-mail opt-out',
    'Letzter Website-Besuch am Tag x',
  ])('says what speaks against it: %s', (name) => {
    expect(meaningOfName(name).fit).toBe('foreign');
  });

  it('is read in a moment, however long and odd', () => {
    for (const name of [
      'websites'.repeat(5_000),
      '会社'.repeat(5_000),
      'e '.repeat(5_000),
      '\ud800',
    ]) {
      expect(meaningOfName(name)).toHaveProperty('fit');
    }
  });
});
