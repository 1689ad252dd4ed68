import { z } from 'zod';
import { keepSecret } from '../../common/secrets.ts';
import { createJob, type Job } from '../../profile/job.ts';
import { readProfile, shippedProfiles } from '../../profile/read-profile.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { refused } from '../access.ts';
import type { AppFolder } from './folder.ts';

/** Stands for a profile: made-up answers of this computer. */
const REHEARSAL = 'rehearsal';

/** What is typed to connect. What the options of a run do not take is refused in their words. */
export const connectionRequest = z.object({
  /** A profile by its name, or `rehearsal`; empty for an API that is described. */
  api: z.string().max(100).default(''),
  baseUrl: z.string().trim().max(10_000).default(''),
  auth: z.string().max(1_000).default('none'),
  /** Left out or empty: the key that is known for the same API, if there is one. */
  apiKey: z.string().trim().max(10_000).optional(),
  /** Whether to write the key to a file that only its owner can read. */
  keepKey: z.boolean().optional(),
  /** As `--price` has it, such as `0.01 EUR`. */
  price: z.string().trim().max(100).optional(),
});

/** An API as it is kept on the disk, and with each run: never with its key. */
export interface SavedConnection
  extends Pick<z.infer<typeof connectionRequest>, 'api' | 'baseUrl' | 'auth' | 'price'> {
  readonly title: string;
  readonly isRehearsal: boolean;
  /** What it bills, if its profile says so. */
  readonly unit?: string | undefined;
}

const FILE = 'api.json';
/** Kept apart from all else, so that it can be deleted alone. */
const KEY_FILE = 'keys.json';
/** A rehearsal should look like the real thing and not take long. */
const SANDBOX = { latencyMs: { fromMs: 20, toMs: 90 }, notFound: 0.08, seed: 1, port: 0 } as const;

export type Connections = ReturnType<typeof openConnections>;

/** The API in use, and the keys that are known. */
export function openConnections(folder: AppFolder, onChange: () => void) {
  let current = folder.readJson(FILE) as SavedConnection | undefined;
  const kept = new Map(Object.entries((folder.readJson(KEY_FILE) ?? {}) as Record<string, string>));
  const keys = new Map(kept);
  for (const key of keys.values()) keepSecret(key);
  let sandbox: Promise<Sandbox> | undefined;

  return {
    get current() {
      return current;
    },
    /**
     * The options of `enrich` that name an API.
     *
     * @throws HTTPException 409 when there is none, or its key is not known any more
     */
    optionsOf: async (connection = current) => {
      if (!connection) throw refused(409, 'Choose an API first, under Connect, or rehearse.');
      const { isRehearsal, title, auth } = connection;
      if (isRehearsal) {
        sandbox ??= startSandbox(SANDBOX);
        return { baseUrl: (await sandbox).url, store: folder.at('rehearsal') };
      }
      const apiKey = keys.get(idOf(connection));
      if (auth !== 'none' && apiKey === undefined) {
        throw refused(
          409,
          `The key of ${title} is not known any more, as after a new start. Type it under Connect, then go on. Nothing was lost.`,
        );
      }
      return { ...settingsOf(connection), apiKey, store: folder.at('store') };
    },
    profiles: shippedProfiles().map((name) => {
      const { title, auth, unit } = readConnection({ api: name, baseUrl: '', auth: '' });
      const { note = '', triedLive, asOf } = readProfile(name).content;
      const tried = `Written from its documentation of ${asOf}; not tried against the live service.`;
      const about = `${note} ${triedLive ? '' : tried}`.trim();
      return { name, title, needsKey: auth !== 'none', unit, about };
    }),
    show: () => {
      if (!current) return null;
      const id = idOf(current);
      return { ...current, hasKey: keys.has(id), isKeyKept: kept.has(id) };
    },
    set: async ({ apiKey: typed, keepKey, ...request }: z.infer<typeof connectionRequest>) => {
      const chosen = readConnection(request);
      const id = idOf(chosen);
      const apiKey = typed || keys.get(id);
      if (!chosen.isRehearsal) {
        if (chosen.auth !== 'none' && apiKey === undefined)
          throw refused(422, `Type the key of ${chosen.title}.`);
        keepSecret(apiKey);
        jobOnPage({ ...settingsOf(chosen), apiKey });
      }
      if (apiKey !== undefined) keys.set(id, apiKey);
      if (keepKey === true && apiKey !== undefined) kept.set(id, apiKey);
      else kept.delete(id);
      if (kept.size === 0) await folder.remove(KEY_FILE);
      else await folder.writeJson(Object.fromEntries(kept), KEY_FILE);
      await folder.writeJson(chosen, FILE);
      current = chosen;
      onChange();
    },
    close: async (): Promise<void> => await (await sandbox)?.close(),
  };
}

/** A job of what the person at the page chose, and of nothing that the environment says besides. */
export function jobOnPage(given: object): Job {
  const quiet = Object.entries(process.env).filter(([name]) => !name.startsWith('BRANDFILL_'));
  return createJob({ given, env: Object.fromEntries(quiet) });
}

function readConnection({
  api,
  baseUrl,
  auth,
  price,
}: Omit<SavedConnection, 'title' | 'isRehearsal'>): SavedConnection {
  if (api === REHEARSAL) {
    return { api, title: 'Rehearsal', isRehearsal: true, baseUrl: '', auth: 'none' };
  }
  if (api === '') {
    const title = URL.canParse(baseUrl) ? new URL(baseUrl).host : 'the API';
    return { api, title, isRehearsal: false, baseUrl, auth, price };
  }
  if (!shippedProfiles().includes(api))
    throw refused(422, 'There is no such profile: choose one of the list.');
  const { title = api, request, billing } = readProfile(api).content;
  const known = { baseUrl: request.baseUrl, auth: request.auth ?? 'none', unit: billing?.unit };
  return { api, title, isRehearsal: false, ...known, price };
}

/** As options of `enrich`. */
export function settingsOf({ api, baseUrl, auth, price }: SavedConnection) {
  return { api: api || undefined, baseUrl, auth, price: price || undefined };
}

/** Tells apart what keys belong to: a key goes only to the address that it was typed for. */
function idOf({ api, baseUrl, auth }: SavedConnection): string {
  return [api, baseUrl, auth].join(' ').trim();
}

/** The variable that holds the key on a command line; undefined where none is needed. */
export function keyVariableOf({ api, auth }: SavedConnection): string | undefined {
  if (auth === 'none') return undefined;
  const own = api === '' ? undefined : readProfile(api).content.request.apiKeyEnv;
  return own ?? 'BRANDFILL_API_KEY';
}
