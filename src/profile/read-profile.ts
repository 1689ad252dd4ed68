import { existsSync, readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ApiProfile } from '../brand/api-profile.ts';
import { refusal } from '../common/errors.ts';
import { idOfParts } from '../common/hashes.ts';
import { isProfileFile } from '../options/kinds.ts';

import { readText, readYaml } from '../options/yaml.ts';
import { type ProfileFile, profileShape } from './profile-schema.ts';
import { findSampleProblem } from './samples.ts';

/** A profile, read and checked. */
export type Profile = ReturnType<typeof parseProfile>;

/**
 * Reads a profile: one that is shipped, by its name, or a file.
 *
 * @throws BrandfillError `INVALID_SETTING` with the place of everything that is wrong in it. The
 *   message follows the name of the setting that named it
 */
export function readProfile(nameOrFile: string): Profile {
  const file = fileOf(nameOrFile);
  return parseProfile(file, readText(file, 'the profile'));
}

/** Reads the text of a profile. @throws BrandfillError as `readProfile` */
export function parseProfile(file: string, text: string) {
  const yaml = readYaml(file, text);
  const made = yaml.problem() === undefined ? yaml.check(profileShape) : undefined;
  if (!made) throw refusal(yaml.problem() ?? `${file}: no profile`);
  const name = basename(file, extname(file));
  const content = yaml.value as ProfileFile;
  const { request, rules, data, limits, billing, batch, samples = [] } = made;
  const ruled = content.rules?.map(({ note: _, ...rule }) => rule);
  const { redirects } = content.request;
  const judged: readonly unknown[] = [
    ruled,
    content.data,
    content.billing,
    content.batch,
    ...(redirects === undefined ? [] : [redirects]),
  ];
  const api: ApiProfile = {
    name,
    path: request.path ?? '/v1/brand',
    params: request.params ?? [],
    headers: request.headers ?? [],
    followsSigned: redirects !== undefined,
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    meaningId: judged.every((part) => part === undefined) ? undefined : idOfParts(judged),
    data: content.data,
    meaningOf: rules ?? (() => undefined),
    batch,
    findLimits: limits?.windows,
    billing,
    startRate: limits?.rate,
    recordOf: data,
  };
  for (const [at, sample] of samples.entries()) {
    const problem = findSampleProblem(sample, api);
    if (problem !== undefined) yaml.note(['samples', at], problem);
  }
  const problem = yaml.problem();
  if (problem !== undefined) throw refusal(problem);
  return {
    /** The name that it is shipped under, or that of its file without folder and ending. */
    name,
    /** What people call the API. */
    title: content.title ?? name,
    /** Where it was read from. */
    file,
    /** What stands in it. */
    content,
    /** The same, ready for calls. */
    api,
  };
}

/** The text of a profile as it stands in its file. @throws BrandfillError as `readProfile` */
export function readProfileText(nameOrFile: string): string {
  return readText(fileOf(nameOrFile), 'the profile');
}

/** The names of the profiles that come with Brandfill, in the order of the alphabet. */
export function shippedProfiles(): readonly string[] {
  const files = readdirSync(shippedFolder()).filter((name) => name.endsWith('.yaml'));
  return files.map((name) => basename(name, '.yaml')).sort();
}

/** `apis` of the package: beside `dist`, or beside `src` when run from the sources. */
function shippedFolder(): string {
  const folders = ['../apis', '../../apis'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return folders.find((path) => existsSync(path)) ?? 'apis';
}

function fileOf(nameOrFile: string): string {
  if (isProfileFile(nameOrFile)) return nameOrFile;
  const names = shippedProfiles();
  if (names.includes(nameOrFile)) return join(shippedFolder(), `${nameOrFile}.yaml`);
  // Anything else than a word may be the credential, whose variable has nearly the same name.
  const what = /^[a-z-]{1,30}$/.test(nameOrFile) ? `profile '${nameOrFile}'` : 'such profile';
  throw refusal(
    `there is no ${what}; there are ${names.join(', ')}, and files, such as ./acme.yaml`,
  );
}
