import { expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { runHere, summaryOf } from './support/command.ts';
import { column, domains, listOf, openList, rowsOf } from './support/folder.ts';

it('a second API is a second command over the output of the first, for the rows that it does not know', async () => {
  const names = domains(60);
  const [first, second] = [await openApi({ notFound: 0.3 }), await openApi()];
  const folder = openList(listOf(names));
  const options = { cwd: folder.path };
  await runHere(['enrich', 'list.csv', '--out', 'one.csv', '--base-url', first.url], options);
  const one = rowsOf(folder.read('one.csv'));
  const unknown = column(one, 'brand_status').filter((status) => status === 'not_found').length;
  expect(unknown).toBeGreaterThan(5);
  const ended = await runHere(
    `enrich one.csv --out two.csv --base-url ${second.url} --where brand_status=not_found,failed --prefix other_ --json`.split(
      ' ',
    ),
    options,
  );
  expect(ended).toMatchObject({ code: 0 });
  expect(summaryOf(ended)).toMatchObject({ rows: unknown, calls: unknown });
  expect(second.stats().calls).toBe(unknown);
  const two = rowsOf(folder.read('two.csv'));
  expect(column(two, 'domain')).toEqual(names);
  expect(column(two, 'brand_status')).toEqual(column(one, 'brand_status'));
  expect(column(two, 'other_status')).toEqual(
    column(one, 'brand_status').map((status) => (status === 'not_found' ? 'found' : '')),
  );
});
