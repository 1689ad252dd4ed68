import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { JOB_FILE_KEYS, jobFileSchema, parseJobFile } from '../../src/options/job-file.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'jobs/job.schema.json');
const ajv = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true });
const isValid = ajv.compile(jobFileSchema());
const page = await readFile(join(project, 'docs/job-files.md'), 'utf8');
const jobs = (await readdir(join(project, 'jobs'))).filter((name) => name.endsWith('.yaml'));

test('jobs/job.schema.json is what the settings say (UPDATE=1 writes it)', async () => {
  if (process.env['UPDATE'] === '1') {
    await writeFile(SCHEMA, JSON.stringify(jobFileSchema()));
    await run(join(project, 'node_modules/.bin/biome'), ['format', '--write', SCHEMA]);
  }
  expect(JSON.parse(await readFile(SCHEMA, 'utf8'))).toEqual(jobFileSchema());
});

test.each(jobs)('the schema takes jobs/%s, which names it', async (name) => {
  const text = await readFile(join(project, 'jobs', name), 'utf8');
  expect(isValid(parse(text)), JSON.stringify(isValid.errors)).toBe(true);
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=job.schema.json');
});

describe('the schema agrees with what is read:', () => {
  test.each([
    'maxCalls: 500',
    'retries: 100',
    'maxCalls: ${MAX:-500}',
    'fresh: 30d',
    'fresh: 0',
    'registrable: true',
    'price: 0.01',
    'price: ${PRICE:-0.01}',
    'registrable: ${R:-false}',
    'prefix: 2024',
    'report: run.html',
    'report: [run.html, run.json]',
    'rate: 20/s',
    'rate: auto',
    'workers: 0',
    'param: lang=de',
    'param: [lang=de, page=1]',
    'param: { lang: de, page: 1 }',
    'fields: "name=name,city=location.city"',
    'fields: { name: name, city: location.city }',
    'schedule: { cron: 30 2 * * *, timezone: Europe/Berlin }',
    'onFinish: { command: [node, tell.js], timeout: 5min }',
  ])('%s is right', (line) => {
    expect(readAndValidate(line)).toEqual({ isRead: true, isValid: true });
  });

  test.each([
    'maxCalls: many',
    'maxCalls: 1.5',
    'maxCalls: 0',
    'retries: 101',
    'concurrency: 10001',
    'price: 0,01',
    'price: cheap',
    'fresh: 30',
    'fresh: 30 days',
    'registrable: yes',
    'rate: 20',
    'workers: 2',
    'param: lang',
    'out: [a.csv, b.csv]',
    'report: { a: run.html }',
    'freshh: 30d',
    'apiKey: x',
    'schedule: { timezone: Europe/Berlin }',
    'schedule: 30 2 * * *',
    'onFinish: {}',
    'onFinish: { timeout: 5 }',
    'onFinish: { url: "https://hooks.example.com/x" }',
    '- input: list.csv',
  ])('%s is wrong', (line) => {
    expect(readAndValidate(line)).toEqual({ isRead: false, isValid: false });
  });
});

test('docs/job-files.md lists every key of job files that enrich has no flag for', () => {
  const extra = ['input', 'apiKeyEnv', 'schedule', 'onFinish'];
  for (const key of extra) {
    expect(Object.keys(JOB_FILE_KEYS)).toContain(key);
    expect(page).toContain(`| \`${key}\``);
  }
});

function readAndValidate(text: string): { isRead: boolean; isValid: boolean } {
  const { error } = parseJobFile('job.yaml', text, { env: {}, now: new Date(0) });
  return { isRead: error === undefined, isValid: isValid(parse(text)) };
}
