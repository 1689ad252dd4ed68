import { z } from 'zod';
import type { Bill } from '../../collector/plan.ts';
import { costOf, costOfUnits, microsOf } from '../../common/format.ts';
import { keepSecret } from '../../common/secrets.ts';
import { createJob } from '../../options/api.ts';
import { readProfile, shippedProfiles } from '../../profile/read-profile.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { ON_PAGE } from '../../watch/words.ts';
import { type AppFolder, AppRefusal } from './folder.ts';

/** What is typed to connect: a profile, or an address. */
export const connectionRequest = z.object({
  profile: z.string().optional(),
  baseUrl: z.string().max(10_000).default(''),
  auth: z.string().max(1_000).default('none'),
  /** Left out or empty: the key that is known for the same API, if there is one. */
  apiKey: z.string().max(10_000).optional(),
  /** Whether to write the key to a file that only its owner can read. */
  keepKey: z.boolean().optional(),
  price: z.number().nonnegative().optional(),
});

/** An API as it is kept on the disk and in each run: never with its key. */
export interface SavedConnection {
  readonly kind: 'profile' | 'described' | 'sandbox';
  readonly title: string;
  readonly profile?: string | undefined;
  readonly baseUrl: string;
  readonly auth: string;
  readonly price?: number | undefined;
  readonly unit?: string | undefined;
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
  const saved = folder.readJson(FILE) as { readonly current?: SavedConnection } | undefined;
  let current = saved?.current;
  const kept = new Map(Object.entries((folder.readJson(KEY_FILE) ?? {}) as Record<string, string>));
  const keys = new Map(kept);
  for (const key of keys.values()) keepSecret(key);
  let sandbox: Promise<Sandbox> | undefined;

  async function use(connection: SavedConnection): Promise<void> {
    current = connection;
    if (kept.size === 0) await folder.remove(KEY_FILE);
    else await folder.writeJson(Object.fromEntries(kept), KEY_FILE);
    await folder.writeJson({ current }, FILE);
    onChange();
  }

  async function urlOfSandbox(): Promise<string> {
    sandbox ??= startSandbox({ ...REHEARSAL, port: 0 });
    return (await sandbox).url;
  }

  return {
    get current() {
      return current;
    },
    /**
     * The options of `enrich` that name an API.
     *
     * @throws AppRefusal `NO_CONNECTION` when there is none, or its key is not known any more
     */
    optionsOf: async (connection = current) => {
      if (!connection) {
        throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect, or rehearse.');
      }
      const { kind, profile: api, baseUrl, auth, price, title } = connection;
      if (kind === 'sandbox') {
        return { baseUrl: await urlOfSandbox(), auth: 'none', store: folder.at('rehearsal') };
      }
      const apiKey = keys.get(idOf(connection));
      if (auth !== 'none' && apiKey === undefined) {
        throw new AppRefusal(
          'NO_CONNECTION',
          `The key of ${title} is not known any more, as after a new start. Type it under Connect, then go on. Nothing was lost.`,
        );
      }
      return { api, baseUrl, auth, price, apiKey, store: folder.at('store') };
    },
    profiles: shippedProfiles().map((name) => {
      const { request, title = name, billing } = readProfile(name).content;
      return { name, title, needsKey: (request.auth ?? 'none') !== 'none', unit: billing?.unit };
    }),
    show: () => {
      if (!current) return null;
      const id = idOf(current);
      return { ...current, hasKey: keys.has(id), isKeyKept: kept.has(id) };
    },
    set: async (request: z.infer<typeof connectionRequest>): Promise<void> => {
      const chosen = readRequest(request);
      const id = idOf(chosen);
      const apiKey = request.apiKey?.trim() || keys.get(id);
      if (chosen.auth !== 'none' && apiKey === undefined) {
        throw new AppRefusal('INVALID_SETTING', `Type the key of ${chosen.title}.`);
      }
      keepSecret(apiKey);
      const { profile: api, baseUrl, auth, price } = chosen;
      const given = { api, baseUrl, auth, price, apiKey };
      createJob({ given, env: quietEnv(env), describe: nameSetting });
      if (apiKey !== undefined) keys.set(id, apiKey);
      if (request.keepKey === true && apiKey !== undefined) kept.set(id, apiKey);
      else kept.delete(id);
      await use(chosen);
    },
    /** Starts the sandbox, if it is not there yet, and takes it. */
    rehearse: async (): Promise<void> => {
      const baseUrl = await urlOfSandbox();
      await use({ kind: 'sandbox', title: 'Rehearsal', baseUrl, auth: 'none' });
    },
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
  sheet: 'the sheet',
};

function readRequest(request: z.infer<typeof connectionRequest>): SavedConnection {
  const { profile, price, auth } = request;
  if (profile !== undefined) {
    if (!shippedProfiles().includes(profile)) {
      throw new AppRefusal('INVALID_SETTING', 'There is no such profile: choose one of the list.');
    }
    const { content, api } = readProfile(profile);
    const { title = profile, request: how } = content;
    const named = { title, baseUrl: how.baseUrl, auth: how.auth ?? 'none' };
    return { kind: 'profile', profile, ...named, price, unit: api.billing?.unit };
  }
  const baseUrl = request.baseUrl.trim();
  if (!URL.canParse(baseUrl)) {
    throw new AppRefusal(
      'INVALID_SETTING',
      'Type the whole address of the API, such as https://api.example.com, or choose a service.',
    );
  }
  return { kind: 'described', title: new URL(baseUrl).host, baseUrl, auth, price };
}

/** Tells apart what keys belong to: a key goes only to the address that it was typed for. */
function idOf({ profile, baseUrl, auth }: SavedConnection): string {
  return [profile ?? '', baseUrl, auth].join(' ').trim();
}

/** The variable that holds the key on a command line; undefined where none is needed. */
export function keyVariableOf({ profile, auth }: SavedConnection): string | undefined {
  if (auth === 'none') return undefined;
  const own = profile === undefined ? undefined : readProfile(profile).content.request.apiKeyEnv;
  return own ?? 'BRANDFILL_API_KEY';
}

/** What calls or units cost, as far as it is known. */
export function costFor(price: number | undefined, calls: number, bill?: Bill): Cost {
  if (price === undefined) return { ...bill };
  const money = bill ? costOfUnits(microsOf(bill.units) ?? 0, price) : costOf(calls, price);
  return { ...bill, money };
}
