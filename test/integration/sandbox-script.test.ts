import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';

const REHEARSAL = join(import.meta.dirname, '../../samples/rehearsals/bot-wall.yaml');

describe('brandfill sandbox --script', () => {
  it('plays a script that is shipped', async () => {
    const folder = openFolder();
    const args = ['sandbox', '--port', '0', '--script', REHEARSAL];
    const sandbox = await start(args, { cwd: folder.path });
    const url = await new Promise<string>((resolve) => {
      sandbox.process.stdout?.on('data', (text: string) => {
        const [, found] = /on (http\S+)/.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    const answer = await fetch(`${url}/v1/brand?domain=a.com`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html']);
    expect(await answer.text()).toMatch(/Just a moment.* Ray [0-9a-f]{8}$/);
    sandbox.process.kill('SIGINT');
    expect((await sandbox.ended).code).toBe(0);
  });

  it('says all that is wrong in the file, and where', async () => {
    const folder = openFolder();
    folder.write(
      'night.yaml',
      [
        '- calls: 30-',
        '  stauts: 503',
        '- { times: 0, status: 42 }',
        '- headers: { Retry-After: {in 20s as epoch} }',
      ].join('\n'),
    );
    const ended = await run(['sandbox', '--port', '0', '--script', 'night.yaml'], {
      cwd: folder.path,
    });
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toMatch(/Cannot use night\.yaml: 4 things are wrong\.$/m);
    expect(ended.stderr).toContain("night.yaml:2:3: 'stauts' is unknown; there are: calls,");
    expect(ended.stderr).toContain(
      "night.yaml:3:5: 'times' must be a whole number, 1 or more: current value is 0",
    );
    expect(ended.stderr).toContain(
      "night.yaml:3:15: 'status' must be a whole number from 200 to 999",
    );
    expect(ended.stderr).toContain('what begins with { goes in quotes');
  });

  it.each([
    [
      'status: 503',
      /^brandfill: Cannot use night\.yaml:1:1: expected a list of rules, such as '- status: 503'\.$/m,
    ],
    ['- status: [', /^brandfill: Cannot use night\.yaml:1:\d+: /m],
    [
      '- 503',
      /^brandfill: Cannot use night\.yaml:1:3: a rule must be an object such as \{ status: 503 \}/m,
    ],
    [undefined, /^brandfill: Cannot read the script night\.yaml: .*no such file/im],
  ])('refuses what is no script: %j', async (content, expected) => {
    const folder = openFolder();
    if (content !== undefined) folder.write('night.yaml', content);
    const ended = await run(['sandbox', '--port', '0', '--script', 'night.yaml'], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(expected);
  });
});
