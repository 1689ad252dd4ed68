import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COLUMN_WORDS,
  type ColumnWords,
  meaningOfName,
} from '../../../src/rows/columns/column-name.ts';
import { shorten, uniqueNames, untakenName } from '../../../src/rows/columns/names.ts';

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

describe('names', () => {
  it('get a number where they are taken', () => {
    const taken = new Set(['a', 'a_2']);
    expect(untakenName('a', (name) => taken.has(name))).toBe('a_3');
    expect(untakenName('b', (name) => taken.has(name))).toBe('b');
    expect(uniqueNames(['a', 'a_2', 'a', 'a'])).toEqual(['a', 'a_2', 'a_3', 'a_4']);
  });

  it('are cut to fit a line, but not in the middle of a character', () => {
    expect(shorten('a\u001b[2J\r\nb')).toBe('a [2J b');
    expect(shorten('😀'.repeat(30))).toBe('😀'.repeat(30));
    expect(shorten('😀'.repeat(31))).toBe(`${'😀'.repeat(30)}…`);
    expect(shorten(`a${'😀'.repeat(31)}`)).toBe(`a${'😀'.repeat(29)}…`);
  });

  it('are all different, and the first of equals keeps its own', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'a_2', '', '_2')), (names) => {
        const unique = uniqueNames(names);
        expect(new Set(unique).size).toBe(names.length);
        for (const [at, name] of names.entries()) {
          if (names.indexOf(name) === at && !unique.slice(0, at).includes(name)) {
            expect(unique[at]).toBe(name);
          }
        }
      }),
    );
  });
});
