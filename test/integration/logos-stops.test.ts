import { describe, expect, it } from 'vitest';
import { createRunControl } from '../../src/index.ts';
import { PNG } from '../logos/svgs.ts';
import { openScripted, openServer } from './support/api.ts';
import { run, start, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { answers, OPTIONS, openPictures, picturesIn, writeLogoList } from './support/pictures.ts';
import { column, listOf, rowsOf } from './support/tables.ts';

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
    await expect.poll(() => asked.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
    await expect.poll(() => picturesIn(folder).length, { timeout: 60_000 }).toBe(3);
    // Notes follow their files, and nobody can see them while the run goes on.
    await new Promise((resolve) => setTimeout(resolve, 500));
    running.process.kill('SIGKILL');
    await running.ended;
    isSlow = false;
    asked.length = 0;
    const ended = await run(args, { cwd: folder.path });
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
    await expect.poll(() => requests.length, { timeout: 60_000 }).toBe(3);
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
      logoAllow: [pictures.host],
      control,
      onEvent: (event) => {
        // Not sooner: paused lookups would never come to the logos.
        if (event.type === 'progress' && event.done === 3) control.pause();
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
