import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ProfileFile, profileSchema } from '../../src/profile/profile-schema.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import { judgeSample } from '../../src/profile/samples.ts';
import { jsonOf } from './generated.ts';

const project = join(import.meta.dirname, '../..');
const SCHEMA = join(project, 'apis/profile.schema.json');
const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
  validateFormats: false,
});
const isValid = ajv.compile(profileSchema());
const page = await readFile(join(project, 'docs/apis.md'), 'utf8');
const profiles = (await readdir(join(project, 'apis'))).filter((name) => name.endsWith('.yaml'));

test('apis/profile.schema.json is what is read', async () => {
  await expect(jsonOf(profileSchema())).toMatchFileSnapshot(SCHEMA);
});

describe('the schema agrees with what is read:', () => {
  const base = 'title: Acme\nrequest: { baseUrl: "https://api.example.com" }\n';

  test.each([
    'rules: [{ when: { status: [404, 500-599] }, means: retry, wait: 5s }]',
    'rules: [{ when: { status: 500-599, header: { name: x-a } }, means: retry }]',
    'rules: [{ when: {}, means: throttled, wait: { header: x-a } }]',
    'rules: [{ when: { body: a }, means: failed, reason: b, note: c }]',
    'asOf: 2026-11-25',
  ])('%s is right', (lines) => {
    expect(readAndValidate(base + lines)).toEqual({ isRead: true, isValid: true });
  });

  test.each([
    'rules: [{ when: { status: 99 }, means: not_found }]',
    'rules: [{ when: { status: [] }, means: not_found }]',
    'rules: [{ when: {}, means: retry, wait: 5 }]',
    'rules: [{ when: {}, means: retry, wait: { head: x } }]',
    'title: ""',
  ])('%s is wrong', (lines) => {
    const text = lines.startsWith('title') ? base.replace('title: Acme', lines) : base + lines;
    expect(readAndValidate(text)).toEqual({ isRead: false, isValid: false });
  });
});

test('the profile that docs/apis.md shows is right', () => {
  const [, shown = ''] = /```yaml\n(# yaml-language-server.*?)```/s.exec(page) ?? [];
  expect(readAndValidate(shown)).toEqual({ isRead: true, isValid: true });
});

function readAndValidate(text: string): { isRead: boolean; isValid: boolean } {
  let isRead = true;
  try {
    parseProfile('acme.yaml', text);
  } catch {
    isRead = false;
  }
  return { isRead, isValid: isValid(parse(text)) };
}

test.each(profiles)(
  'apis/%s keeps the schema, and says where it is from, of what day, and that nobody tried it',
  async (name) => {
    const text = await readFile(join(project, 'apis', name), 'utf8');
    expect(isValid(parse(text)), JSON.stringify(isValid.errors)).toBe(true);
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=profile.schema.json');
    const { sources = [], asOf, triedLive } = parse(text) as ProfileFile;
    expect(sources.length).toBeGreaterThan(0);
    expect(asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(triedLive).toBe(false);
    expect(text).toContain('not tried against the live service');
    expect(page).toContain(`\`${name.replace('.yaml', '')}\``);
  },
);

test.each(profiles)('a sample of apis/%s shows each of its rules at work', async (name) => {
  const profile = parseProfile(name, await readFile(join(project, 'apis', name), 'utf8'));
  const { rules = [], samples = [] } = profile.content;
  const shown = new Set(samples.map((sample) => judgeSample(sample, profile.api).rule));
  expect(rules.flatMap((_, at) => (shown.has(at + 1) ? [] : [at + 1]))).toEqual([]);
  expect(samples.map(({ means }) => means)).toContain('found');
});
