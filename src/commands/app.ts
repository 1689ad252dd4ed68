import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { BrandfillError, EXIT, systemErrorCode } from '../common/errors.ts';
import { PRIVATE } from '../common/files.ts';
import { aborted, type Closable, createCloser } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import { type APP_FLAGS, APP_OPTIONS } from '../options/command-options.ts';
import { secret } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf, readOptions } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import type { AppFolder } from '../page/app/folder.ts';
import type { Listener, Routes } from '../page/listener.ts';
import { type RunCommand, say, untilInterrupted } from './command.ts';

const APP = {
  ...APP_OPTIONS,
  /** The token that viewers need, if others can reach the page. @default BRANDFILL_APP_TOKEN */
  token: secret(),
};

/** Options of the app. */
export interface AppOptions extends OptionsOf<typeof APP> {}

/** The app, as long as it runs. */
export interface RunningApp extends Closable {
  /** Opens the page and signs in. It works once, for ten minutes. */
  readonly address: string;
  /** The same without signing in. */
  readonly url: string;
  /** Where lists, results and answers are. */
  readonly folder: string;
  /** Whether another process has the app of this folder already. Closing then does nothing. */
  readonly isElsewhere: boolean;
  /**
   * Writes a private file that signs in when it is opened within ten seconds, and is removed then. An
   * address in the arguments of a program would be seen by every account of the machine.
   */
  makeFile(): Promise<string>;
}

const DEFAULT_PORT = 4_180;
const ADDRESS_MS = 600_000;
const FILE_MS = 10_000;
const ANSWER_MS = 5_000;
/** A note for others who start the app of this folder: where it is, and how to ask for an address. */
const NOTE = 'app.json';
/** Made by the process that has the folder. */
const LOCK = 'app.lock';

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
  const settings = readOptions('startApp', APP, { given: options, describe });
  const { dir, port, host, allowHost = [] } = settings;
  const listen = { host, port: port ?? DEFAULT_PORT };
  // Loaded here, so that programs that have no page need not wait for it.
  const { createAccess, readToken } = await import('../page/access.ts');
  const { openAppFolder } = await import('../page/app/folder.ts');
  const given = readToken(
    {
      token: options.token,
      env: process.env,
      describe: (key) => describe(key === 'listen' ? 'host' : key),
      page: { name: 'the page', variable: 'BRANDFILL_APP_TOKEN' },
    },
    listen,
  );
  const folder = openAppFolder(resolve(dir ?? join(homedir(), 'Brandfill')));
  const closer = createCloser();
  try {
    const lock = takeFolder(folder) ?? (await askOther(folder, describe('dir')));
    if ('isElsewhere' in lock) return lock as RunningApp;
    closer.add(lock);
    const token = given ?? randomBytes(24).toString('base64url');
    keepSecret(token);
    const { openApp } = await import('../page/app/app.ts');
    const { addressOf, createHostCheck } = await import('../page/listener.ts');
    const access = createAccess({
      token,
      cookieName: cookieNameOf(folder.path),
      addressOf,
    });
    const app = await openApp({ folder, env: process.env, access });
    const ours = { hostname: host.toLowerCase(), port: undefined };
    const checkHost = createHostCheck([...allowHost, ours], describe('allowHost'));
    const routes: Routes = (server) => {
      server.use(checkHost);
      app.routes(server);
    };
    const listener = closer.add(
      await listenAt({ ...listen, isChosen: port !== undefined }, routes, describe('port')),
    );
    closer.add(app); // closed first: the server waits for its viewers
    const url = reachable(listener.url);
    await folder.writeJson({ url, token }, NOTE);
    closer.add({ close: async () => await folder.remove(NOTE) });
    return {
      ...entryOf(folder, url, (lifeMs) => access.makeCode(lifeMs)),
      isElsewhere: false,
      close: async () => await closer.close(),
    };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

function entryOf(
  folder: AppFolder,
  url: string,
  makeCode: (lifeMs: number) => string,
): Omit<RunningApp, 'isElsewhere' | 'close'> {
  return {
    url,
    folder: folder.path,
    get address() {
      return `${url}/enter?code=${makeCode(ADDRESS_MS)}`;
    },
    makeFile: async () => {
      const { signInFile } = await import('../page/assets.ts');
      const path = folder.at(`open-${randomBytes(6).toString('hex')}.html`);
      writeFileSync(path, signInFile(url, makeCode(FILE_MS)), { mode: PRIVATE.mode, flag: 'wx' });
      setTimeout(() => rmSync(path, { force: true }), FILE_MS).unref();
      return path;
    },
  };
}

/** Undefined when another process that lives has the folder. */
function takeFolder(folder: AppFolder): Closable | undefined {
  const path = folder.at(LOCK);
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      writeFileSync(path, String(process.pid), { mode: PRIVATE.mode, flag: 'wx' });
      return { close: async () => rmSync(path, { force: true }) };
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
      if (isAlive(Number(folder.readJson(LOCK)))) return undefined;
      rmSync(path, { force: true });
    }
  }
  return undefined;
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === 'EPERM';
  }
}

/** On the port that was chosen, or else on any, if the usual one is taken. */
async function listenAt(
  address: { readonly host: string; readonly port: number; readonly isChosen: boolean },
  routes: Routes,
  label: string,
): Promise<Listener> {
  const { host, port, isChosen } = address;
  const { openListener } = await import('../page/listener.ts');
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
  try {
    const note = folder.readJson(NOTE) as { readonly url: string; readonly token: string };
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
    return { ...entryOf(folder, url, () => code), isElsewhere: true, close: async () => {} };
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot use ${folder.path}: another Brandfill app has it and does not answer; wait a moment and start again, end the other one, or choose another folder with ${label}.`,
      { cause: error },
    );
  }
}

/** `brandfill app` */
export const runApp: RunCommand<typeof APP_FLAGS> = async ({ options, flags, context }) =>
  await untilInterrupted(context.endAtOnce, async (signal) => {
    const app = await startApp(options, flagOf);
    const { url, folder, isElsewhere } = app;
    try {
      const isOpened = !flags.noOpen && hasDisplay() && openBrowser(await app.makeFile());
      say(
        isElsewhere
          ? `Brandfill runs already for ${folder}, on ${url}`
          : `Brandfill is on ${isOpened ? url : app.address}`,
      );
      if (!isOpened && isElsewhere) say(`An address that works once: ${app.address}`);
      else if (!isOpened) say('Open this address in a browser. It works once, for ten minutes.');
      if (isElsewhere) return EXIT.ok;
      say(`Lists, results and answers are in ${folder}.`);
      say(
        'Ctrl-C ends it. A run that goes on then goes on at the next start, and pays nothing twice.',
      );
      await aborted(signal);
      return EXIT.ok;
    } finally {
      await app.close();
    }
  });

/** Whether there is a screen that a browser could appear on. */
function hasDisplay(): boolean {
  const { platform, env } = process;
  if (platform === 'win32' || platform === 'darwin') return true;
  return Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY']);
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  darwin: ['open'],
};

/** Opens a file in the browser of the user. If that fails, `--no-open` has the address printed. */
function openBrowser(path: string): true {
  const [file, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(file, [...args, path], { stdio: 'ignore', detached: true });
  child.on('error', () => say('No browser could be opened: start again with --no-open.'));
  child.unref();
  return true;
}
