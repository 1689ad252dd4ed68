import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../../src/job/settings.ts';
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
    expect(valuesOf('param: [lang=de, page=1]')).toEqual({ param: ['lang=de', 'page=1'] });
    expect(valuesOf('header: { X-Team: crm, X-Level: 2 }')).toEqual({
      header: { 'X-Team': 'crm', 'X-Level': '2' },
    });
    expect(valuesOf('fields: { city: location.city, token: id }')).toEqual({
      fields: { city: 'location.city', token: 'id' },
    });
  });

  it('puts variables into any text, also inside lists and maps', () => {
    const env = { TEAM: 'crm', LIMIT: '7' };
    expect(valuesOf('header: { X-Team: "${TEAM}" }', env)).toEqual({ header: { 'X-Team': 'crm' } });
    expect(valuesOf('param: ["team=${TEAM}"]', env)).toEqual({ param: ['team=crm'] });
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
      url: https://hooks.example.com/\${HOOK}
      timeout: 90s`;
    expect(valuesOf(text, { HOOK: 'a1' })).toEqual({
      onFinish: {
        command: 'echo "${BRANDFILL_ROWS:-0} ${HOME}"',
        url: 'https://hooks.example.com/a1',
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

  it.each(Object.keys(SETTINGS))('has a key for the setting %s', (key) => {
    expect(readJob(`${key}: [[[[[]]]]]`).error?.message).toContain(`jobs/job.yaml:1:`);
    expect(readJob(`${key}: [[[[[]]]]]`).error?.message).not.toContain('there is no key');
  });
});
