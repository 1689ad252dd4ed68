import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';
import { HEADER_SETS } from './header-sets.ts';

const NAMES = ['acme', 'bolt', 'core-labs', 'delta', 'evergreen', 'foxtrot'];
const TLDS = ['com', 'de', 'co.uk', 'com.br', 'co.jp', 'org'];
const hosts = NAMES.map((name, at) => `${name}.${TLDS[at]}`);

const CELLS: Readonly<Record<string, readonly string[]>> = {
  '': ['Acme Corp', 'Jo Doe', '4711', 'Ulm', '', '+49 731 123456'],
  d: hosts,
  w: hosts.map((host, at) => (at === 4 ? '' : `https://www.${host}/`)),
  e: hosts.map((host) => `info@${host}`),
  o: hosts.map((_, at) => `rep${at}@seller.com`),
  p: NAMES.map((name) => `https://www.network.com/company/${name}`),
  l: hosts.map((host) => `https://cdn.${host}/logo.png`),
  f: hosts.map((host, at) => (at % 2 === 0 ? `https://${host}/form` : '')),
  r: ['google.com', 'bing.com', '', 'calls.example.org', 'google.com', 'news.co.uk'].map(
    (host) => host && `https://www.${host}/`,
  ),
  x: hosts.map(() => ''),
};

interface Column {
  readonly mark: string;
  readonly name: string;
  readonly kind: string;
}

function columnsOf(set: string): readonly Column[] {
  return set.split('|').map((column) => {
    const [, mark = '', name = '', kind = ''] = /^([*+]?)(.*?)(?:#(\w))?$/.exec(column) ?? [];
    return { mark, name, kind };
  });
}

function meantOf(columns: readonly Column[]): string {
  const meant = columns.find(({ mark }) => mark !== '');
  if (!meant) throw new TypeError('a set of headers says what is meant');
  return meant.name;
}

describe('by names and cells', () => {
  it.each(HEADER_SETS)('%s', (set) => {
    const columns = columnsOf(set);
    const names = columns.map(({ name }) => name);
    const rows = hosts.map((_, row) => columns.map(({ kind }) => CELLS[kind]?.[row] ?? ''));
    expect(guessDomainColumn(names, rows)?.name).toBe(meantOf(columns));
  });
});

describe('by names alone', () => {
  const told = HEADER_SETS.filter((set) => set.includes('*') && !set.includes('#x'));

  it.each(told)('%s', (set) => {
    const columns = columnsOf(set);
    const names = columns.map(({ name }) => name);
    expect(guessDomainColumn(names, [])?.name).toBe(meantOf(columns));
  });
});
