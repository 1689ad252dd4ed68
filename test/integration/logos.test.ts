import { existsSync, readFileSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRunControl, type EnrichOptions, enrich } from '../../src/index.ts';
import { PLAIN_SVG, PNG } from '../logos/pictures.ts';
import { openApi, openScripted, openServer } from './support/api.ts';
import { start, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import {
  answers,
  FLAGS,
  OPTIONS,
  openPictures,
  picturesIn,
  writeLogoList,
} from './support/pictures.ts';
import { runHere } from './support/program.ts';
import { expectRefusal } from './support/refusals.ts';
import { column, listOf, rowsOf } from './support/tables.ts';

describe('--logos', () => {
  it('saves the picture of each domain once, and says where it is, or why it is not', async () => {
    const folder = openFolder();
    const pictures = await openPictures({
      '/a.svg': PNG,
      '/b': PLAIN_SVG,
      '/p': '<html>',
    });
    const at = pictures.url;
    const api = await openScripted({
      ...answers({
        'a.com': `${at}/a.svg`,
        'b.com': [null, ` ${at}/b `],
        'missing.com': `${at}/none.png`,
        'script.com': `${at}/b`,
        'page.com': `${at}/p`,
        'none.com': null,
        'odd.com': 'n/a',
        'file.com': 'file:///etc/passwd',
        'private.com': 'http://10.0.0.1/logo.png',
        'data.com': 'data:image/png;base64,AAAA',
      }),
      'unknown.com': { status: 404 },
    });
    const domains =
      'a.com,b.com,missing.com,script.com,page.com,none.com,odd.com,file.com,private.com,data.com,unknown.com,a.com'.split(
        ',',
      );
    folder.write('list.csv', listOf([...domains, 'no domain']));
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...FLAGS];
    const ended = await runHere([...args], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 0 });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'brand_logo_file')).toEqual([
      'pictures/a.com.png',
      ...Array.from({ length: 10 }, () => ''),
      'pictures/a.com.png',
      '',
    ]);
    expect(column(rows, 'brand_logo_reason')).toEqual([
      '',
      'svg_left_out',
      'http_404',
      'svg_left_out',
      'not_a_picture',
      'no_url',
      'invalid_url',
      'unsupported_scheme',
      'private_address',
      'unsupported_scheme',
      '',
      '',
      '',
    ]);
    expect(picturesIn(folder)).toEqual(['a.com.png']);
    expect(readFileSync(folder.at('pictures/a.com.png'))).toEqual(PNG);
    expect(pictures.asked()).toEqual(['/a.svg', '/b', '/b', '/none.png', '/p']);
    const { logos } = summaryOf(ended);
    expect(logos).toMatchObject({ folder: 'pictures', saved: 1, kept: 0, missing: 9 });
    expect(logos?.reasons).toMatchObject({ http_404: 1, no_url: 1, private_address: 1 });
    expect(ended.stderr).toContain('10 of 10 logos, 1 saved, 9 missing\n');
    expect(ended.stderr).toMatch(/ {2}logos {5}pictures \(1 saved, 0 kept, 9 missing: 2 /);
  });

  it('fetches nothing again but what changed, is gone, or could not be had', async () => {
    const folder = openFolder();
    const pages: Record<string, string | Buffer> = { '/a': PNG, '/b': PNG, '/c': PLAIN_SVG };
    const pictures = await openPictures(pages);
    const script = answers({ 'a.com': `${pictures.url}/a`, 'b.com': `${pictures.url}/b` });
    Object.assign(script, answers({ 'c.com': `${pictures.url}/c`, 'd.com': `${pictures.url}/d` }));
    const api = await openScripted(script);
    folder.write('list.csv', listOf(['a.com', 'b.com', 'c.com', 'd.com']));
    const night = async (more: Partial<EnrichOptions> = {}) => {
      const { summary } = await enrichIn(folder, {
        ...OPTIONS,
        baseUrl: api.url,
        logos: folder.at('pictures'),
        logosSvg: true,
        changes: folder.at('new.csv'),
        ...more,
        input: 'list.csv',
      });
      const { saved, kept, missing } = summary.logos ?? {};
      const changed = column(rowsOf(folder.read('new.csv')), 'domain');
      return { logos: [saved, kept, missing], asked: pictures.asked(), changed };
    };
    const all = ['a.com', 'b.com', 'c.com', 'd.com'];
    expect(await night()).toEqual({
      logos: [3, 0, 1],
      asked: ['/a', '/b', '/c', '/d'],
      changed: all,
    });
    expect(await night()).toEqual({ logos: [0, 3, 1], asked: [], changed: [] });

    rmSync(folder.at('pictures/a.com.png'));
    folder.write('pictures/b.com.png', 'something else');
    expect(await night()).toEqual({ logos: [2, 1, 1], asked: ['/a', '/b'], changed: [] });
    expect(readFileSync(folder.at('pictures/b.com.png'))).toEqual(PNG);

    expect(await night({ freshNotFound: 0 })).toMatchObject({ asked: ['/d'] });
    expect(await night()).toMatchObject({ asked: [] });

    // Another URL, another kind: the file of the old one goes.
    pages['/e'] = PLAIN_SVG;
    Object.assign(script, answers({ 'a.com': `${pictures.url}/e`, 'b.com': `${pictures.url}/f` }));
    expect(await night({ fresh: 0 })).toEqual({
      logos: [1, 1, 2],
      asked: ['/e', '/f'],
      changed: ['a.com'],
    });
    expect(picturesIn(folder)).toEqual(['a.com.svg', 'b.com.png', 'c.com.svg']);
    const [, b] = rowsOf(folder.read('list.enriched.csv'));
    expect(b).toMatchObject({
      brand_logo_file: 'pictures/b.com.png',
      brand_logo_reason: 'http_404',
    });

    expect(await night({ refresh: true })).toMatchObject({ asked: ['/c', '/d', '/e', '/f'] });
  });

  it('is refused before any call when its folder is a file, or not all is given', async () => {
    const folder = openList(listOf(['a.com']));
    const api = await openApi();
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--logos'];
    const inFile = await runHere([...args, 'list.csv', '--logo-field', 'logo'], {
      cwd: folder.path,
    });
    expectRefusal(inFile, /Cannot write logos to list\.csv: it is a file, not a folder\.$/);
    const alone = await runHere([...args, 'pictures'], { cwd: folder.path });
    expectRefusal(alone, /Cannot save logos with one option of two: .* give both\.$/);
    expect(folder.names()).toEqual(['list.csv']);
    expect(api.stats().calls).toBe(0);
  });

  it.each([
    [{ logoField: 'logo' }, /Cannot save logos with one option of two: .* give both\.$/],
    [{ logos: 'p', logoField: 'logo[' }, /Cannot use 'logoField': .* is no JMESPath/],
  ])('is refused with %j', async (options, message) => {
    const run = enrich({ input: 'list.csv', baseUrl: 'http://127.0.0.1:1', ...options });
    await expect(run).rejects.toMatchObject({
      code: 'INVALID_SETTING',
      message: expect.stringMatching(message),
    });
  });

  it('makes no folder in a rehearsal, and asks no host when the API is the wrong one', async () => {
    const folder = openList(listOf(['a.com', 'b.com', 'c.com', 'd.com', 'e.com']));
    const { url } = await openServer((_, response) => response.end('<html>'));
    const args = ['enrich', 'list.csv', '--base-url', url, ...FLAGS];
    expect(await runHere([...args, '--dry-run'], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(existsSync(folder.at('pictures'))).toBe(false);
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.code).toBe(4);
    expect(picturesIn(folder)).toEqual([]);
  });
});

describe('fetching logos', () => {
  it('is done in full by the next run when it is killed', async () => {
    const folder = openFolder();
    const domains = Array.from({ length: 8 }, (_, at) => `c${at}.com`);
    let isSlow = true;
    const asked: string[] = [];
    const { url } = await openServer((request, response) => {
      asked.push(request.url ?? '');
      if (!isSlow || asked.length <= 3) response.end(PNG);
    });
    const args = await writeLogoList(folder, domains, url);
    const running = await start(args, { cwd: folder.path, stdin: '' });
    await expect.poll(() => asked.length).toBeGreaterThanOrEqual(5);
    await expect.poll(() => picturesIn(folder).length).toBe(3);
    // Notes follow their files, and nobody can see them while the run goes on.
    await new Promise((resolve) => setTimeout(resolve, 500));
    running.process.kill('SIGKILL');
    await running.ended;
    isSlow = false;
    asked.length = 0;
    const ended = await runHere(args, { cwd: folder.path });
    const { saved = 0, kept = 0, missing } = summaryOf(ended).logos ?? {};
    // The last one may have been killed between its file and its note.
    expect({ all: saved + kept, missing }).toEqual({ all: 8, missing: 0 });
    expect(kept).toBeGreaterThanOrEqual(2);
    expect(asked).toHaveLength(saved);
    expect(picturesIn(folder)).toEqual(domains.map((domain) => `${domain}.png`));
  });

  it('stops in order at Ctrl-C, and writes the rows with what is there', async () => {
    const folder = openFolder();
    const { url, requests } = await openServer((request, response) => {
      if (request.url === '/a.com') response.end(PNG);
    });
    const domains = ['a.com', 'b.com', 'c.com', 'd.com'];
    const args = await writeLogoList(folder, domains, url);
    const running = await start(args, { cwd: folder.path, stdin: '' });
    await expect.poll(() => requests.length).toBe(3);
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('Interrupted: no more logos are fetched');
    expect(summaryOf(ended)).toMatchObject({
      stopped: { reason: 'interrupted' },
      logos: { saved: 1, missing: 3, reasons: { not_asked: 3 } },
    });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'brand_name')).toEqual(['N', 'N', 'N', 'N']);
    expect(column(rows, 'brand_logo_reason')).toEqual(['', 'not_asked', 'not_asked', 'not_asked']);
  });

  it('is paused and stopped along with the run', async () => {
    const folder = openFolder();
    const control = createRunControl();
    const pages: Record<string, Buffer> = { '/a.com': PNG, '/b.com': PNG, '/c.com': PNG };
    const pictures = await openPictures(pages);
    const logos = ['a.com', 'b.com', 'c.com'].map((name) => [name, `${pictures.url}/${name}`]);
    const api = await openScripted(answers(Object.fromEntries(logos)));
    folder.write('list.csv', listOf(['a.com', 'b.com', 'c.com']));
    let looks = 0;
    const { summary } = await enrichIn(folder, {
      ...OPTIONS,
      input: 'list.csv',
      baseUrl: api.url,
      logos: folder.at('pictures'),
      control,
      onEvent: (event) => {
        // Not sooner: paused lookups would never come to the logos.
        if (event.type === 'progress' && event.lookups === 3) control.pause();
        if (event.type !== 'logos') return;
        looks += 1;
        if (looks === 2) control.stop();
      },
    });
    expect(pictures.asked()).toEqual([]);
    expect(summary).toMatchObject({
      stopped: { reason: 'interrupted' },
      logos: { saved: 0, missing: 3, reasons: { not_asked: 3 } },
    });
  });
});
