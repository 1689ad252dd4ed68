import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { leaveNoEmptyFolders } from '../../src/run/open.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('folders that were made and stayed empty are taken away, with those above them', async () => {
  const folder = useTempFolder();
  const tidy = leaveNoEmptyFolders(join(folder, 'a/b/c'));
  mkdirSync(join(folder, 'a/b/c'), { recursive: true });
  await tidy.close();
  expect(readdirSync(folder)).toEqual([]);
});

it('folders with something in them stay, and so do those that were there before', async () => {
  const folder = useTempFolder();
  mkdirSync(join(folder, 'before'));
  const [before, made] = ['before', 'a/b'].map((path) => leaveNoEmptyFolders(join(folder, path)));
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  writeFileSync(join(folder, 'a/kept'), '');
  await before?.close();
  await made?.close();
  expect(readdirSync(folder).sort()).toEqual(['a', 'before']);
  expect(readdirSync(join(folder, 'a'))).toEqual(['kept']);
});

it('a folder that was never made is no trouble', async () => {
  await expect(leaveNoEmptyFolders(join(useTempFolder(), 'a/b')).close()).resolves.toBeUndefined();
});

it('a folder on a drive that is not there is looked for as far up as there are names', () => {
  const asked: string[] = [];
  const isThere = (folder: string): boolean => {
    if (asked.length > 3) throw new Error('It never ends.');
    asked.push(folder);
    return false;
  };
  leaveNoEmptyFolders('/a/b', { isThere });
  expect(asked).toEqual([resolve('/a/b'), resolve('/a'), resolve('/')]);
});
