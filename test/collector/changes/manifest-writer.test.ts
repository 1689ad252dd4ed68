import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  AT,
  openManifest,
  openManifestWriter,
  RECORD_HEAD_WORDS,
} from '../../../src/collector/changes/manifest.ts';
import { useTempFolder } from '../../support/temp-folder.ts';

test('records that are gathered while others are still being written do not get into these', async () => {
  const path = join(useTempFolder(), 'told.manifest');
  // Together they are so long that the system is given them in several pieces.
  const columns = Array.from({ length: 400 }, (_, at) => ({
    name: `c${at}`,
    expression: `c${at}`,
  }));
  const [first, later] = [3_000, 2_000];
  const writer = await openManifestWriter(path, columns);
  const add = (count: number, mark: number): void => {
    for (let record = 0; record < count; record += 1) {
      const at = writer.add();
      writer.words.fill(mark, at, at + RECORD_HEAD_WORDS + columns.length);
    }
  };

  add(first, 1);
  await writer.flush();
  add(later, 2);
  await writer.finish();
  await writer.commit();

  const manifest = openManifest(path);
  if (manifest === undefined || manifest === 'damaged') throw new Error('it cannot be read');
  const marks = Array.from(
    { length: first + later },
    (_, record) => manifest.words[manifest.read(record) + AT.idLow],
  );
  await manifest.close();
  expect(marks.indexOf(2)).toBe(first);
  expect(marks.lastIndexOf(1)).toBe(first - 1);
});
