import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
