import { readFileSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import { expect, it } from 'vitest';
import { readParts } from '../rows/xlsx/workbooks.ts';
import { openApi } from './support/api.ts';
import { openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';

const SAMPLE = new URL('../../samples/crm-export.xlsx', import.meta.url);

/** @throws an error that says where a text is no XML, or uses a prefix that is not declared */
function assertWellFormed(xml: string, path: string): void {
  const parser = new SaxesParser({ xmlns: true, fileName: path });
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(xml).close();
}

it('the sample workbook, of a program that declares prefixes where it uses them, comes back well-formed', async () => {
  const folder = openFolder();
  folder.write('crm-export.xlsx', readFileSync(SAMPLE));
  const { url } = await openApi();
  const ended = await runHere(['enrich', 'crm-export.xlsx', '--base-url', url], {
    cwd: folder.path,
  });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  // Three rows of title stand above the header.
  expect(ended.stderr).toContain('Invalid, for example: sheet row 11 (empty); sheet row 12 ');
  const parts = await readParts(readFileSync(folder.at('crm-export.enriched.xlsx')));
  expect(Object.keys(parts)).toContain('xl/workbook.xml');
  for (const [path, xml] of Object.entries(parts)) assertWellFormed(xml, path);
});
