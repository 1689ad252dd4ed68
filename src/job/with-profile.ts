import type { NameValue } from '../brand/endpoint.ts';
import { DOMAIN } from '../brand/endpoint.ts';
import { BrandfillError, endSentence } from '../common/errors.ts';
import { type Profile, readProfile } from '../profile/read-profile.ts';
import { type Definitions, readSettings, type SettingSources } from './read-settings.ts';

/** Settings, and the profile of the API that they name. */
export interface ProfiledSettings<T> {
  readonly settings: T;
  readonly profile: Profile | undefined;
}

/**
 * Reads settings like `readSettings`. What is given counts more than the profile of the API, and the
 * profile more than the environment: a base URL that is set for another API must not get the
 * credential of this one.
 *
 * @throws BrandfillError `INVALID_SETTING`, with the place of whatever is wrong in a profile
 */
export function readWithProfile<T extends { readonly api: string | undefined }>(
  definitions: Definitions<T>,
  sources: SettingSources<keyof T & string>,
): ProfiledSettings<T> {
  const profile = findProfile(definitions, sources);
  if (!profile) return { settings: readSettings(definitions, sources), profile };
  const given: Record<string, unknown> = { ...sources.given };
  for (const [key, value] of Object.entries(settingsOf(profile, given))) {
    if (Object.hasOwn(definitions, key)) given[key] ??= value;
  }
  const { param, header } = pairsOf(profile);
  for (const [key, own] of Object.entries({ param, header })) {
    if (Object.hasOwn(definitions, key)) given[key] = joined(own, given[key], key, definitions);
  }
  const settings = readSettings(definitions, { ...sources, given: given as typeof sources.given });
  return { settings, profile };
}

function findProfile<T extends { readonly api: string | undefined }>(
  { api }: Definitions<T>,
  sources: SettingSources<keyof T & string>,
): Profile | undefined {
  const read = readSettings({ api }, sources as unknown as SettingSources<'api'>);
  const named = (read as { readonly api: string | undefined }).api;
  if (named === undefined) return undefined;
  try {
    return readProfile(named);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const label = sources.given['api' as keyof T & string] === undefined ? api.env : undefined;
    const message = `Cannot use ${label ?? sources.describe('api')}: ${error.message}`;
    throw new BrandfillError('INVALID_SETTING', endSentence(message), { cause: error });
  }
}

/** What a profile says about settings, as a user would give it. */
function settingsOf(
  { content }: Profile,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { request, columns, fresh = {} } = content;
  const { baseUrl, auth } = request;
  return {
    baseUrl,
    auth,
    // Who says how many columns there may be wants the answer flattened.
    fields: given['maxColumns'] === undefined ? columns : undefined,
    fresh: fresh.found,
    freshNotFound: fresh.notFound,
    freshRejected: fresh.rejected,
  };
}

/** What goes with every call. Parameters with the domain are no settings: each call sets them. */
function pairsOf({ content }: Profile): Readonly<Record<'param' | 'header', readonly NameValue[]>> {
  const { params = {}, headers = {} } = content.request;
  return {
    param: Object.entries(params).filter(([, value]) => !value.includes(DOMAIN)),
    header: Object.entries(headers),
  };
}

/** The profile's own pairs with those that are given, which replace their namesakes. */
function joined<T>(
  own: readonly NameValue[],
  given: unknown,
  key: string,
  definitions: Definitions<T>,
): unknown {
  if (given === undefined || own.length === 0)
    return given ?? (own.length > 0 ? texts(own) : undefined);
  let pairs: readonly NameValue[];
  try {
    pairs = definitions[key as keyof T].parse(given) as unknown as readonly NameValue[];
  } catch {
    return given; // what is wrong with it is said when it is read
  }
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  return texts([...own.filter(([name]) => !names.has(name.toLowerCase())), ...pairs]);
}

function texts(pairs: readonly NameValue[]): readonly string[] {
  return pairs.map(([name, value]) => `${name}=${value}`);
}
