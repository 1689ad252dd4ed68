import { createHash, randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AppFolder } from '../app/folder.ts';
import { BrandfillError } from '../common/errors.ts';
import { PRIVATE } from '../common/files.ts';
import { type Closable, createCloser } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import { APP_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { libraryNaming, type OptionKinds, readOptions } from '../options/read-options.ts';
import type { Listener, Routes } from '../web/listener.ts';

/** Options of the app. */
export interface AppOptions extends OptionsOf<typeof APP_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** The token that viewers need, if others can reach the page. @default BRANDFILL_APP_TOKEN */
  readonly token?: string | undefined;
}

/** The app, as long as it runs. */
export interface RunningApp extends Closable {
  /** Opens the page and signs in. It works once. */
  readonly address: string;
  /** The same without signing in. */
  readonly url: string;
  /** Where lists, results and answers are. */
  readonly folder: string;
  /** Whether another process has the app of this folder already. Closing then does nothing. */
  readonly isElsewhere: boolean;
}

const DEFAULT_PORT = 4_180;
const MOST_CODES = 100;
/** A note for others who start the app of this folder: where it is, and how to ask for an address. */
const NOTE = 'app.json';

/**
 * Starts a page that does what `enrich` does, for people without a terminal. Where another process
 * has the app of this folder, that one is asked for a new address instead.
 *
 * @throws BrandfillError when an option or the folder cannot be used
 *
 * @example
 * ```ts
 * const app = await startApp({ dir: 'lists', port: 0 });
 * console.log(app.address);
 * ```
 */
export async function startApp(
  options: AppOptions = {},
  describe: (key: string) => string = libraryNaming,
): Promise<RunningApp> {
  const known = { of: 'startApp', declared: APP_OPTIONS, others: OTHERS, describe };
  const {
    dir,
    port,
    host,
    tokenFile,
    allowHost = [],
    trustedProxy = [],
  } = readOptions(options, known);
  const listen = { host, port: port ?? DEFAULT_PORT };
  // Loaded here, so that programs that have no page need not wait for it.
  const { createAccess, readToken } = await import('../web/access.ts');
  const { openAppFolder } = await import('../app/folder.ts');
  const { lockOutput } = await import('../collector/output/output-lock.ts');
  const given = readToken(
    {
      token: options.token,
      tokenFile,
      env: process.env,
      describe: (key) => describe(key === 'listen' ? 'host' : key),
      page: { name: 'the page', variable: 'BRANDFILL_APP_TOKEN' },
    },
    listen,
  );
  const folder = openAppFolder(resolve(dir ?? join(homedir(), 'Brandfill')));
  const closer = createCloser();
  try {
    const lock = await lockOutput(folder.at('app'), {
      advice: 'use its page',
      mode: PRIVATE.mode,
    }).catch(async (error: unknown) => {
      if (!(error instanceof BrandfillError) || error.code !== 'OUTPUT_IN_USE') throw error;
      return await askOther(folder, describe('dir'));
    });
    if ('address' in lock) return lock;
    closer.add({ close: async () => lock.release() });
    const token = given ?? randomBytes(24).toString('base64url');
    keepSecret(token);
    const codes = new Set<string>();
    const makeCode = (): string => {
      const code = randomBytes(24).toString('base64url');
      codes.add(code);
      const [oldest] = codes;
      if (codes.size > MOST_CODES && oldest !== undefined) codes.delete(oldest);
      return code;
    };
    const { openApp } = await import('../app/app.ts');
    const { createAppPage, readAppAssets } = await import('../web/app/routes.ts');
    const { createAddressFinder, createHostCheck } = await import('../web/listener.ts');
    const model = closer.add(await openApp({ folder, env: process.env }));
    const page = createAppPage({
      model,
      access: createAccess({ token, cookieName: cookieNameOf(folder.path) }),
      assets: await readAppAssets(),
      addressOf: createAddressFinder(trustedProxy),
      checkHost: createHostCheck(allowHost, describe('allowHost')),
      makeCode,
      takeCode: (code) => codes.delete(code),
    });
    const listener = closer.add(
      await listenAt({ ...listen, isChosen: port !== undefined }, page.routes, describe('port')),
    );
    closer.add(page); // closed first: the server waits for its viewers
    const url = reachable(listener.url);
    await folder.writeJson({ url, token }, NOTE);
    closer.add({ close: async () => await folder.remove(NOTE) });
    return {
      address: `${url}/enter?code=${makeCode()}`,
      url,
      folder: folder.path,
      isElsewhere: false,
      close: async () => await closer.close(),
    };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

/** On the port that was chosen, or else on any, if the usual one is taken. */
async function listenAt(
  {
    host,
    port,
    isChosen,
  }: { readonly host: string; readonly port: number; readonly isChosen: boolean },
  routes: Routes,
  label: string,
): Promise<Listener> {
  const { openListener } = await import('../web/listener.ts');
  const options = { host, routes: [routes], label };
  try {
    return await openListener({ ...options, port });
  } catch (error) {
    if (isChosen) throw error;
    return await openListener({ ...options, port: 0 });
  }
}

/** An address that a browser on this machine can open. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Cookies know no ports, so the apps of two folders need names of their own. */
function cookieNameOf(folder: string): string {
  return `brandfill_app_${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
}

/** Asks the app that has this folder for an address. */
async function askOther(folder: AppFolder, label: string): Promise<RunningApp> {
  const note = folder.readJson(NOTE) as
    | { readonly url: string; readonly token: string }
    | undefined;
  try {
    if (!note) throw new Error('it is starting or ending');
    const { url, token } = note;
    keepSecret(token);
    const response = await fetch(`${url}/api/address`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, origin: url },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const { code } = (await response.json()) as { readonly code: string };
    if (typeof code !== 'string') throw new Error('it gives no address');
    const address = `${url}/enter?code=${code}`;
    return { address, url, folder: folder.path, isElsewhere: true, close: async () => {} };
  } catch (error) {
    throw new BrandfillError(
      'OUTPUT_IN_USE',
      `Cannot use ${folder.path}: another Brandfill app has it and does not answer; wait a moment and start again, end the other one, or choose another folder with ${label}.`,
      { cause: error },
    );
  }
}

const ANSWER_MS = 5_000;

const OTHERS: OptionKinds<BesideSettings> = { token: 'text' };
