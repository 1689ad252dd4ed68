import { tryDomain } from '../commands/try.ts';
import { costOf, costOfUnits, microsOf } from '../common/format.ts';
import { keepSecret } from '../common/secrets.ts';
import { createJob } from '../options/api.ts';
import { readProfile, shippedProfiles } from '../profile/read-profile.ts';
import type { Trial } from '../run/trial.ts';
import { type Sandbox, startSandbox } from '../sandbox/server.ts';
import type {
  Connection,
  ConnectionRequest,
  Cost,
  ProfileChoice,
  TestResult,
} from '../web/app/contract.ts';
import { type AppFolder, AppRefusal } from './folder.ts';
import { plainly, shownDomain, wordsOfStatus, wordsOfStop } from './words.ts';

/** An API as it is kept on the disk and in each run: never with its key. */
export interface SavedConnection {
  readonly kind: Connection['kind'];
  readonly title: string;
  readonly profile?: string | undefined;
  readonly baseUrl: string;
  readonly auth: string;
  readonly price?: number | undefined;
  readonly unit?: string | undefined;
  readonly rate?: string | undefined;
}

/** The options of `enrich` that name an API. */
export interface ApiOptions {
  readonly api?: string | undefined;
  readonly baseUrl: string;
  readonly auth: string;
  readonly price?: number | undefined;
  readonly rate?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly store: string;
}

/** The API in use, and the keys that are known. */
export interface Connections {
  readonly current: SavedConnection | undefined;
  readonly profiles: readonly ProfileChoice[];
  /** The same as it is shown. */
  show(): Connection | null;
  set(request: ConnectionRequest): Promise<Connection>;
  /** Starts the sandbox, if it is not there yet, and takes it. */
  rehearse(): Promise<Connection>;
  forget(): Promise<void>;
  test(domain: string, signal: AbortSignal): Promise<TestResult>;
  /** @throws AppRefusal `NO_CONNECTION` when there is none, or its key is not known any more */
  optionsOf(connection: SavedConnection | undefined): Promise<ApiOptions>;
  /** The variable that holds the key on a command line; undefined where none is needed. */
  keyVariableOf(connection: SavedConnection): string | undefined;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly folder: AppFolder;
  /** Where a key may come from that was not typed. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onChange: () => void;
}

const FILE = 'connection.json';
/** Kept apart from all else, so that it can be deleted alone. */
const KEY_FILE = 'keys.json';
/** A rehearsal should look like the real thing and not take long. */
const REHEARSAL = { latencyMs: { fromMs: 20, toMs: 90 }, notFound: 0.08, seed: 1 } as const;

export function openConnections({ folder, env, onChange }: ConnectionsOptions): Connections {
  const profiles = shippedProfiles().map(describeProfile);
  const saved = (folder.readJson(FILE) ?? {}) as {
    readonly current?: SavedConnection;
    readonly sandboxPort?: number;
  };
  let { current, sandboxPort } = saved;
  const kept = new Map(Object.entries((folder.readJson(KEY_FILE) ?? {}) as Record<string, string>));
  const keys = new Map(kept);
  for (const key of keys.values()) keepSecret(key);
  let sandbox: Promise<Sandbox> | undefined;

  const save = async (): Promise<void> => {
    await folder.writeJson({ current, sandboxPort }, FILE);
    onChange();
  };

  /** On the port of last time, if that is free: its answers are then those that are kept. */
  async function openSandbox(): Promise<Sandbox> {
    sandbox ??= startSandbox({ ...REHEARSAL, port: sandboxPort ?? 0 }).catch(
      async () => await startSandbox({ ...REHEARSAL, port: 0 }),
    );
    const opened = await sandbox;
    sandboxPort = opened.port;
    return opened;
  }

  function keyOf(connection: SavedConnection): string | undefined {
    return keys.get(idOf(connection)) ?? keyOfEnv(connection, env);
  }

  function show(): Connection | null {
    if (!current) return null;
    const { kind, title, profile, baseUrl, auth, price, unit, rate } = current;
    return {
      kind,
      title,
      profile,
      baseUrl,
      auth,
      hasKey: keyOf(current) !== undefined,
      isKeyKept: kept.has(idOf(current)),
      price,
      unit,
      rate,
    };
  }

  async function keepKeys(): Promise<void> {
    if (kept.size === 0) await folder.remove(KEY_FILE);
    else await folder.writeJson(Object.fromEntries(kept), KEY_FILE);
  }

  async function optionsOf(connection: SavedConnection | undefined): Promise<ApiOptions> {
    if (!connection) {
      throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect, or rehearse.');
    }
    if (connection.kind === 'sandbox') {
      const { url } = await openSandbox();
      return { baseUrl: url, auth: 'none', store: folder.at('rehearsal') };
    }
    const { profile, baseUrl, auth, price, rate, title } = connection;
    const apiKey = keyOf(connection);
    if (auth !== 'none' && apiKey === undefined) {
      throw new AppRefusal(
        'NO_CONNECTION',
        `The key of ${title} is not known any more, as after a new start. Type it under Connect, then go on. Nothing was lost.`,
      );
    }
    const store = folder.at('store');
    return { api: profile, baseUrl, auth, price, rate, apiKey, store };
  }

  return {
    get current() {
      return current;
    },
    profiles,
    show,
    set: async (request) => {
      const chosen = readRequest(request, env);
      const id = idOf(chosen);
      const typed = request.apiKey?.trim() || undefined;
      const apiKey = typed ?? keyOf(chosen);
      if (chosen.auth !== 'none' && apiKey === undefined) {
        throw new AppRefusal('INVALID_SETTING', `Type the key of ${chosen.title}.`);
      }
      keepSecret(typed);
      checkApi(chosen, apiKey, env);
      if (typed !== undefined) keys.set(id, typed);
      const mayKeep = request.keepKey === true && apiKey !== undefined;
      if (mayKeep && keys.has(id)) kept.set(id, apiKey);
      else kept.delete(id);
      await keepKeys();
      current = chosen;
      await save();
      return show() ?? UNREACHABLE();
    },
    rehearse: async () => {
      const { url } = await openSandbox();
      current = { kind: 'sandbox', title: 'Rehearsal', baseUrl: url, auth: 'none' };
      await save();
      return show() ?? UNREACHABLE();
    },
    forget: async () => {
      if (current) {
        keys.delete(idOf(current));
        kept.delete(idOf(current));
      }
      await keepKeys();
      current = undefined;
      await save();
    },
    test: async (domain, signal) => {
      const options = await optionsOf(current);
      const trial = await tryDomain(
        { ...withoutPrice(options), domain, refresh: true, signal },
        nameSetting,
        quietEnv(env),
      );
      return toTestResult(trial, options);
    },
    optionsOf,
    keyVariableOf: (connection) =>
      connection.auth === 'none' ? undefined : variableOf(connection),
    close: async () => {
      await (await sandbox)?.close();
    },
  };
}

function UNREACHABLE(): never {
  throw new TypeError('a connection was just set');
}

/** The surroundings of runs: nothing that the person at the page did not choose. */
export function quietEnv(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('BRANDFILL_')));
}

/** The names of settings in messages for people at the page. */
export function nameSetting(key: string): string {
  return SETTINGS[key] ?? `'${key}'`;
}

const SETTINGS: Readonly<Record<string, string>> = {
  api: 'the profile',
  baseUrl: 'the address of the API',
  auth: 'how the key is sent',
  apiKeyFile: 'the key',
  fields: 'the columns',
  fill: 'the columns to fill',
  price: 'the price',
  rate: 'the pace',
  maxCalls: 'the most calls',
  maxCost: 'the most to spend',
  sample: 'how many to ask first',
  encoding: 'the encoding',
  sheet: 'the sheet',
  domainColumn: 'the column with the addresses',
  skipLines: 'the lines to skip',
};

function withoutPrice({ price: _, ...options }: ApiOptions): Omit<ApiOptions, 'price'> {
  return options;
}

function describeProfile(name: string): ProfileChoice {
  const { content } = readProfile(name);
  return {
    name,
    title: content.title ?? name,
    docs: content.sources?.[0],
    needsKey: (content.request.auth ?? 'none') !== 'none',
    unit: content.billing?.unit,
  };
}

function readRequest(
  request: ConnectionRequest,
  env: Readonly<Record<string, string | undefined>>,
): SavedConnection {
  const { price } = request;
  const rate = request.rate?.trim() || undefined;
  if (request.profile !== undefined) {
    if (!shippedProfiles().includes(request.profile)) {
      throw new AppRefusal('INVALID_SETTING', 'There is no such profile: choose one of the list.');
    }
    const { content, api } = readProfile(request.profile);
    const { baseUrl = content.request.baseUrl, auth = content.request.auth ?? 'none' } = request;
    const { profile } = request;
    const unit = api.billing?.unit;
    const { title = profile } = content;
    return { kind: 'profile', title, profile, baseUrl, auth, price, rate, unit };
  }
  const { baseUrl = '', auth = 'none' } = request;
  if (baseUrl.trim() === '') {
    throw new AppRefusal(
      'INVALID_SETTING',
      'Type the address of the API, such as https://api.example.com, or choose a profile.',
    );
  }
  const { settings } = createJob({
    given: { baseUrl: baseUrl.trim(), auth, price, rate },
    apiKey: request.apiKey?.trim() || 'not-known-yet',
    env: quietEnv(env),
    describe: nameSetting,
  });
  const url = settings.baseUrl ?? '';
  return { kind: 'described', title: new URL(url).host, baseUrl: url, auth, price, rate };
}

/** @throws BrandfillError when it cannot be called like this */
function checkApi(
  { profile: api, baseUrl, auth, price, rate }: SavedConnection,
  apiKey: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): void {
  createJob({
    given: { api, baseUrl, auth, price, rate },
    apiKey,
    env: quietEnv(env),
    describe: nameSetting,
  });
}

/** Tells apart what keys belong to: a key goes only to the address that it was typed for. */
function idOf({ profile, baseUrl, auth }: SavedConnection): string {
  return [profile ?? '', baseUrl, auth].join(' ').trim();
}

function variableOf({ profile }: SavedConnection): string | undefined {
  if (profile === undefined) return 'BRANDFILL_API_KEY';
  return readProfile(profile).content.request.apiKeyEnv ?? 'BRANDFILL_API_KEY';
}

/**
 * A key of the environment goes only to the address that is said along with it, or that its profile
 * names: whoever signs in may type any other.
 */
function keyOfEnv(
  connection: SavedConnection,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { profile, baseUrl } = connection;
  const ofProfile =
    profile === undefined ? undefined : readProfile(profile).content.request.baseUrl;
  const isMeant = [env['BRANDFILL_BASE_URL'], ofProfile].some(
    (meant) => meant !== undefined && withoutSlash(meant) === withoutSlash(baseUrl),
  );
  const variable = variableOf(connection);
  return isMeant && variable ? env[variable]?.trim() || undefined : undefined;
}

function withoutSlash(url: string): string {
  return url.trim().replace(/\/+$/, '');
}

/** What calls or units cost, as far as it is known. */
export function costFor(
  { price }: Pick<SavedConnection, 'price'>,
  {
    calls,
    bill,
  }: { readonly calls: number; readonly bill?: { units: number; unit: string } | undefined },
): Cost {
  const money =
    price === undefined
      ? undefined
      : bill
        ? costOfUnits(microsOf(bill.units) ?? 0, price)
        : costOf(calls, price);
  return { units: bill?.units, unit: bill?.unit, money };
}

function toTestResult(trial: Trial, { price }: ApiOptions): TestResult {
  const { domain, status, reason, httpStatus, calls, throttled, elapsedMs, stopped } = trial;
  const { answer, columns, isFromStore, answers } = trial;
  const last = answers.at(-1);
  const bills = answers.flatMap(({ bill }) => bill ?? []);
  const [first] = bills;
  const bill = first && {
    unit: first.unit,
    units: bills.reduce((sum, { units }) => sum + units, 0),
  };
  const isGood = stopped === undefined && status !== 'failed' && status !== 'skipped';
  const message = stopped
    ? wordsOfStop(stopped)
    : status === 'found'
      ? 'It works: the API knows this company.'
      : status === 'not_found'
        ? 'It works: the API answered, and knows no company at this address.'
        : wordsOfStatus(status, reason);
  return {
    domain: shownDomain(domain),
    status,
    message: plainly(message),
    isGood,
    httpStatus,
    ...(last && {
      rule: {
        means: last.means,
        ...(last.rule === undefined ? {} : { number: last.rule }),
        ...(last.when === undefined ? {} : { when: last.when }),
      },
    }),
    calls,
    cost: costFor({ price }, { calls: calls - throttled, bill }),
    elapsedMs,
    isFromStore,
    answer,
    columns: columns.map(({ name, value }) => ({ name, value: textOfValue(value) })),
  };
}

const LONGEST_TEXT = 300;

/** The text of a value of an answer, for a cell of the page. */
export function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text;
}
