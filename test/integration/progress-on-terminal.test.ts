import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { domains, listOf, openList } from './support/folder.ts';
import {
  canOpenTerminal,
  openTerminal,
  type Terminal,
  type TerminalEnd,
  type TerminalOptions,
} from './support/terminal.ts';

const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';

/** Looks up 60 domains and three rows without one, for six seconds or so. */
async function enrichAt(
  options: Omit<TerminalOptions, 'cwd'>,
  ...args: readonly string[]
): Promise<Terminal> {
  const api = await openApi();
  const folder = openList(`${listOf(domains(60))}x\nx\n\u001b[2J\n`);
  const given = ['enrich', 'list.csv', '--base-url', api.url, '--yes', '--rate', '10/s'];
  return await openTerminal([...given, ...args], { ...options, cwd: folder.path });
}

/** Where a line is that begins so. */
const find = ({ seen }: TerminalEnd, start: string): number =>
  seen.findLastIndex((line) => line.startsWith(start));

const isThere = canOpenTerminal();

describe.skipIf(!isThere)('the progress on a terminal', () => {
  it('is drawn in its place, fits the window that has become narrow, and stays in the end', async () => {
    const terminal = await enrichAt({});
    await terminal.shows(' of 63 rows');
    await terminal.shows('held to 10/s');
    await terminal.resize(20);
    await terminal.shows(' 63 rows');
    await terminal.resize(60);
    const ended = await terminal.ended;
    expect(ended.code).toBe(0);
    const summary = find(ended, 'Done: 63 rows in ');
    expect(ended.seen.slice(summary - 4, summary)).toEqual([
      '',
      `${'█'.repeat(39)}  100%  63 of 63 rows`,
      '60 found, 3 invalid',
      expect.stringMatching(/^[\d.]+ calls\/s, held to 10\/s$/),
    ]);
    expect(ended.raw).toContain(HIDE_CURSOR);
    expect(ended.raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(ended.raw.lastIndexOf(HIDE_CURSOR));
    expect(ended.raw).not.toContain('\u001b[2J');
  });

  it('stays when Ctrl-C ends the run early, with what is told meanwhile above it', async () => {
    const terminal = await enrichAt({}, '--rate', '1/s');
    await terminal.shows('held to 1/s');
    terminal.type('\u0003');
    const ended = await terminal.ended;
    expect(ended.code).toBe(130);
    const [told, bar, summary] = [
      find(ended, 'Interrupted: no further call is made'),
      find(ended, '█'),
      find(ended, 'Stopped on request: 63 rows in '),
    ];
    expect([told < bar, bar < summary]).toEqual([true, true]);
    expect(ended.seen[bar + 1]).toMatch(/^\d+ found, 3 invalid, \d+ skipped$/);
    expect(ended.seen.filter((line) => line.includes('░'))).toHaveLength(1);
    expect(ended.raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(ended.raw.lastIndexOf(HIDE_CURSOR));
  });

  it.each([
    [
      'on a terminal that cannot move its cursor',
      { env: { TERM: 'dumb', FORCE_COLOR: '1' } },
      'auto',
    ],
    ['on a terminal without a line', { rows: 0 }, 'auto'],
    ['where they are asked for', {}, 'lines'],
  ])('is plain lines %s', async (_, at, style) => {
    const terminal = await enrichAt(at, '--rate', '200/s', '--progress', style);
    const { raw } = await terminal.ended;
    expect(raw).toContain('100%, 63 of 63 rows, 60 found, ');
    expect(raw).not.toContain('\u001b');
  });

  it('is nothing where none is wanted', async () => {
    const terminal = await enrichAt({}, '--rate', '200/s', '--progress', 'none');
    const { raw } = await terminal.ended;
    expect(raw).toContain('63 rows in');
    expect(raw).not.toContain('of 63 rows');
  });
});
