import { describe, expect, it } from 'vitest';
import { findRedisServer, useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { run } from './support/command.ts';
import { openList } from './support/lists.ts';
import { domains, listOf } from './support/tables.ts';
import {
  canOpenTerminal,
  openTerminal,
  type Terminal,
  type TerminalEnd,
  type TerminalOptions,
} from './support/terminal.ts';

const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';
const GREEN = '\u001b[32m';

/** Looks up 60 domains and three rows without one, for three seconds or so. */
async function enrichAt(
  options: Omit<TerminalOptions, 'cwd'>,
  ...args: readonly string[]
): Promise<Terminal> {
  const api = await openApi();
  const folder = openList(`${listOf(domains(60))}x\nx\n\u001b[2J\n`);
  const given = ['enrich', 'list.csv', '--base-url', api.url, '--yes', '--rate', '20/s'];
  return await openTerminal([...given, ...args], { ...options, cwd: folder.path });
}

/** Where a line is that begins so. */
const find = ({ seen }: TerminalEnd, start: string): number =>
  seen.findLastIndex((line) => line.startsWith(start));

const isThere = canOpenTerminal();

describe.skipIf(!isThere || !findRedisServer())('the progress of a worker on a terminal', () => {
  it('stays below its log, and when it is told to stop', async () => {
    const redis = await useRedis();
    const api = await openApi();
    const folder = openList(20);
    const shared = ['--base-url', api.url, '--queue', redis.url];
    const worker = await openTerminal(['worker', ...shared], { cwd: folder.path });
    const given = ['enrich', 'list.csv', ...shared, '--workers', '0', '--progress', 'none'];
    expect((await run(given, { cwd: folder.path })).code).toBe(0);
    await worker.shows('20 found');
    worker.type('\u0003');
    const ended = await worker.ended;
    expect(ended.code).toBe(0);
    const block = find(ended, '20 found');
    expect(ended.seen[block + 1]).toMatch(/^[\d.]+ calls\//);
    const above = ended.seen.slice(0, block).join('\n');
    expect(above).toContain('Waiting for lookups');
    expect(above).toContain('Stopping: no further call is made');
    expect(ended.seen.slice(block).join('\n')).toContain('Stopped after 20 calls');
    expect(ended.raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(ended.raw.lastIndexOf(HIDE_CURSOR));
  });
});

describe.skipIf(!isThere)('the progress on a terminal', () => {
  it('is drawn in its place, fits the window that has become narrow, and stays in the end', async () => {
    const terminal = await enrichAt({});
    await terminal.shows(' of 63 rows');
    await terminal.shows('held to 20/s');
    await terminal.resize(20);
    await terminal.shows('/63');
    await terminal.resize(60);
    const ended = await terminal.ended;
    expect(ended.code).toBe(0);
    const summary = find(ended, '63 rows in ');
    expect(ended.seen.slice(summary - 4, summary)).toEqual([
      '',
      `${'█'.repeat(39)}  100%  63 of 63 rows`,
      '60 found, 3 invalid',
      expect.stringMatching(/^[\d.]+ calls\/s, held to 20\/s$/),
    ]);
    expect(ended.raw).toContain(HIDE_CURSOR);
    expect(ended.raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(ended.raw.lastIndexOf(HIDE_CURSOR));
    expect(ended.raw).not.toContain('\u001b[2J');
  });

  it('stays when Ctrl-C ends the run early, with what is told meanwhile above it', async () => {
    const terminal = await enrichAt({});
    await terminal.shows('held to 20/s');
    terminal.type('\u0003');
    const ended = await terminal.ended;
    expect(ended.code).toBe(130);
    const [told, bar, summary] = [
      find(ended, 'Interrupted: no further call is made'),
      find(ended, '█'),
      find(ended, '63 rows in '),
    ];
    expect([told < bar, bar < summary]).toEqual([true, true]);
    expect(ended.seen[bar + 1]).toMatch(/^\d+ found, 3 invalid, \d+ skipped$/);
    expect(ended.seen.filter((line) => line.includes('░'))).toHaveLength(1);
    expect(ended.raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(ended.raw.lastIndexOf(HIDE_CURSOR));
  });

  it.each([
    ['in colour', {}, true],
    ['without colour', { NO_COLOR: '1' }, false],
    ['in colour where that is insisted on', { TERM: 'vt100', FORCE_COLOR: '1' }, true],
  ])('is %s: %j', async (_, env, isGreen) => {
    const { raw } = await (await enrichAt({ env }, '--rate', '200/s')).ended;
    expect(raw).toContain(HIDE_CURSOR);
    expect(raw.includes(GREEN)).toBe(isGreen);
  });

  it('is plain lines on a terminal that cannot move its cursor', async () => {
    const terminal = await enrichAt({ env: { TERM: 'dumb', FORCE_COLOR: '1' } }, '--rate', '200/s');
    const { raw } = await terminal.ended;
    expect(raw).toContain('60/60 lookups, ');
    expect(raw).not.toContain('\u001b');
  });
});
