import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi, openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { enrichHere } from './support/program.ts';
import { rowsOf } from './support/tables.ts';

/** What each answer means: status, reason, HTTP status, attempts with one retry at most. */
const TABLE: readonly (readonly [
  answer: string,
  SandboxReply,
  expected: readonly [status: string, reason: string, httpStatus: string, attempts: string],
])[] = [
  ['404', { status: 404 }, ['not_found', 'http_404', '404', '1']],
  ['422', { status: 422, body: 'what  is\nthis' }, ['rejected', 'what is this', '422', '1']],
  ['403 once', { status: 403, body: 'no' }, ['rejected', 'no', '403', '2']],
  ['451 formula', { status: 451, body: '=1+1' }, ['rejected', "'=1+1", '451', '1']],
  ['500', { status: 500 }, ['failed', 'http_500', '500', '2']],
  ['501', { status: 501 }, ['failed', 'http_501', '501', '1']],
  ['reset', 'reset', ['failed', 'connection_reset', '', '2']],
  ['truncated', { body: '{"name":"Cu' }, ['failed', 'invalid_response', '200', '2']],
  ['HTML', { body: '<p>Hi</p>' }, ['failed', 'no_json', '200', '2']],
  ['array', { body: '[{}]' }, ['rejected', 'no JSON object', '200', '1']],
];

describe('an answer', () => {
  it('means what the table says, in the rows, in the failures and in the exit code', async () => {
    const folder = openFolder();
    const named = TABLE.map(([name], at) => [`d${at}.com`, name] as const);
    folder.write(
      'list.csv',
      `domain,answer\n${named.map((pair) => pair.join(',')).join('\n')}\nfound.com,ok\nn/a,none\n`,
    );
    const script = Object.fromEntries(TABLE.map(([, reply], at) => [`d${at}.com`, reply]));
    const api = await openScripted(script);
    const ended = await enrichHere(folder, api.url, '--retries', '1');
    expect(ended.code).toBe(3);
    const failures = rowsOf(folder.read('list.failures.csv'));
    const got = failures.map((row) => [
      row['answer'],
      [row['brand_status'], row['brand_reason'], row['brand_http_status'], row['brand_attempts']],
    ]);
    expect(got).toEqual([
      ...TABLE.map(([name, , expected]) => [name, expected]),
      ['none', ['invalid', 'empty', '', '0']],
    ]);
    expect(failures.map((row) => row['brand_row'])).toEqual(
      [...TABLE.keys(), TABLE.length + 1].map((at) => String(at + 1)),
    );
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(rows.map((row) => row['brand_status'])).toEqual([
      ...TABLE.map(([, , [status]]) => status),
      'found',
      'invalid',
    ]);
  });

  it('that is good after bad ones is found, and says how many attempts it took', async () => {
    const folder = openFolder();
    folder.write('list.jsonl', '{"domain":"acme.com"}\n');
    const bad: readonly SandboxReply[] = [{ status: 500 }, 'reset', { body: 'oops' }];
    const api = await openApi({ respond: (_, call) => bad[call - 1] });
    const { summary } = await enrichIn(folder, { input: 'list.jsonl', baseUrl: api.url });
    // A used connection that is reset is tried again at once, as the same call.
    expect(summary).toMatchObject({ calls: 3, retries: 2, statuses: { found: 1 } });
  });
});
