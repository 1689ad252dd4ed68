import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { jobFileSchema, parseJobFile } from '../../src/options/job-file.ts';
import { jsonOf } from './generated.ts';

const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'jobs/job.schema.json');
const ajv = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true });
const isValid = ajv.compile(jobFileSchema());
const jobs = (await readdir(join(project, 'jobs'))).filter((name) => name.endsWith('.yaml'));

test('jobs/job.schema.json is what the options say', async () => {
  await expect(jsonOf(jobFileSchema())).toMatchFileSnapshot(SCHEMA);
});

test.each(jobs)('the schema takes jobs/%s, which names it', async (name) => {
  const text = await readFile(join(project, 'jobs', name), 'utf8');
  expect(isValid(parse(text)), JSON.stringify(isValid.errors)).toBe(true);
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=job.schema.json');
});

const RIGHT = [
  'maxCalls: ${MAX:-500}',
  'fresh: 30d',
  'registrable: ${R:-false}',
  'price: 0.01',
  'report: [run.html, run.json]',
  'params: lang=de',
  'params: { lang: de, page: 1 }',
  'fields: "name=name,city=location.city"',
  'fields: { name: name, city: location.city }',
  'schedule: { cron: 30 2 * * *, timezone: Europe/Berlin }',
  'onFinish: { command: [node, tell.js], timeout: 5min }',
];
/** What an editor sees; the values themselves are read by the command alone. */
const WRONG = [
  'registrable: [yes]',
  'out: [a.csv, b.csv]',
  'report: { a: run.html }',
  'freshh: 30d',
  'apiKey: x',
  'schedule: 30 2 * * *',
  'onFinish: { url: "https://hooks.example.com/x" }',
  '- input: list.csv',
];

test.each<[string, boolean]>([
  ...RIGHT.map((line): [string, boolean] => [line, true]),
  ...WRONG.map((line): [string, boolean] => [line, false]),
])('the schema agrees with what is read: %s is right: %s', (text, isRight) => {
  const { error } = parseJobFile('job.yaml', text, { env: {}, now: new Date(0) });
  expect({ isRead: error === undefined, isValid: isValid(parse(text)) }).toEqual({
    isRead: isRight,
    isValid: isRight,
  });
});
