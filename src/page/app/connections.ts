import { domainToUnicode } from 'node:url';
import { z } from 'zod';
import { sentenceOn } from '../../brand/network-error.ts';
import type { Bill } from '../../collector/plan.ts';
import { costOf, costOfUnits, microsOf } from '../../common/format.ts';
import { keepSecret } from '../../common/secrets.ts';
import { createJob } from '../../options/api.ts';
import { readProfile, shippedProfiles } from '../../profile/read-profile.ts';
import type { Trial } from '../../run/trial.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { describeStop } from '../../watch/describe.ts';
import { findReason, inWords, ON_PAGE, STATUSES, type StatusName } from '../../watch/words.ts';
import { type AppFolder, AppRefusal } from './folder.ts';

/** What is typed to connect: a profile, or an address. */
export const connectionRequest = z.object({
  profile: z.string().optional(),
  baseUrl: z.string().max(10_000).optional(),
  auth: z.string().max(1_000).optional(),
  /** Left out or empty: the key that is known for the same API, if there is one. */
  apiKey: z.string().max(10_000).optional(),
  /** Whether to write the key to a file that only its owner can read. */
  keepKey: z.boolean().optional(),
  price: z.number().nonnegative().optional(),
  rate: z.string().max(100).optional(),
});

type ConnectionRequest = z.infer<typeof connectionRequest>;

/** An API as it is kept on the disk and in each run: never with its key. */
export interface SavedConnection {
  readonly kind: 'profile' | 'described' | 'sandbox';
  readonly title: string;
  readonly profile?: string | undefined;
  readonly baseUrl: string;
  readonly auth: string;
  readonly price?: number | undefined;
  readonly unit?: string | undefined;
  readonly rate?: string | undefined;
}

/** The same for the page. */
export interface Connection extends SavedConnection {
  readonly hasKey: boolean;
  readonly isKeyKept: boolean;
}

/** The options of `enrich` that name an API. */
export interface ApiOptions extends Pick<SavedConnection, 'baseUrl' | 'auth' | 'price' | 'rate'> {
  readonly api?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly store: string;
}

/** What calls cost; nothing is known of it without a profile that says so, or a price. */
export interface Cost {
  readonly units?: number | undefined;
  readonly unit?: string | undefined;
  readonly money?: number | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

const FILE = 'connection.json';
/** Kept apart from all else, so that it can be deleted alone. */
const KEY_FILE = 'keys.json';
/** A rehearsal should look like the real thing and not take long. */
const REHEARSAL = { latencyMs: { fromMs: 20, toMs: 90 }, notFound: 0.08, seed: 1 } as const;

export type Connections = ReturnType<typeof openConnections>;

/** The API in use, and the keys that are known. */
export function openConnections(folder: AppFolder, env: Env, onChange: () => void) {
  const saved = (folder.readJson(FILE) ?? {}) as {
    readonly current?: SavedConnection;
  };
  let { current } = saved;
  const kept = new Map(Object.entries((folder.readJson(KEY_FILE) ?? {}) as Record<string, string>));
  const keys = new Map(kept);
  for (const key of keys.values()) keepSecret(key);
  let sandbox: Promise<Sandbox> | undefined;

  async function save(): Promise<void> {
    if (kept.size === 0) await folder.remove(KEY_FILE);
    else await folder.writeJson(Object.fromEntries(kept), KEY_FILE);
    await folder.writeJson({ current }, FILE);
    onChange();
  }

  async function openSandbox(): Promise<Sandbox> {
    sandbox ??= startSandbox({ ...REHEARSAL, port: 0 });
    return await sandbox;
  }

  function keyOf(connection: SavedConnection): string | undefined {
    return keys.get(idOf(connection)) ?? keyOfEnv(connection, env);
  }

  /** @throws AppRefusal `NO_CONNECTION` when there is none, or its key is not known any more */
  async function optionsOf(connection = current): Promise<ApiOptions> {
    if (!connection) {
      throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect, or rehearse.');
    }
    const { kind, profile: api, baseUrl, auth, price, rate, title } = connection;
    if (kind === 'sandbox') {
      const { url } = await openSandbox();
      return { baseUrl: url, auth: 'none', store: folder.at('rehearsal') };
    }
    const apiKey = keyOf(connection);
    if (auth !== 'none' && apiKey === undefined) {
      throw new AppRefusal(
        'NO_CONNECTION',
        `The key of ${title} is not known any more, as after a new start. Type it under Connect, then go on. Nothing was lost.`,
      );
    }
    return { api, baseUrl, auth, price, rate, apiKey, store: folder.at('store') };
  }

  return {
    get current() {
      return current;
    },
    optionsOf,
    profiles: shippedProfiles().map((name) => {
      const { content } = readProfile(name);
      const needsKey = (content.request.auth ?? 'none') !== 'none';
      const { title = name, sources, billing } = content;
      return { name, title, docs: sources?.[0], needsKey, unit: billing?.unit };
    }),
    show: (): Connection | null => {
      if (!current) return null;
      const id = idOf(current);
      return { ...current, hasKey: keyOf(current) !== undefined, isKeyKept: kept.has(id) };
    },
    set: async (request: ConnectionRequest): Promise<void> => {
      const chosen = readRequest(request, env);
      const id = idOf(chosen);
      const typed = request.apiKey?.trim() || undefined;
      const apiKey = typed ?? keyOf(chosen);
      if (chosen.auth !== 'none' && apiKey === undefined) {
        throw new AppRefusal('INVALID_SETTING', `Type the key of ${chosen.title}.`);
      }
      keepSecret(typed);
      const { profile: api, baseUrl, auth, price, rate } = chosen;
      const given = { api, baseUrl, auth, price, rate };
      createJob({ given, apiKey, env: quietEnv(env), describe: nameSetting });
      if (typed !== undefined) keys.set(id, typed);
      if (request.keepKey === true && apiKey !== undefined) kept.set(id, apiKey);
      else kept.delete(id);
      current = chosen;
      await save();
    },
    /** Starts the sandbox, if it is not there yet, and takes it. */
    rehearse: async (): Promise<void> => {
      const { url } = await openSandbox();
      current = { kind: 'sandbox', title: 'Rehearsal', baseUrl: url, auth: 'none' };
      await save();
    },
    forget: async (): Promise<void> => {
      if (current) for (const known of [keys, kept]) known.delete(idOf(current));
      current = undefined;
      await save();
    },
    /** The variable that holds the key on a command line; undefined where none is needed. */
    keyVariableOf: (connection: SavedConnection): string | undefined =>
      connection.auth === 'none' ? undefined : variableOf(connection),
    close: async (): Promise<void> => await (await sandbox)?.close(),
  };
}

/** The surroundings of runs: nothing that the person at the page did not choose. */
export function quietEnv(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('BRANDFILL_')));
}

/** The names of settings in messages for people at the page. */
export function nameSetting(key: string): string {
  return SETTINGS[key] ?? ON_PAGE(key);
}

const SETTINGS: Readonly<Record<string, string>> = {
  api: 'the profile',
  apiKeyFile: 'the key',
  fields: 'the columns',
  price: 'the price',
  sample: 'how many to ask first',
  sheet: 'the sheet',
  skipLines: 'the lines to skip',
};

function readRequest(request: ConnectionRequest, env: Env): SavedConnection {
  const { price, profile } = request;
  const rate = request.rate?.trim() || undefined;
  if (profile !== undefined) {
    if (!shippedProfiles().includes(profile)) {
      throw new AppRefusal('INVALID_SETTING', 'There is no such profile: choose one of the list.');
    }
    const { content, api } = readProfile(profile);
    const { baseUrl = content.request.baseUrl, auth = content.request.auth ?? 'none' } = request;
    const { title = profile } = content;
    const unit = api.billing?.unit;
    return { kind: 'profile', title, profile, baseUrl, auth, price, rate, unit };
  }
  const { baseUrl = '', auth = 'none' } = request;
  if (baseUrl.trim() === '') {
    throw new AppRefusal(
      'INVALID_SETTING',
      'Type the address of the API, such as https://api.example.com, or choose a profile.',
    );
  }
  const given = { baseUrl: baseUrl.trim(), auth, price, rate };
  const apiKey = request.apiKey?.trim() || 'not-known-yet';
  const { settings } = createJob({ given, apiKey, env: quietEnv(env), describe: nameSetting });
  const url = settings.baseUrl ?? '';
  const title = new URL(url).host;
  return { kind: 'described', title, baseUrl: url, auth, price, rate };
}

/** Tells apart what keys belong to: a key goes only to the address that it was typed for. */
function idOf({ profile, baseUrl, auth }: SavedConnection): string {
  return [profile ?? '', baseUrl, auth].join(' ').trim();
}

function variableOf({ profile }: SavedConnection): string {
  const ofProfile =
    profile === undefined ? undefined : readProfile(profile).content.request.apiKeyEnv;
  return ofProfile ?? 'BRANDFILL_API_KEY';
}

/**
 * A key of the environment goes only to the address that is said along with it, or that its profile
 * names: whoever signs in may type any other.
 */
function keyOfEnv(connection: SavedConnection, env: Env): string | undefined {
  const { profile, baseUrl } = connection;
  const bare = (url: string): string => url.trim().replace(/\/+$/, '');
  const ofProfile =
    profile === undefined ? undefined : readProfile(profile).content.request.baseUrl;
  const isMeant = [env['BRANDFILL_BASE_URL'], ofProfile].some(
    (meant) => meant !== undefined && bare(meant) === bare(baseUrl),
  );
  return isMeant ? env[variableOf(connection)]?.trim() || undefined : undefined;
}

/** What calls or units cost, as far as it is known. */
export function costFor(price: number | undefined, calls: number, bill?: Bill): Cost {
  const money =
    price === undefined
      ? undefined
      : bill
        ? costOfUnits(microsOf(bill.units) ?? 0, price)
        : costOf(calls, price);
  return { ...bill, ...(money === undefined ? {} : { money }) };
}

/** A call that never arrived costs nothing. */
export function costOfTrials(trials: readonly Trial[], price: number | undefined): Cost {
  const answers = trials.flatMap((trial) => trial.answers);
  const charged = answers.filter(({ httpStatus = 429 }) => httpStatus !== 429).length;
  const bills = answers.flatMap(({ bill }) => bill ?? []);
  const [first] = bills;
  const bill = first && {
    unit: first.unit,
    units: bills.reduce((sum, { units }) => sum + units, 0),
  };
  return costFor(price, charged, bill);
}

/** What came of a domain, in a sentence or two. */
export function messageOf({ status, reason, stopped }: Trial): string {
  if (stopped) return describeStop(stopped, ON_PAGE);
  if (status === 'found') return 'The API knows this company.';
  if (status === 'not_found') return 'The API answered, and knows no company at this address.';
  const advice = sentenceOn(reason) ?? findReason(reason)?.advice;
  const { means } = STATUSES[status as StatusName];
  return inWords(advice ?? `${means}${reason === '' ? '' : ` (${reason})`}.`, ON_PAGE);
}

/** A domain as people write it: `müller.de`. */
export function shownDomain(domain: string): string {
  return domainToUnicode(domain) || domain;
}

const LONGEST_TEXT = 300;

/** The text of a value of an answer, for a cell of the page. */
export function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text;
}
