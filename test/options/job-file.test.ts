import { describe, expect, it } from 'vitest';
import { nameOf, OPTIONS } from '../../src/options/options.ts';
import { expandVariables, fillPlaceholders, placeholdersAt } from '../../src/options/variables.ts';
import { readJob } from './read-job-file.ts';

function valuesOf(text: string, env?: Record<string, string>): object {
  const { error, values } = readJob(text, env);
  expect(error?.message).toBeUndefined();
  return values;
}

describe('a job file', () => {
  it('gives settings as the command line would', () => {
    const text = `
      baseUrl: https://api.example.com
      maxCalls: 5000
      fresh: 0
      registrable: true
      prefix: 0012
      domainColumn: "true"`;
    expect(valuesOf(text)).toEqual({
      baseUrl: 'https://api.example.com',
      maxCalls: '5000',
      fresh: '0',
      registrable: true,
      prefix: '0012',
      domainColumn: 'true',
    });
  });

  it('takes lists and maps where an option is given more than once', () => {
    expect(valuesOf('param: [lang=de, page=1]')).toEqual({ params: ['lang=de', 'page=1'] });
    expect(valuesOf('header: { X-Team: crm, X-Level: 2 }')).toEqual({
      headers: { 'X-Team': 'crm', 'X-Level': '2' },
    });
    expect(valuesOf('fields: { city: location.city, token: id }')).toEqual({
      fields: { city: 'location.city', token: 'id' },
    });
  });

  it('puts variables into any text, also inside lists and maps', () => {
    const env = { TEAM: 'crm', LIMIT: '7' };
    expect(valuesOf('header: { X-Team: "${TEAM}" }', env)).toEqual({
      headers: { 'X-Team': 'crm' },
    });
    expect(valuesOf('param: ["team=${TEAM}"]', env)).toEqual({ params: ['team=crm'] });
    expect(valuesOf('maxCalls: ${LIMIT:-500}', env)).toEqual({ maxCalls: '7' });
    expect(valuesOf('registrable: ${R:-true}')).toEqual({ registrable: true });
  });

  it('leaves a key out whose variables come to nothing', () => {
    expect(valuesOf('queue: ${BRANDFILL_QUEUE:-}')).toEqual({ queue: undefined });
  });

  it('has its paths from its own folder', () => {
    const text = `
      input: ../lists/accounts.csv
      out: /srv/out.csv
      failures: "-"
      store: .store
      apiKeyFile: keys/api`;
    expect(valuesOf(text)).toEqual({
      input: 'lists/accounts.csv',
      out: '/srv/out.csv',
      failures: '-',
      store: 'jobs/.store',
      apiKeyFile: 'jobs/keys/api',
    });
  });

  it.each([
    ['stands there', 'schedule: { cron: "@daily", timezone: Asia/Tokyo }'],
    ['is a variable', 'schedule: { cron: "@daily", timezone: "${ZONE}" }'],
    ['has a default', 'schedule: { cron: "@daily", timezone: "${NONE:-Asia/Tokyo}" }'],
    ['stands elsewhere', 'prefix: &zone Asia/Tokyo\nschedule: { cron: "@daily", timezone: *zone }'],
  ])('has the date in its paths, in the time zone of its schedule, which %s', (_, lines) => {
    expect(valuesOf(`out: out/{date}-{time}.csv\n${lines}`, { ZONE: 'Asia/Tokyo' })).toMatchObject({
      out: 'jobs/out/2026-11-21-210000.csv',
      schedule: { timezone: 'Asia/Tokyo' },
    });
  });

  it('keeps braces and variables apart', () => {
    const text = 'out: $${date}-{date}.csv\nschedule: { cron: "@daily", timezone: UTC }';
    expect(valuesOf(text)).toMatchObject({ out: 'jobs/$2026-11-21-2026-11-21.csv' });
    expect(valuesOf('prefix: $${x}')).toEqual({ prefix: '${x}' });
  });

  it('names whom to tell; a line for the shell is left to the shell', () => {
    const text = `onFinish:
      command: echo "\${BRANDFILL_ROWS:-0} \${HOME}"
      timeout: 90s`;
    expect(valuesOf(text)).toEqual({
      onFinish: {
        command: 'echo "${BRANDFILL_ROWS:-0} ${HOME}"',
        timeout: 90_000,
      },
    });
    expect(valuesOf('onFinish: { command: [node, "${X:-tell.js}"] }')).toEqual({
      onFinish: { command: ['node', 'tell.js'] },
    });
  });

  it('knows where each key stands', () => {
    const job = readJob('# nightly\ninput: a.csv\nmaxCalls:   5\n');
    expect(job.placeOf('maxCalls')).toBe('jobs/job.yaml:3:13');
    expect(job.placeOf('out')).toBeUndefined();
  });

  it('may have a byte order mark, anchors, and JSON in it', () => {
    expect(valuesOf('\uFEFF{"input": "a.csv", "store": &s "x", "out": *s}')).toEqual({
      input: 'jobs/a.csv',
      store: 'jobs/x',
      out: 'jobs/x',
    });
  });

  it.each(Object.keys(OPTIONS).map(nameOf))('has a key for the setting %s', (key) => {
    expect(readJob(`${key}: [[[[[]]]]]`).error?.message).toContain(`jobs/job.yaml:1:`);
    expect(readJob(`${key}: [[[[[]]]]]`).error?.message).not.toContain('there is no key');
  });
});

describe('placeholdersAt', () => {
  it.each([
    ['UTC', { date: '2026-11-21', time: '233005' }],
    ['Europe/Berlin', { date: '2026-11-22', time: '003005' }],
    ['America/New_York', { date: '2026-11-21', time: '183005' }],
  ])('are those of %s', (zone, expected) => {
    expect(placeholdersAt(new Date('2026-11-21T23:30:05Z'), zone)).toEqual(expected);
  });
});

describe('fillPlaceholders', () => {
  const values = { date: '2026-11-21', time: '023000' };

  it.each([
    ['out/{date}/a-{time}.csv', 'out/2026-11-21/a-023000.csv'],
    ['{date}{date}', '2026-11-212026-11-21'],
    ['plain.csv', 'plain.csv'],
    ['{a,b}-{}-{1f}.csv', '{a,b}-{}-{1f}.csv'],
  ])('%s comes to %s', (path, expected) => {
    expect(fillPlaceholders(path, values)).toEqual({ path: expected });
  });

  it.each(['{dat}', '{Date}', '{times}'])('%s is refused with what was meant', (path) => {
    expect(fillPlaceholders(path, values)).toEqual({
      problem: expect.stringMatching(/^there is no \{\w+\}; did you mean \{(date|time)\}\?$/),
    });
  });

  it('a placeholder like none that exists is refused with those that do', () => {
    expect(fillPlaceholders('out-{customer}.csv', values)).toEqual({
      problem: 'there is no {customer}; the placeholders are {date} and {time}',
    });
  });
});

const env = { HOST: 'api.example.com', EMPTY: '' };

describe('a variable', () => {
  it.each([
    ['https://${HOST}/v2', 'https://api.example.com/v2'],
    ['${HOST}${HOST}', 'api.example.comapi.example.com'],
    ['${HOST:-other}', 'api.example.com'],
    ['${NONE:-http://127.0.0.1:8080}', 'http://127.0.0.1:8080'],
    ['${NONE:-}', ''],
    ['${EMPTY}', ''],
    ['${EMPTY:-other}', 'other'],
    ['$${HOST}', '${HOST}'],
    ['$$${HOST}', '$${HOST}'],
    ['$HOST costs $5 {HOST}', '$HOST costs $5 {HOST}'],
  ])('in %j comes to %j', (text, expected) => {
    expect(expandVariables(text, env)).toMatchObject({ text: expected, problems: [] });
  });

  it.each([
    ['a ${NONE} b', '${NONE}', /no variable NONE; set it, or give a default: \$\{NONE:-…\}/],
    ['${a-b}', '${a-b}', /expected \$\{NAME\}/],
    ['${}', '${}', /expected \$\{NAME\}/],
    ['${NONE:-${HOST}}', '${NONE:-${HOST}', /whose default is plain text/],
    ['${HOST:-${NONE:-x}}', '${HOST:-${NONE:-x}', /whose default is plain text/],
    ['x ${HOST', '${HOST', /write \$\$\{/],
  ])('in %j is refused', (text, part, message) => {
    expect(expandVariables(text, env).problems).toEqual([
      { part, message: expect.stringMatching(message) },
    ]);
  });
});
