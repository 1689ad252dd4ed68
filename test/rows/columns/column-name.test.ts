import { describe, expect, it } from 'vitest';
import { meaningOfName } from '../../../src/rows/columns/column-name.ts';
import { createNamer, shorten } from '../../../src/rows/columns/names.ts';

describe('a name', () => {
  it.each(['curl', 'mailing', 'hosting', 'websphere', 'Emaille', 'Adresse', 'Country', '', '—'])(
    'is none for a part of a word: %j',
    (name) => expect(meaningOfName(name).kind).toBeUndefined(),
  );

  it.each(['LinkedIn-Seite URL', 'e-mail opt-out', 'brand_domain', 'Logo URL', 'Owner email'])(
    'says what speaks against it: %s',
    (name) => expect(meaningOfName(name).isForeign).toBe(true),
  );

  it('is what a database has within its own object', () => {
    expect(meaningOfName('_source.website')).toEqual(meaningOfName('website'));
    expect(meaningOfName('source.website').isForeign).toBe(true);
  });
});

describe('names', () => {
  it('get a number where they are taken', () => {
    const taken = new Set(['a', 'a_2']);
    expect(['a', 'b', 'b'].map(createNamer((name) => taken.has(name)))).toEqual([
      'a_3',
      'b',
      'b_2',
    ]);
    expect(['a', 'a_2', 'a', 'a'].map(createNamer())).toEqual(['a', 'a_2', 'a_3', 'a_4']);
  });

  it('are cut to fit a line, but not in the middle of a character', () => {
    expect(shorten('a\u001b[2J\r\nb')).toBe('a [2J b');
    expect(shorten('😀'.repeat(60))).toBe('😀'.repeat(60));
    expect(shorten('😀'.repeat(61))).toBe(`${'😀'.repeat(60)}…`);
  });
});
