import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJobFile } from '../../src/options/job-file.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { readJob, refusalOf } from './read-job-file.ts';

const SHAPE = "a job file is made of keys with values, such as 'input: accounts.csv'";

describe('a job file is refused, with line, column and what was meant:', () => {
  it.each([
    [
      'a wrong key',
      'input: a\nfreshh: 30d',
      "2:1: there is no key 'freshh'; did you mean 'fresh'?",
    ],
    [
      'a flag as key',
      'base-url: http://x',
      "1:1: there is no key 'base-url'; did you mean 'baseUrl'?",
    ],
    ['a key like no other', 'colour: red', "1:1: there is no key 'colour'; the keys are listed in"],
    [
      'what only the command line has',
      'dryRun: true',
      "1:1: 'dryRun' is no key of a job file; give --dry-run",
    ],
    ['no unit', 'timeout: 60', '1:10: timeout: expected a duration such as 500ms, 60s'],
    [
      'a word for a number',
      'input: a\n\nmaxCalls:  many',
      "3:12: maxCalls: expected a whole number, 1 or more, received 'many'",
    ],
    [
      'true in quotes',
      "input: a\nyes: 'true'",
      "2:6: yes: expected true or false without quotes, received 'true'",
    ],
    [
      'a column without an expression',
      'fill: name',
      "1:7: fill: expected COLUMN=EXPR such as Industry=industry, received 'name'.",
    ],
    [
      'a base URL with a password',
      'baseUrl: https://me:secret@api.example.com',
      '1:10: baseUrl: it holds a user name or password; put the credential into BRANDFILL_API_KEY and choose auth basic.',
    ],
    ['a list', 'out: [a, b]', '1:6: out: expected a text, received a list'],
    ['no value', 'out:\ninput: a', "1:1: 'out' has no value"],
    ['no value in a list', 'param: [a=b, ~]', '1:14: param: there is no value'],
    [
      'an unset variable',
      'input: a\nout: x/${NOPE}.csv',
      '2:8: out: the environment has no variable NOPE',
    ],
    ['half a variable', 'out: "${NOPE"', '1:7: out: expected ${NAME}'],
    [
      'a wrong placeholder',
      'out: x-{dat}.csv',
      '1:6: out: there is no {dat}; did you mean {date}?',
    ],
    [
      'a wrong cron',
      'schedule:\n  cron: 30 25 * * *',
      "2:9: schedule: cron: '30 25 * * *' is no cron expression",
    ],
    ['half a cron', 'schedule: { cron: 30 2 }', '1:19: schedule: cron: expected five fields'],
    ['no cron', 'schedule: { timezone: UTC }', "1:11: schedule: expected 'cron'"],
    [
      'a schedule that is a text',
      'schedule: 30 2 * * *',
      "1:11: schedule: expected keys such as cron, timezone, received '30 2 * * *'",
    ],
    [
      'a wrong time zone',
      'schedule: { cron: "@daily", timezone: Europe/Berln }',
      "did you mean 'Europe/Berlin'?",
    ],
    ['nobody to tell', 'onFinish: {}', "1:11: onFinish: expected 'command'"],
    [
      'a wrong key inside',
      'onFinish: { comand: x }',
      "1:13: onFinish: there is no key 'comand'; did you mean 'command'?",
    ],
    ['a web hook', 'onFinish: { url: "https://x" }', "1:13: onFinish: there is no key 'url'"],
    [
      'an empty command',
      'onFinish: { command: [] }',
      '1:22: onFinish: command: expected a line for the shell',
    ],
    ['a key twice', 'input: a\ninput: b', '2:1: this key stands there twice'],
    ['a tag', 'input: !env X', '1:8: Unresolved tag: !env'],
    ['broken YAML', 'input: [a', '1:10: Flow sequence'],
    ['two documents', 'input: a\n---\ninput: b', '2:1: a job file is one document'],
    [
      'a dash',
      'input: -',
      '1:8: Unexpected block-seq-ind on same line with key; what begins with - goes in quotes',
    ],
    ['an anchor in itself', 'param: &a [*a]', '1:12: param: lists and maps are nested too deep'],
    ['nothing', '# nothing\n', `${SHAPE}; this one is empty.`],
    ['a text', 'hello', `:1:1: ${SHAPE}; this one is a text.`],
  ])('%s', (_, text, expected) => {
    const message = refusalOf(text);
    expect(message).toMatch(/^Cannot use jobs\/job\.yaml:\d+:\d+: /);
    expect(message).toContain(expected);
    expect(message.split('\n')).toHaveLength(1);
  });

  it('a wrong expression, with its place in it', () => {
    expect(refusalOf('fields: { a: b..c }')).toBe(
      [
        "Cannot use jobs/job.yaml:1:9: fields: the expression of 'a' is no JMESPath: '.' is not expected here.",
        '  b..c',
        '    ^',
      ].join('\n'),
    );
  });

  it('all that is wrong at once, in the order of the file', () => {
    expect(refusalOf('onFinish: { comand: x, timeout: y }\ntimeout: 60\nfreshh: 1d')).toBe(
      [
        'Cannot use jobs/job.yaml: 4 things are wrong.',
        "  jobs/job.yaml:1:13: onFinish: there is no key 'comand'; did you mean 'command'?",
        "  jobs/job.yaml:1:33: onFinish: timeout: expected a duration such as 500ms, 60s, 10min, 12h or 30d, received 'y'",
        "  jobs/job.yaml:2:10: timeout: expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '60'",
        "  jobs/job.yaml:3:1: there is no key 'freshh'; did you mean 'fresh'?",
      ].join('\n'),
    );
  });

  it('whom to tell is known nevertheless', () => {
    const { values, error } = readJob('freshh: 1d\nonFinish: { command: tell }');
    expect(error).toBeDefined();
    expect(values.onFinish).toEqual({ command: 'tell' });
  });
});

it.each([
  ['Latin-1', Buffer.from('input: a.csv\nprefix: gr\xfc\xdfe_\n', 'latin1'), 2],
  ['UTF-16', Buffer.from('\uFEFFinput: a.csv\n', 'utf16le'), 1],
])('a job file in %s is refused, with the line', async (_, bytes, line) => {
  const file = join(useTempFolder(), 'job.yaml');
  writeFileSync(file, bytes);
  await expect(readJobFile(file, { env: {}, now: new Date(0) })).rejects.toThrow(
    `Cannot use ${file}:${line}: it is not in UTF-8; save the file as UTF-8.`,
  );
});

describe('a credential in a job file is refused and not repeated:', () => {
  const env = { BRANDFILL_API_KEY: 's3cret', CRM_KEY: 's3cret' };

  it.each([
    ['apiKey: s3cret', /1:1: a credential does not belong in a job file.*apiKeyEnv.*apiKeyFile/],
    ['api_key: ${CRM_KEY}', /1:1: a credential does not belong/],
    ['token: s3cret', /1:1: a token does not belong.*BRANDFILL_DASHBOARD_TOKEN/],
    ['password: s3cret', /1:1: a credential does not belong/],
    ['apiKeyEnv: ${CRM_KEY}', /1:12: apiKeyEnv: expected the bare name/],
    ['apiKeyEnv: sk-s3cret', /1:12: apiKeyEnv: expected the bare name/],
    ['apiKeyEnv: "s3cret!"', /1:12: apiKeyEnv: expected the bare name/],
    ['auth: bearer s3cret', /1:7: auth: expected none, bearer/],
    ['header: { Authorization: Bearer s3cret }', /'Authorization' is a credential/],
    ['header: { X-Api-Key: s3cret }', /'X-Api-Key' is a credential; say in 'auth'/],
    ['param: { token: s3cret }', /'token' is a credential/],
    ['param: [lang=de, api_key=s3cret]', /'api_key' is a credential/],
    ['header: x-auth-token=s3cret', /'x-auth-token' is a credential/],
    ['prefix: ${BRANDFILL_API_KEY}', /1:9: prefix: BRANDFILL_API_KEY holds the credential/],
    ['apiKeyEnv: CRM_KEY\nprefix: "x${CRM_KEY}"', /2:11: prefix: CRM_KEY holds the credential/],
    [
      'onFinish: { command: [curl, "https://x/?key=${BRANDFILL_API_KEY}"] }',
      /holds the credential/,
    ],
    ['onFinish: { command: [curl, "${CRM_KEY}"] }\napiKeyEnv: CRM_KEY', /holds the credential/],
    ['apiKey: "s3cret" "s3cret"', /1:/],
  ])('%s', (text, expected) => {
    const message = refusalOf(text, env);
    expect(message).toMatch(expected);
    expect(message).not.toContain('s3cret');
  });
});
