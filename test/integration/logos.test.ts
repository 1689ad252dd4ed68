import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PLAIN_SVG, PNG } from '../run/logos/pictures.ts';
import { openApi, openServer } from './support/api.ts';
import { enrichHere, startEnrich, summaryOf } from './support/command.ts';
import { column, listOf, openFolder, openList, rowsOf } from './support/folder.ts';
import { answers, FLAGS, openPictureApi, pages, picturesIn } from './support/pictures.ts';
import { expectRefusal } from './support/refusals.ts';
import { lookIntoStore } from './support/stores.ts';

describe('--logos', () => {
  it('saves the picture of each domain once, and says where it is, or why it is not', async () => {
    const folder = openFolder();
    const api = await openPictureApi(
      (at) => ({
        ...answers({
          'a.com': `${at}/a.svg`,
          'b.com': [null, ` ${at}/b `],
          'missing.com': `${at}/none.png`,
          'page.com': `${at}/p`,
          'none.com': null,
          'private.com': 'http://10.0.0.1/logo.png',
        }),
        'unknown.com': { status: 404 },
      }),
      pages({ '/a.svg': PNG, '/b': PLAIN_SVG, '/p': '<html>' }),
    );
    const domains = 'a.com b.com missing.com page.com none.com private.com unknown.com a.com';
    folder.write('list.csv', listOf([...domains.split(' '), 'no domain']));
    const ended = await enrichHere(folder, api.url, ...FLAGS);
    expect(ended).toMatchObject({ code: 0 });
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'brand_logo_file').join()).toBe(
      'pictures/a.com.png,,,,,,,pictures/a.com.png,',
    );
    expect(column(rows, 'brand_logo_reason').join()).toBe(
      ',svg_left_out,http_404,not_a_picture,no_url,private_address,,,',
    );
    expect(picturesIn(folder)).toEqual(['a.com.png']);
    expect(readFileSync(folder.at('pictures/a.com.png'))).toEqual(PNG);
    expect(api.asked().sort()).toEqual(['/a.svg', '/b', '/none.png', '/p']);
    const { logos } = summaryOf(ended);
    expect(logos).toMatchObject({ folder: 'pictures', saved: 1, kept: 0, missing: 5 });
    expect(logos?.reasons).toMatchObject({ http_404: 1, no_url: 1, private_address: 1 });
    expect(ended.stderr).toContain('100%, 6 of 6 logos\n');
    expect(ended.stderr).toMatch(/ {2}logos {5}pictures \(1 saved, 0 kept, 5 missing: 1 /);
  });

  it('is refused before any call when its folder is a file, or not all is given', async () => {
    const folder = openList(listOf(['a.com']));
    const api = await openApi();
    const enrich = (...flags: readonly string[]) =>
      enrichHere(folder, api.url, '--logos', ...flags);
    const inFile = await enrich('list.csv', '--logo-field', 'logo');
    expectRefusal(inFile, /Cannot write logos to list\.csv: it is a file, not a folder\.$/);
    const alone = await enrich('pictures');
    expectRefusal(alone, /Cannot use --logos without --logo-field: give both\.$/);
    expect(folder.names()).toEqual(['list.csv']);
    expect(api.stats().calls).toBe(0);
  });

  it('makes no folder in a rehearsal, and asks no host when the API is the wrong one', async () => {
    const folder = openList(listOf(['a.com', 'b.com', 'c.com', 'd.com', 'e.com']));
    const { url } = await openServer((_, response) => response.end('<html>'));
    expect(await enrichHere(folder, url, ...FLAGS, '--dry-run')).toMatchObject({ code: 0 });
    expect(existsSync(folder.at('pictures'))).toBe(false);
    const ended = await enrichHere(folder, url, ...FLAGS);
    expect(ended.code).toBe(4);
    expect(picturesIn(folder)).toEqual([]);
  });
});

it('fetching logos is done in full by the next run when it is killed', async () => {
  const folder = openFolder();
  const domains = Array.from({ length: 8 }, (_, at) => `c${at}.com`);
  let isSlow = true;
  const asked: string[] = [];
  const { url } = await openPictureApi(
    (at) => answers(Object.fromEntries(domains.map((domain) => [domain, `${at}/${domain}`]))),
    (request, response) => {
      asked.push(request.url ?? '');
      if (!isSlow || asked.length <= 3) response.end(PNG);
    },
  );
  folder.write('list.csv', listOf(domains));
  const running = await startEnrich(folder, url, ...FLAGS);
  await expect.poll(() => asked.length).toBeGreaterThanOrEqual(5);
  await expect.poll(() => picturesIn(folder).length).toBe(3);
  // Notes follow their files.
  const root = lookIntoStore(folder);
  const notes = root.openDB('logos', { encoding: 'json' });
  await expect.poll(() => notes.getCount()).toBe(3);
  await root.close();
  await running.stop('SIGKILL');
  isSlow = false;
  asked.length = 0;
  const ended = await enrichHere(folder, url, ...FLAGS);
  const { saved = 0, kept = 0, missing } = summaryOf(ended).logos ?? {};
  expect({ saved, kept, missing }).toEqual({ saved: 5, kept: 3, missing: 0 });
  expect(asked).toHaveLength(saved);
  expect(picturesIn(folder)).toEqual(domains.map((domain) => `${domain}.png`));
});
