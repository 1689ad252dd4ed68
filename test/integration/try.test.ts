import { describe, expect, it } from 'vitest';
import { tryDomain } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi, openScripted } from './support/api.ts';
import { runHere, startHere } from './support/command.ts';
import { openFolder } from './support/folder.ts';

const AT = { 'po-box': '=7', city: null };
const ANSWER = { name: 'Acme', at: AT, tags: ['a', 'b'], links: [{ u: 1 }] };

/** A folder in which `brandfill try` asks an API that says this of a.com. */
async function openTrial(reply: SandboxReply) {
  const api = await openApi({ respond: () => reply });
  const folder = openFolder();
  return {
    folder,
    url: api.url,
    calls: () => api.stats().calls,
    try: (...flags: readonly string[]) =>
      runHere(['try', ...flags, '--base-url', api.url], { cwd: folder.path }),
  };
}

/** What was said, without what depends on the time it took. */
function withoutTimes(text: string): string {
  return text
    .replaceAll(/\d+(\.\d+)? (ms|s|min)\b/g, 'SOME TIME')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'THEN');
}

describe('brandfill try', () => {
  it('shows the answer, the columns that it makes, and the JMESPath of each', async () => {
    const trial = await openTrial({ body: ANSWER });
    const first = await trial.try('HTTPS://www.A.com/x');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(withoutTimes(first.stdout)).toBe(
      `'HTTPS://www.A.com/x' is looked up as a.com.
a.com: found (200). 1 call, SOME TIME.

${JSON.stringify(ANSWER, undefined, 2)}

column           JMESPath     value
brand_name       name         Acme
brand_at_po-box  at."po-box"  =7
brand_at_city    at.city
brand_tags       tags         a; b
brand_links      links        [{"u":1}]

To choose columns: --fields NAME=JMESPath,NAME=JMESPath,… (docs/columns.md).
`,
    );
    const again = await trial.try('a.com');
    expect(withoutTimes(again.stdout)).toContain(
      'a.com: found (200). From the store, fetched SOME TIME ago (THEN); no call was made. --refresh asks again.\n',
    );
    expect(trial.calls()).toBe(1);
    await trial.try('a.com', '--refresh');
    expect(trial.calls()).toBe(2);
  });

  it('gives it all as JSON, and to programs', async () => {
    const trial = await openTrial({ body: ANSWER });
    const { code, stdout, stderr } = await trial.try('a.com', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { answer, columns, answers, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
    expect(answer).toEqual(ANSWER);
    expect(answers).toEqual([{ httpStatus: 200, means: 'found' }]);
    const column = { name: 'brand_at_po-box', expression: 'at."po-box"', value: '=7' };
    expect(columns).toContainEqual(column);
    expect(rest).toMatchObject({ domain: 'a.com', status: 'found', calls: 1, isFromStore: false });
    const store = trial.folder.at('.brandfill');
    const options = { domain: 'a.com', baseUrl: trial.url, store };
    const known = {
      ...rest,
      calls: 0,
      isFromStore: true,
      elapsedMs: expect.any(Number) as unknown,
    };
    expect(await tryDomain(options)).toMatchObject(known);
  });

  it('says that the API does not know the domain, and asks the second of several', async () => {
    const one = await openTrial({ status: 404, body: { error: 'none' } });
    const alone = await one.try('a.com');
    expect(alone.code).toBe(0);
    expect(withoutTimes(alone.stdout)).toContain(
      'a.com: not found (404). The API does not know the domain',
    );
    const two = await openApi({ respond: () => ({ body: ANSWER }) });
    for (const [name, { url }] of Object.entries({ one, two })) {
      one.folder.write(`${name}.yaml`, `request: { baseUrl: "${url}", auth: none }\n`);
    }
    const args = ['try', 'a.com', '--api', 'one.yaml,two.yaml', '--refresh'];
    const both = await runHere(args, { cwd: one.folder.path });
    expect(withoutTimes(both.stdout)).toContain('a.com: found (200). 2 calls');
  });

  it('shows nothing that controls a terminal', async () => {
    const name = 'A\u001b]0;x\u0007\u009b31m\u202eB';
    const trial = await openTrial({ body: { name, [`k\u009b`]: 1, multi: 'a\nb' } });
    for (const flags of [[], ['--json'], ['--refresh']]) {
      const { code, stdout, stderr } = await trial.try('a.com', ...flags);
      expect(code).toBe(0);
      expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
    const { stdout } = await trial.try('a.com', '--json');
    expect(JSON.parse(stdout)).toHaveProperty('answer.name', name);
    expect((await trial.try('a.com')).stdout).toContain('\nbrand_multi    multi');
  });
});

describe('brandfill try says in a sentence', () => {
  it.each<[SandboxReply, number, string]>([
    [
      { status: 401 },
      4,
      'a.com: nothing learned. Calls were made without a credential: check --auth and BRANDFILL_API_KEY.',
    ],
    [
      'reset',
      3,
      'a.com: failed. The connection was broken off before there was an answer: check --base-url, and whether the API is up. The next run tries again. 1 call',
    ],
  ])('what came: %j', async (reply, code, sentence) => {
    const trial = await openTrial(reply);
    const ended = await trial.try('a.com', '--retries', '0');
    expect(ended.code).toBe(code);
    expect(ended.stdout).toContain(sentence);
    expect(trial.calls()).toBe(1);
  });

  it('that there is no domain, or no such option', async () => {
    const trial = await openTrial({ body: {} });
    expect(await trial.try('localhost')).toMatchObject({
      code: 2,
      stderr:
        "brandfill: Cannot look up 'localhost': there is no domain in it (single_label); expected one such as example.com.\n",
    });
    expect((await trial.try('jo@gmail.com')).stderr).toContain(
      "'jo@gmail.com': there is no domain in it (free_mail)",
    );
    const wrong = await trial.try('a.com', '--fields', 'a=b..c');
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(/'\.' is not expected here\.\n {2}b\.\.c\n {4}\^\n$/);
    expect([trial.calls(), trial.folder.hasStore()]).toEqual([0, false]);
  });

  it('what it waits for, and ends at Ctrl-C', async () => {
    const { url } = await openScripted({ 'a.com': { status: 429 } });
    const folder = openFolder();
    const trial = startHere(['try', 'a.com', '--base-url', url], { cwd: folder.path });
    await trial.shows('Note: The API throttles calls (429 and the like): waiting');
    expect(await trial.stop('SIGINT')).toMatchObject({ code: 130 });
  });
});
