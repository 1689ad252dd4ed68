import { describe, expect, it } from 'vitest';
import { readJob, refusalOf } from './read-job-file.ts';

const ENV = { TEAM: 'crm', LIMIT: '7', HOST: 'api.example.com', EMPTY: '', ZONE: 'Asia/Tokyo' };

function optionsOf(text: string): object {
  const { error, options } = readJob(text, ENV);
  expect(error?.message).toBeUndefined();
  return options;
}

describe('a job file', () => {
  it.each(
    Object.entries<[string, object]>({
      'numbers as they were written': ['prefix: 0012\nfresh: 0', { prefix: '0012', fresh: '0' }],
      switches: ['registrable: true\nyes: ${R:-true}', { registrable: true, yes: true }],
      'texts in quotes': ['domainColumn: "true"', { domainColumn: 'true' }],
      lists: ['params: [lang=de, page=1]', { params: ['lang=de', 'page=1'] }],
      maps: ['headers: { X-A: crm, X-B: 2 }', { headers: { 'X-A': 'crm', 'X-B': '2' } }],
      columns: [
        'fields: { city: at.city, token: id }',
        { fields: { city: 'at.city', token: 'id' } },
      ],
      'a byte order mark, anchors, JSON': [
        '\uFEFF{"input": "a.csv", "store": &s "x", "out": *s}',
        { input: 'jobs/a.csv', store: 'jobs/x', out: 'jobs/x' },
      ],
      'paths from its own folder': [
        'input: ../a.csv\nout: /srv/o.csv\nstore: "-"\napi: ./p.yaml',
        { input: 'a.csv', out: '/srv/o.csv', store: '-', api: 'jobs/p.yaml' },
      ],
      'names that are no paths': ['api: hunter\nfields: n=a', { api: 'hunter', fields: 'n=a' }],
      'dates in paths': [
        'out: o/{date}-{time}.csv\nschedule: { cron: "@daily", timezone: "${ZONE}" }',
        { out: 'jobs/o/2026-11-21-210000.csv' },
      ],
      'other braces': ['out: "{a,b}-{}-{1f}.csv"', { out: 'jobs/{a,b}-{}-{1f}.csv' }],
      'braces beside variables': [
        'out: $${date}-{date}.csv\nschedule: { cron: "@daily", timezone: UTC }',
        { out: 'jobs/$2026-11-21-2026-11-21.csv' },
      ],
    }),
  )('may have %s', (_, [text, options]) => {
    expect(optionsOf(text)).toEqual(options);
  });

  it.each([
    ['https://${HOST}/v2', 'https://api.example.com/v2'],
    ['${HOST}${HOST}', 'api.example.comapi.example.com'],
    ['${NONE:-http://127.0.0.1:8080}', 'http://127.0.0.1:8080'],
    ['${EMPTY:-other}', 'other'],
    ['$${HOST}', '${HOST}'],
    ['$$${HOST}', '$${HOST}'],
    ['$HOST costs $5 {HOST}', '$HOST costs $5 {HOST}'],
  ])('%j comes to %j', (text, prefix) => {
    const options = optionsOf(`prefix: '${text}'\nheaders: { X-A: '${text}' }`);
    expect(options).toEqual({ prefix, headers: { 'X-A': prefix } });
  });

  it.each(['${EMPTY}', '${NONE:-}'])('leaves a key out whose value %s comes to nothing', (text) => {
    expect(optionsOf(`queue: ${text}`)).toEqual({});
  });

  it('names whom to tell; a line for the shell is left to the shell', () => {
    const shell = readJob('onFinish:\n  command: echo "${X:-0} ${HOME}"\n  timeout: 90s');
    expect(shell.error).toBeUndefined();
    expect(shell.onFinish).toEqual({ command: 'echo "${X:-0} ${HOME}"', timeout: 90_000 });
    expect(readJob('onFinish: { command: [node, "${X:-tell.js}"] }').onFinish).toEqual({
      command: ['node', 'tell.js'],
    });
    const wrong = readJob('freshh: 1d\nonFinish: { command: tell }');
    expect(wrong.error).toBeDefined();
    expect(wrong.onFinish).toEqual({ command: 'tell' });
  });

  it('knows where each key stands', () => {
    const job = readJob('# nightly\ninput: a.csv\nmaxCalls:   5\n');
    expect(job.placeOf('maxCalls')).toBe('jobs/job.yaml:3:13');
    expect(job.placeOf('out')).toBeUndefined();
  });
});

const env = { BRANDFILL_API_KEY: 's3cret', CRM_KEY: 's3cret' };

describe('is refused with line, column and what was meant, and no credential is repeated:', () => {
  it.each(
    Object.entries({
      'input: a\nfreshh: 30d': "2:1: there is no key 'freshh'; did you mean 'fresh'?",
      'cron: 1 * * * *': "1:1: there is no key 'cron' here; it stands in 'schedule'",
      'base-url: http://x': "1:1: there is no key 'base-url'; did you mean 'baseUrl'?",
      'header: [a=b]': "1:1: there is no key 'header'; did you mean 'headers'?",
      'colour: red': "1:1: there is no key 'colour'",
      'timeout: 60': '1:10: timeout: expected a duration such as 500ms, 60s',
      'input: a\n\nmaxCalls:  many':
        "3:12: maxCalls: expected a whole number, 1 or more, received 'many'",
      "input: a\nyes: 'true'": "2:6: yes: expected true or false without quotes, received 'true'",
      'baseUrl: https://me:s3cret@h.example': '1:10: baseUrl: it holds a user name or password',
      'out: [a, b]': '1:6: out: expected a text, received a list',
      'out:\ninput: a': ':1:5: out: there is no value',
      'report: [a.html, ~]': 'report: expected a text, received null',
      'input: a\nout: x/${NOPE}.csv':
        '2:6: out: the environment has no variable NOPE; set it, or give',
      'out: "${NOPE"': '1:6: out: expected ${NAME} or ${NAME:-default}',
      'out: ${NONE:-${HOST}}': 'whose default is plain text',
      'out: ${a-b}': 'expected ${NAME}',
      'out: x-{dat}.csv': '1:6: out: there is no {dat}; there are {date} and {time}',
      'schedule:\n  cron: 30 25 * * *': "2:9: cron: '30 25 * * *' is no cron expression",
      'schedule: { cron: 30 2 }': "1:19: cron: '30 2' is no cron expression",
      'schedule: { timezone: UTC }': "1:11: cron: expected 'cron'",
      'schedule: 30 2 * * *': '1:11: schedule: ',
      'schedule: { cron: "@daily", timezone: Europe/Berln }': 'there is no such time zone',
      'onFinish: { comand: x, command: y }':
        "1:13: there is no key 'comand'; did you mean 'command'?",
      'onFinish: { command: [] }': '1:22: command: expected a line for the shell',
      'input: a\ninput: b': '2:1: Map keys must be unique',
      'input: !env X': '1:8: Unresolved tag: !env',
      'input: [a': '1:10: Flow sequence',
      'input: -': 'what begins with - goes in quotes',
      'input: a\n---\ninput: b': 'multiple documents',
      'params: &a [*a]': 'expected NAME=VALUE',
      '# nothing\n': "1:1: a job file is made of keys with values, such as 'input: accounts.csv'",
      hello: "1:1: a job file is made of keys with values, such as 'input: accounts.csv'",
      'apiKey: s3cret':
        "a credential does not belong in a job file; name the environment variable that holds it in 'apiKeyEnv', or the file in 'apiKeyFile'",
      'api_key: ${CRM_KEY}': 'a credential does not belong',
      'token: s3cret':
        'a token does not belong in a job file; put it into the environment variable BRANDFILL_DASHBOARD_TOKEN',
      'apiKeyEnv: ${CRM_KEY}': '1:12: apiKeyEnv: expected the bare name',
      'apiKeyEnv: sk-s3cret': '1:12: apiKeyEnv: expected the bare name',
      'auth: bearer s3cret': '1:7: auth: expected none, bearer',
      'headers: { Authorization: Bearer s3cret }': "headers: it has a credential; say in 'auth'",
      'headers: { X-Api-Key: s3cret }': 'headers: it has a credential',
      'headers: x-auth-token=s3cret': 'headers: it has a credential',
      'params: [lang=de, api_key=s3cret]': 'params: it has a credential',
      'prefix: ${BRANDFILL_API_KEY}': '1:9: prefix: BRANDFILL_API_KEY holds the credential',
      'onFinish: { command: [curl, "${BRANDFILL_API_KEY}"] }': 'holds the credential',
      'onFinish: { command: [curl, "${CRM_KEY}"] }\napiKeyEnv: CRM_KEY': 'holds the credential',
      'apiKey: "s3cret" "s3cret"': ':1:',
      'apiKeyEnv: CRM_KEY\nprefix: "x${CRM_KEY}"': '2:9: prefix: CRM_KEY holds the credential',
      'fields: { a: b..c }':
        "the expression of 'a' is no JMESPath: '.' is not expected here.\n  b..c\n    ^",
    }),
  )('%j', (text, expected) => {
    const message = refusalOf(text, env);
    expect(message).toMatch(/^Cannot use jobs\/job\.yaml:\d+:\d+: /);
    expect(message).toContain(expected);
    expect(message).not.toContain('s3cret');
  });

  it('all that is wrong at once, in the order of the file', () => {
    expect(refusalOf('onFinish: { comand: x, timeout: y }\ntimeout: 60\nfreshh: 1d')).toBe(
      [
        'Cannot use jobs/job.yaml: 5 things are wrong.',
        '  jobs/job.yaml:1:11: command: expected a line for the shell, or a list of a program and its arguments',
        "  jobs/job.yaml:1:13: there is no key 'comand'; did you mean 'command'?",
        "  jobs/job.yaml:1:33: timeout: expected a duration such as 500ms, 60s, 10min, 12h or 30d, received 'y'",
        "  jobs/job.yaml:2:10: timeout: expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '60'",
        "  jobs/job.yaml:3:1: there is no key 'freshh'; did you mean 'fresh'?",
      ].join('\n'),
    );
  });
});
