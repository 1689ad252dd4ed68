import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { builtCommand } from './support/build.ts';
import { ENVIRONMENT, run, start } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder, withoutTimes } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { cellsOf, column, domains, listOf, objectsOf, rowsOf } from './support/tables.ts';

const FOUND = (domain: string) =>
  `${domain},found,<time>,${domain.charAt(0).toUpperCase()}${domain.slice(1, -4)}`;

describe('a list', () => {
  it('keeps empty rows above its header', async () => {
    const folder = openList(';;;;;;;\n\n;\nname;domain\nAcme;acme.com\n');
    const api = await openScripted({});
    const { summary } = await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(summary.statuses).toMatchObject({ found: 1, invalid: 0 });
    expect(folder.read('list.enriched.csv')).toBe(
      ';;;;;;;\n;;;;;\nname;domain;brand_domain;brand_status;brand_fetched_at;brand_name\n' +
        `Acme;acme.com;${FOUND('acme.com').replaceAll(',', ';')}\n`,
    );
  });

  it.each([
    ['a form', ';;;\r\n'],
    ['a wide sheet', ';;;;;;;;;;;;;;;\r\n'],
    ['quoted cells and spaces', '"";" ";\t;""\r\n'],
    ['a space alone', ' \r\n'],
  ])('keeps the empty rows of %s where they are, and counts none of them', async (_, empty) => {
    const folder = openFolder();
    const rows = [empty, 'Acme;acme.com;a;b\r\n', empty, 'Ghost;n/a;;\r\n', empty, empty];
    folder.write('list.csv', `name;domain;x;y\r\n${rows.join('')}`);
    const api = await openScripted({});
    const { summary } = await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    const { rows: lines, statuses } = summary;
    expect({ lines, ...statuses }).toMatchObject({ lines: 2, found: 1, invalid: 1 });
    const out = folder.read('list.enriched.csv');
    const own = out.split('\r\n').slice(1, -1);
    expect(own.map((line, at) => line.startsWith((rows[at] ?? '').trimEnd()))).not.toContain(false);
    expect(own.filter((line) => line.replaceAll(/[";\s]/g, '') === '')).toHaveLength(4);
    const failures = folder.read('list.failures.csv').split('\r\n').slice(1, -1);
    expect(failures).toEqual(['Ghost;n/a;;;2;;invalid;empty;;0']);
    folder.write('list.failures.csv', folder.read('list.failures.csv').replace('n/a', 'bolt.com'));
    const merge = { input: 'list.failures.csv', merge: folder.at('list.enriched.csv') };
    await enrichIn(folder, { ...merge, baseUrl: api.url });
    expect(folder.read('list.enriched.csv').split('\r\n').slice(1, -1)).toEqual(
      own.map((line) =>
        line.startsWith('Ghost') ? `Ghost;n/a;;;${FOUND('bolt.com').replaceAll(',', ';')}` : line,
      ),
    );
  });

  it('without a line end in its last row gets one', async () => {
    const folder = openList('n,domain\r\n1,acme.com');
    const api = await openScripted({});
    await enrichIn(folder, { input: 'list.csv', baseUrl: api.url });
    expect(folder.read('list.enriched.csv').endsWith(`1,acme.com,${FOUND('acme.com')}\r\n`)).toBe(
      true,
    );
  });

  it('of nothing but a header gives outputs of nothing but a header', async () => {
    const folder = openList('name,domain\n');
    const { summary } = await enrichIn(folder, {
      input: 'list.csv',
      baseUrl: 'http://127.0.0.1:9',
    });
    expect(summary.rows).toBe(0);
    expect(folder.read('list.enriched.csv')).toBe(
      'name,domain,brand_domain,brand_status,brand_fetched_at\n',
    );
    expect(folder.read('list.failures.csv')).toBe(
      'name,domain,brand_row,brand_domain,brand_status,brand_reason,brand_http_status,brand_attempts\n',
    );
  });

  it('in JSONL keeps the text of its values: numbers, escapes, order and nesting', async () => {
    const folder = openFolder();
    const lines = [
      '{"domain":"acme.com","n":1.0,"big":12345678901234567890,"e":1e400,"s":"\\u00e9"}',
      '  { "nested" : {"a":[1, 2.50]} , "domain" : "bolt.com" }  ',
      '{"domain":null,"x":true}',
      '{}',
    ];
    folder.write('list.jsonl', `\uFEFF${lines.join('\r\n')}\n\n`);
    const api = await openScripted({});
    await enrichIn(folder, { input: 'list.jsonl', baseUrl: api.url });
    const out = folder.read('list.enriched.jsonl').trimEnd().split('\n');
    expect(out.map((line) => line.at(-1))).toEqual(['\r', '\r', '\r', '}']);
    expect(out[0]?.startsWith('{')).toBe(true);
    for (const [at, line] of lines.entries()) {
      expect(out[at]).toContain(line.trimEnd().slice(0, -1).trimEnd());
    }
    expect(objectsOf(folder.read('list.enriched.jsonl'))).toMatchObject([
      { n: 1, brand_domain: 'acme.com', brand_status: 'found', brand_name: 'Acme' },
      { nested: { a: [1, 2.5] }, brand_status: 'found', brand_name: 'Bolt' },
      { x: true, brand_status: 'invalid' },
      { brand_domain: '', brand_status: 'invalid' },
    ]);
    expect(objectsOf(folder.read('list.failures.jsonl'))).toMatchObject([
      { x: true, brand_row: 3, brand_http_status: null, brand_attempts: 0 },
      { brand_row: 4 },
    ]);
  });

  it('in JSONL may have its domain in a member that comes late, if that is named', async () => {
    const folder = openFolder();
    const rows = Array.from({ length: 400 }, (_, n) => `{"n":${n}}`);
    folder.write('list.jsonl', `${rows.join('\n')}\n{"site":"acme.com"}\n`);
    const api = await openScripted({});
    const { summary } = await enrichIn(folder, {
      input: 'list.jsonl',
      baseUrl: api.url,
      domainColumn: 'site',
    });
    expect(summary.statuses).toMatchObject({ found: 1, invalid: 400 });
  });

  it.each(['csv', 'jsonl'])('in .%s.gz is read, and written as such', async (format) => {
    const folder = openFolder();
    const text =
      format === 'csv'
        ? listOf(domains(500))
        : domains(500)
            .map((domain) => `{"domain":"${domain}"}\n`)
            .join('');
    // Two members, as `cat a.gz b.gz` makes them.
    const half = Math.floor(text.length / 2);
    folder.write(
      `list.${format}.gz`,
      Buffer.concat([gzipSync(text.slice(0, half)), gzipSync(text.slice(half))]),
    );
    const api = await openScripted({});
    const { out, failures } = await enrichIn(folder, {
      input: `list.${format}.gz`,
      baseUrl: api.url,
    });
    expect(out).toBe(folder.at(`list.enriched.${format}.gz`));
    const read = async (path: string): Promise<string> => {
      const chunks: Buffer[] = [];
      await pipeline(createReadStream(path), async (source: AsyncIterable<Buffer>) => {
        for await (const chunk of source) chunks.push(chunk);
      });
      return gunzipSync(Buffer.concat(chunks)).toString();
    };
    const rows = format === 'csv' ? rowsOf(await read(out)) : objectsOf(await read(out));
    expect(column(rows, 'brand_domain')).toEqual(domains(500));
    expect((await read(failures)).split('\n').length).toBeLessThanOrEqual(2);
  });

  it('in .gz that is out of proportion is read, with a word about it', async () => {
    const folder = openFolder();
    const row = `acme.com,${'x'.repeat(8_000_000)}\n`;
    folder.write('list.csv.gz', gzipSync(`domain,note\n${row.repeat(9)}`));
    const api = await openScripted({});
    const args = [
      'enrich',
      'list.csv.gz',
      '--base-url',
      api.url,
      '--progress',
      'none',
      '--dry-run',
    ];
    const { code, stderr } = await run(args, { cwd: folder.path });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Note: list\.csv\.gz is out of proportion: \d+ KB of it are \d\d MB when decompressed/m,
    );
    expect(stderr).toContain('Plan: 9 rows, 1 unique domain');
  });

  it('from standard input goes to standard output, and leaves its failures beside', async () => {
    const folder = openFolder();
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const ended = await run(['enrich', '-', '--base-url', api.url], {
      cwd: folder.path,
      stdin: 'domain;n\nacme.com;1\nbolt.com;2\n',
    });
    expect(ended.code).toBe(0);
    expect(cellsOf(withoutTimes(ended.stdout), ';')).toEqual([
      ['domain', 'n', 'brand_domain', 'brand_status', 'brand_fetched_at', 'brand_name'],
      ['acme.com', '1', 'acme.com', 'found', '<time>', 'Acme'],
      ['bolt.com', '2', 'bolt.com', 'not_found', '<time>', ''],
    ]);
    expect(folder.names()).toEqual(['stdin.failures.csv']);
  });

  it('from standard input may be JSONL and compressed', async () => {
    const folder = openFolder();
    const api = await openScripted({});
    const ended = await run(['enrich', '-', '--base-url', api.url], {
      cwd: folder.path,
      stdin: gzipSync('{"site":"https://acme.com"}\n'),
    });
    expect(objectsOf(ended.stdout)).toMatchObject([{ brand_domain: 'acme.com' }]);
  });

  it('may come from what a shell calls its standard input, or another command', async () => {
    const folder = openList('domain\nacme.com\n');
    const { url } = await openScripted({});
    const main = builtCommand();
    for (const line of [
      'cat list.csv | "$0" "$1" enrich /dev/stdin --base-url "$2"',
      '"$0" "$1" enrich <(cat list.csv) --base-url "$2"',
    ]) {
      const args = ['-c', line, process.execPath, main, url];
      const options = { cwd: folder.path, env: ENVIRONMENT };
      const { stdout } = await promisify(execFile)('bash', args, options);
      expect(column(rowsOf(stdout), 'brand_name')).toEqual(['Acme']);
    }
    expect(folder.names()).toEqual(['list.csv', 'stdin.failures.csv']);
    const both = ['enrich', '/dev/stdin', '--json', '--base-url', url];
    const refused = await run(both, { cwd: folder.path, stdin: 'domain\n' });
    expect(refused.stderr).toMatch(/Cannot put both the rows and --json on standard output/);
  });

  it('may come from a named pipe', async () => {
    const folder = openFolder();
    await once(spawn('mkfifo', [folder.at('list.csv')]), 'close');
    const api = await openScripted({});
    const running = await start(['enrich', 'list.csv', '--base-url', api.url], {
      cwd: folder.path,
    });
    const writer = createWriteStream(folder.at('list.csv'));
    writer.write('domain\nacme.com\n');
    writer.end('bolt.com\n');
    expect((await running.ended).code).toBe(0);
    expect(column(rowsOf(folder.read('list.enriched.csv')), 'brand_name')).toEqual([
      'Acme',
      'Bolt',
    ]);
  });
});
