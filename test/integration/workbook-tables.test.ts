import { expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';

it('a table is told of when sorting it would tear our columns off their rows', async () => {
  const folder = openFolder();
  const table =
    '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:A2"><tableColumns count="1"><tableColumn id="1" name="domain"/></tableColumns></table>';
  const after = '<tableParts count="1"><tablePart r:id="rIdTable"/></tableParts>';
  const rows = row(1, 'domain') + row(2, 'acme.com', null, 'call Jo');
  folder.write('list.xlsx', await workbookOf({ sheets: [{ name: 'S', rows, after, table }] }));
  const { url } = await openScripted({});
  const notices: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'notice') notices.push(event.message);
  };
  await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, onEvent, out: 'o.csv' });
  expect(notices).toEqual([]);
  await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, onEvent });
  expect(notices).toEqual([
    expect.stringMatching(/^The table 'T' in .*list\.enriched\.xlsx could not be extended over/),
  ]);
});
