import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseDomainColumn } from '../../src/collector/choose-column.ts';
import { listDomains } from '../../src/commands/add.ts';
import { createDomainReader } from '../../src/rows/domain/domain-reader.ts';
import { openList } from '../../src/rows/list-input.ts';
import { openRows } from '../../src/rows/open-rows.ts';
import type { Source } from '../../src/rows/source.ts';
import { sourceOf } from '../rows/sources.ts';
import { useTempFolder } from '../support/temp-folder.ts';

async function list(
  list: string | Source,
  { registrable = false, signal = NEVER, onRow = () => {} } = {},
) {
  const source = typeof list === 'string' ? sourceOf(list) : list;
  const format = openRows(source, { prefix: 'brand_' });
  const column = chooseDomainColumn(source, format, 'domain');
  const domains = new Map<string, number>();
  const reader = createDomainReader({ column, registrable });
  const readDomain: typeof reader = (cell) => {
    onRow();
    return reader(cell);
  };
  const listed = await listDomains({ source, format, column, readDomain, domains, signal });
  return { listed, read: [...domains.keys()] };
}

const NEVER = new AbortController().signal;

describe('listDomains', () => {
  it('counts rows, domains, repetitions and rows without a domain', async () => {
    const { listed, read } = await list(
      'domain,n\nbolt.com,1\nhttp://WWW.Acme.com/,2\n\nacme.com\nn/a,4\n,5\n',
    );
    expect(read).toEqual(['bolt.com', 'acme.com']);
    expect(listed).toEqual({
      rows: 5,
      uniqueDomains: 2,
      duplicateRows: 1,
      invalidRows: 2,
      firstInvalid: [
        { row: 4, line: 6, reason: 'empty', cell: 'n/a' },
        { row: 5, line: 7, reason: 'empty', cell: '' },
      ],
    });
  });

  it('shows the first rows without a domain only, and not all of a long cell', async () => {
    const { listed } = await list(`domain,n\n${`${'no domain '.repeat(20)},1\n`.repeat(8)}`);
    expect(listed.invalidRows).toBe(8);
    expect(listed.firstInvalid.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5]);
    expect(listed.firstInvalid[0]?.cell).toHaveLength(61);
  });

  it('takes domains of one registrable part for one, if asked to', async () => {
    const text = 'domain,n\na.acme.co.uk,1\nb.acme.co.uk,2\n';
    expect((await list(text)).read).toEqual(['a.acme.co.uk', 'b.acme.co.uk']);
    expect((await list(text, { registrable: true })).read).toEqual(['acme.co.uk']);
  });

  it('takes nothing of a list that is changed while it is read', async () => {
    const folder = useTempFolder();
    const path = join(folder, 'list.csv');
    writeFileSync(path, 'domain,n\nacme.com,1\n');
    const source = await openList(path, { spoolFolder: folder, signal: NEVER });
    onTestFinished(() => source.close());
    const onRow = (): void => appendFileSync(path, 'bolt.com,2\n');
    await expect(list(source, { onRow })).rejects.toThrow('it was changed while it was read');
  });

  it('stops when it is told to', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(list('domain,n\nacme.com,1\n', { signal })).rejects.toThrow('enough');
  });
});
