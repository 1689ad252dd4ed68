import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { type Folder, openList } from './support/folder.ts';
import { canOpenTerminal, openTerminal } from './support/terminal.ts';

const QUESTION = '[y/N]';
const HEADER = 'Firma;Webseite;E-Mail\n';
const LIST = `${HEADER}Acme;www.acme.de;jo@acme.de\nBolt;;jo@bolt.de\nCore;core.de;jo@gmail.com\nDelta;10.0.0.1;x\n`;

/** A list, and what an earlier run made of it. */
function openListOf(text: string): Folder {
  const folder = openList(text);
  folder.write('list.enriched.csv', 'earlier');
  return folder;
}

describe.skipIf(!canOpenTerminal())('on a terminal', () => {
  const enrichAt = async (folder: Folder, ...args: readonly string[]) => {
    const api = await openApi();
    const given = ['enrich', 'list.csv', '--base-url', api.url, ...args];
    const terminal = await openTerminal(given, { cwd: folder.path });
    return { ...terminal, calls: () => api.stats().calls };
  };

  it('the plan is shown, and nothing is asked of the API before somebody agrees', async () => {
    const folder = openListOf(LIST);
    const terminal = await enrichAt(folder, '--price', '0.1', '--rate', '4/s');
    await terminal.shows(QUESTION);
    expect(terminal.calls()).toBe(0);
    terminal.type('y\r');
    const { code, shown } = await terminal.ended;
    expect(shown).toContain(
      [
        "  domains  in column 'Webseite' (guessed by name), such as 'www.acme.de'",
        "           also possible: 'E-Mail'; --domain-column takes another",
        '  rows     4',
        '  unique   2 domains',
        '  invalid  2 rows: 1 blank, 1 an IP address',
        '           line 3 (blank)',
        "           line 5 '10.0.0.1' (an IP address)",
        '  calls    2 to make',
        '  time     about 1 s at 4/s, as told',
        '  cost     0.20 at 0.10 a call, if none has to be made twice',
        'Make 2 calls? (--yes skips this question) [y/N] y',
      ].join('\n'),
    );
    expect(shown).toMatch(/^list\.csv\n {2}format {3}CSV, semicolon-separated/m);
    expect(shown).toContain('; cost 0.20\n');
    expect(code).toBe(0);
    expect(terminal.calls()).toBe(2);
    expect(folder.read('list.enriched.csv')).toContain('acme.de;found');
  });

  it.each([
    ['nothing but Enter', '\r'],
    ['Ctrl-C', '\u0003'],
  ])('%s makes no call and leaves the files as they were', async (_, keys) => {
    const folder = openListOf(LIST);
    const terminal = await enrichAt(folder);
    await terminal.shows(QUESTION);
    terminal.type(keys);
    const { code, shown } = await terminal.ended;
    expect(shown).toMatch(/^brandfill: Ended before the first call; nothing was changed\./m);
    expect(code).toBe(130);
    expect(terminal.calls()).toBe(0);
    expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv']);
    expect(folder.hasStore()).toBe(false);
    expect(folder.read('list.enriched.csv')).toBe('earlier');
  });

  it.each([
    ['--yes is given', LIST, ['--yes'], 2],
    ['there is no call to make', `${HEADER}Acme;;\n`, [], 0],
  ])('nobody is asked when %s', async (_, list, args, calls) => {
    const terminal = await enrichAt(openListOf(list), ...args);
    const { code, shown } = await terminal.ended;
    expect(shown).toContain(`  calls    ${calls} to make`);
    expect(shown).not.toContain(QUESTION);
    expect(code).toBe(calls > 0 ? 0 : 3);
    expect(terminal.calls()).toBe(calls);
  });
});
