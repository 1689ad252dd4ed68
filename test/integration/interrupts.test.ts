import { describe, expect, it } from 'vitest';
import { createGate } from '../support/gate.ts';
import { openApi, openScripted } from './support/api.ts';
import { enrichHere, start, startEnrich, summaryOf } from './support/command.ts';
import { column, domains, listOf, openFolder, openList, rowsOf } from './support/folder.ts';

const MANY = domains(150);

describe('Ctrl-C', () => {
  it('starts no new call, lets those under way finish, and says how to go on', async () => {
    const folder = openList(listOf(['company-0.com', ...MANY, 'n/a']));
    const reached = createGate();
    const api = await openApi({
      latencyMs: 60,
      respond: () => {
        if (api.stats().calls === 20) reached.open();
        return undefined;
      },
    });
    const flags = ['--concurrency', '8', '--json'];
    const running = await startEnrich(folder, api.url, ...flags);
    await reached.opened;
    running.process.kill('SIGINT');
    await running.shows('Interrupted: no further call');
    const ended = await running.ended;

    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('run the same command again to go on');
    const { calls, abandoned } = api.stats();
    expect(abandoned).toBe(0);
    // Those under way, and those that started while the signal was on its way.
    expect(calls).toBeLessThanOrEqual(20 + 2 * 8);
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(column(rows, 'domain')).toEqual(['company-0.com', ...MANY, 'n/a']);
    const found = rows.filter((row) => row['brand_status'] === 'found');
    expect(found).toHaveLength(calls + 1);
    expect(rows.at(-1)).toMatchObject({ brand_status: 'invalid' });
    expect(rows.at(-2)).toMatchObject({ brand_status: 'skipped' });
    expect(summaryOf(ended)).toMatchObject({ rows: 152, stopped: { reason: 'interrupted' } });

    const again = await enrichHere(folder, api.url, ...flags);
    expect(again.code).toBe(0);
    expect(summaryOf(again)).toMatchObject({ calls: 150 - calls, statuses: { found: 151 } });
    expect(api.stats().domains.mostCalls).toBe(1);
  });

  it('twice ends at once, and what was found by then is kept', async () => {
    const folder = openList(listOf(MANY));
    const reached = createGate();
    let answered = 0;
    const api = await openApi({
      respond: (domain) => {
        answered += 1;
        if (answered <= 40) return { body: { domain } };
        if (answered === 44) reached.open();
        return 'hang';
      },
    });
    const flags = ['--concurrency', '4', '--timeout', '1h'];
    const running = await startEnrich(folder, api.url, ...flags);
    await reached.opened;
    running.process.kill('SIGINT');
    await running.shows('Interrupted: no further call');
    const ended = await running.stop('SIGINT');
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    const dry = await enrichHere(folder, api.url, ...flags, '--dry-run', '--json');
    const { freshDomains } = JSON.parse(dry.stdout) as { freshDomains: number };
    expect(freshDomains).toBeGreaterThan(0);
    expect(freshDomains).toBeLessThanOrEqual(40);
  });

  it('while standard input is still awaited ends at once, and nothing is left', async () => {
    const folder = openFolder();
    const args = ['enrich', '-', '--base-url', 'http://127.0.0.1:9'];
    const running = await start(args, { cwd: folder.path });
    await new Promise((resolve) => running.process.stdin?.write('domain\nacme.com\n', resolve));
    // The store is made when reading starts; from then on the command waits for more.
    await expect.poll(() => folder.hasStore()).toBe(true);
    const ended = await running.stop('SIGINT');
    expect(ended.code).toBe(130);
    expect(ended.stderr).toBe('brandfill: Ended before the first call; nothing was changed.\n');
    expect(folder.names()).toEqual([]);
  });
});

describe('nobody listening', () => {
  it('on standard error does not stop a run', async () => {
    const folder = openList(listOf(MANY));
    const api = await openApi();
    const running = await startEnrich(folder, api.url, '--concurrency', '4');
    running.process.stderr?.destroy();
    expect((await running.ended).code).toBe(0);
    expect(rowsOf(folder.read('list.enriched.csv'))).toHaveLength(150);
  });

  it('on standard output ends the run with 2 and keeps the answers', async () => {
    const folder = openList(listOf(MANY));
    const api = await openScripted({});
    const running = await startEnrich(folder, api.url, '--out', '-');
    running.process.stdout?.destroy();
    const ended = await running.ended;
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/Cannot write standard output: whoever read it has closed it\./);
    expect(folder.names()).toEqual(['list.csv']);
    const again = await enrichHere(folder, api.url, '--out', '-');
    expect(again.stdout.split('\n')).toHaveLength(152);
    expect(api.stats().domains.mostCalls).toBe(1);
  });
});
