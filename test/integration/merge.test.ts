import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi, openScripted } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { expectRefusal } from './support/refusals.ts';
import { rowsOf } from './support/tables.ts';

const LIST =
  'id;Site;Note\r\n1;"A.com"; x \r\n2;b.com;\r\n3;c.com;"y;"\r\n4;n/a;\r\n5;B.com\r\n6;d.com;';

interface Merging {
  readonly folder: Folder;
  readonly says: Record<string, SandboxReply>;
  merge(more?: object): ReturnType<typeof enrichIn>;
}

/** A list of which `b.com` and `c.com` failed. */
async function openMerging(list = LIST, format = 'csv'): Promise<Merging> {
  const folder = openFolder();
  folder.write(`list.${format}`, list);
  const says: Record<string, SandboxReply> = { 'b.com': { status: 500 }, 'c.com': { status: 500 } };
  const { url } = await openScripted(says);
  const options = { baseUrl: url, retries: 0, maxFailed: '100%' };
  await enrichIn(folder, { input: `list.${format}`, ...options });
  const merge = folder.at(`list.enriched.${format}`);
  return {
    folder,
    says,
    merge: (more = {}) =>
      enrichIn(folder, { input: `list.failures.${format}`, ...options, merge, ...more }),
  };
}

describe('--merge', () => {
  it('puts what is found now in its places, and leaves the rest to the byte', async () => {
    const { folder, says, merge } = await openMerging();
    says['b.com'] = { body: { name: 'Bolt' } };
    const { summary } = await merge();
    expect(folder.read('list.enriched.csv')).toBe(
      'id;Site;Note;brand_domain;brand_status;brand_fetched_at;brand_name\r\n' +
        '1;"A.com"; x ;a.com;found;<time>;A\r\n' +
        '2;b.com;;b.com;found;<time>;Bolt\r\n' +
        '3;c.com;"y;";c.com;failed;;\r\n' +
        '4;n/a;;;invalid;;\r\n' +
        '5;B.com;;b.com;found;<time>;Bolt\r\n' +
        '6;d.com;;d.com;found;<time>;D\r\n',
    );
    expect(folder.read('list.failures.csv')).toBe(
      'id;Site;Note;brand_row;brand_domain;brand_status;brand_reason;brand_http_status;brand_attempts\r\n' +
        '3;c.com;"y;";3;c.com;failed;http_500;500;1\r\n' +
        '4;n/a;;4;;invalid;empty;;0\r\n',
    );
    expect(summary).toMatchObject({
      rows: 4,
      lookups: 2,
      statuses: { found: 2, failed: 1, invalid: 1 },
      out: folder.at('list.enriched.csv'),
      failures: folder.at('list.failures.csv'),
    });
  });

  it('changes nothing when it is done once more, also when nothing is left', async () => {
    for (const format of ['csv', 'jsonl']) {
      const { folder, says, merge } = await openMerging(
        format === 'csv'
          ? 'domain\nb.com\nx.com\nc.com\n'
          : '{"domain":"b.com"}\n{"domain":"x.com"}\n{"domain":"c.com"}\n',
        format,
      );
      delete says['b.com'];
      for (const isLeft of [true, false]) {
        if (!isLeft) delete says['c.com'];
        await merge();
        const files = () => [
          folder.read(`list.enriched.${format}`),
          folder.read(`list.failures.${format}`),
        ];
        const before = files();
        const { summary } = await merge();
        expect(files()).toEqual(before);
        expect(summary.rows).toBe(isLeft ? 1 : 0);
      }
    }
  });

  it('writes what is wanted elsewhere also when nothing is left to be merged', async () => {
    const { folder, says, merge } = await openMerging('{"domain":"b.com"}\n', 'jsonl');
    delete says['b.com'];
    await merge();
    expect(folder.read('list.failures.jsonl')).toBe('');
    const before = folder.read('list.enriched.jsonl');
    const { summary } = await merge({ out: 'all.jsonl', failures: 'left.jsonl' });
    expect(summary).toMatchObject({ out: folder.at('all.jsonl'), rows: 0 });
    expect([folder.read('all.jsonl'), folder.read('left.jsonl')]).toEqual([before, '']);
    expect(folder.read('list.enriched.jsonl')).toBe(before);
    await expect(merge({ merge: folder.at('none.jsonl') })).rejects.toThrow(
      /none\.jsonl: there is no/,
    );
  });

  it('adds columns that are new at the end, empty for the other rows', async () => {
    const { folder, says, merge } = await openMerging();
    says['b.com'] = { body: { city: '=Oslo', name: 'Bolt' } };
    await merge({ failures: 'left.csv' });
    expect(
      rowsOf(folder.read('list.enriched.csv'), ';').map((row) => Object.values(row).slice(3)),
    ).toEqual([
      ['a.com', 'found', '<time>', 'A', ''],
      ['b.com', 'found', '<time>', 'Bolt', "'=Oslo"],
      ['c.com', 'failed', '', '', ''],
      ['', 'invalid', '', '', ''],
      ['b.com', 'found', '<time>', 'Bolt', "'=Oslo"],
      ['d.com', 'found', '<time>', 'D', ''],
    ]);
    expect(rowsOf(folder.read('left.csv'), ';')).toHaveLength(2);
    expect(rowsOf(folder.read('list.failures.csv'), ';')).toHaveLength(4);
  });

  it('takes a domain that was corrected in the failures file', async () => {
    const { folder, merge } = await openMerging();
    folder.write(
      'list.failures.csv',
      folder.read('list.failures.csv').replace('4;n/a;', '4;e.com;'),
    );
    await merge();
    expect(folder.read('list.enriched.csv')).toContain('\r\n4;n/a;;e.com;found;<time>;E\r\n');
    expect(folder.read('list.failures.csv')).not.toContain('e.com');
  });

  it('fills blank cells too, and keeps names of ours that have a suffix', async () => {
    const { folder, says, merge } = await openMerging(
      'domain,brand_status,City\na.com,own,\nb.com,own,\n',
    );
    says['b.com'] = { body: { name: 'B', city: 'Rome' } };
    const { summary } = await merge({ fields: 'name=name', fill: { City: 'city' } });
    expect(folder.read('list.enriched.csv')).toBe(
      'domain,brand_status,City,brand_domain,brand_status_2,brand_fetched_at,brand_name\n' +
        'a.com,own,,a.com,found,<time>,A\nb.com,own,Rome,b.com,found,<time>,B\n',
    );
    expect(summary.filled).toEqual({ City: 1 });
  });

  it('never lets a failure take the place of an answer', async () => {
    const { folder, says, merge } = await openMerging();
    const failures = folder.read('list.failures.csv');
    delete says['b.com'];
    await merge();
    const merged = folder.read('list.enriched.csv');
    folder.write('list.failures.csv', failures);
    says['b.com'] = { status: 500 };
    await merge({ refresh: true });
    expect(folder.read('list.enriched.csv')).toBe(merged);
    expect(folder.read('list.failures.csv')).not.toContain('b.com');
  });

  it('leaves a row as it was that is not asked this time', async () => {
    const { folder, merge } = await openMerging();
    const files = () => [folder.read('list.enriched.csv'), folder.read('list.failures.csv')];
    const before = files();
    const { summary } = await merge({ maxCalls: 1 });
    expect(summary).toMatchObject({ calls: 1, stopped: { reason: 'max_calls' } });
    expect(files()).toEqual(before);
  });
});

describe('a merge is refused before any call, and changes nothing,', () => {
  const FAILURES =
    'domain,brand_row,brand_domain,brand_status,brand_reason,brand_http_status,brand_attempts\n';
  const OUT =
    'domain,brand_domain,brand_status,brand_fetched_at,brand_name\na.com,a.com,found,<time>,A\nb.com,b.com,failed,,\n';
  const ROW = 'b.com,2,b.com,failed,http_500,500,1\n';

  it.each([
    [
      'of another domain',
      FAILURES + ROW.replaceAll('b.com', 'x.com'),
      OUT,
      [],
      /row 2 has the domain 'x\.com' in the one and 'b\.com' in the other, so they are not of the same run; nothing was changed/,
    ],
    [
      'of a row that is not there',
      FAILURES + ROW.replace(',2,', ',3,'),
      OUT,
      [],
      /there is no row 3 in it/,
    ],
    [
      'of no place',
      FAILURES + ROW.replace(',2,', ',two,'),
      OUT,
      [],
      /a row has no place in brand_row/,
    ],
    [
      'in another order',
      FAILURES + ROW + ROW,
      OUT,
      [],
      /its rows are not in the order of brand_row/,
    ],
    [
      'of a list',
      'domain\nb.com\n',
      OUT,
      [],
      /it has no column brand_row; expected the failures file/,
    ],
    [
      'into a list',
      FAILURES + ROW,
      'domain\nb.com\n',
      [],
      /Cannot merge into out\.csv: it has no column brand_domain/,
    ],
    [
      'into a list of other columns',
      FAILURES + ROW,
      `x${OUT}`,
      [],
      /its columns do not begin with those of failures\.csv/,
    ],
    ['with another prefix', FAILURES + ROW, OUT, ['--prefix', 'b_'], /it has no column b_row/],
    [
      'with changes',
      FAILURES + ROW,
      OUT,
      ['--changes', 'c.csv'],
      /Cannot use --changes along with --merge/,
    ],
    [
      'into its failures',
      FAILURES + ROW,
      OUT,
      ['--failures', 'out.csv'],
      /Cannot write both outputs to out\.csv/,
    ],
  ])('%s', async (_, failures, out, flags, expected) => {
    const folder = openFolder();
    folder.write('failures.csv', failures);
    folder.write('out.csv', out);
    const api = await openApi();
    const args = ['enrich', 'failures.csv', '--merge', 'out.csv', '--base-url', api.url];
    expectRefusal(await runHere([...args, ...flags], { cwd: folder.path }), expected);
    expect(folder.names()).toEqual(['failures.csv', 'out.csv']);
    expect([folder.read('failures.csv'), folder.read('out.csv')]).toEqual([failures, out]);
    expect(api.stats().calls).toBe(0);
  });

  it('and is done by the command when all is well', async () => {
    const folder = openFolder();
    folder.write('failures.csv', FAILURES + ROW);
    folder.write('out.csv', OUT);
    const { url } = await openApi({ respond: () => ({ body: { name: 'B' } }) });
    const args = ['enrich', 'failures.csv', '--merge', 'out.csv', '--base-url', url, '--json'];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.code).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ out: 'out.csv', failures: 'failures.csv', rows: 1 });
    expect(folder.read('out.csv')).toBe(OUT.replace('failed,,', 'found,<time>,B'));
    expect(folder.read('failures.csv')).toBe(FAILURES);
  });
});
