import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { BrandfillError, refusal } from '../../common/errors.ts';
import { PRIVATE } from '../../common/files.ts';
import { aborted, type Closable, type Closer, createCloser } from '../../common/lifetime.ts';
import { keepSecret } from '../../common/secrets.ts';
import { file, flag, listen } from '../../options/kinds.ts';
import { option, type SettingsOf, under } from '../../options/option.ts';
import { flagOf, STATUS_OPTIONS } from '../../options/options.ts';
import type { WayIn } from '../../page/app/app.ts';
import type { AppFolder } from '../../page/app/folder.ts';
import type { Routes } from '../../page/listener.ts';
import { own } from '../../store/owner.ts';
import { defineCommand, say, untilInterrupted } from './command.ts';

const APP_OPTIONS = {
  ...under('Files', {
    dir: option(file('DIR'), {
      env: 'BRANDFILL_APP_DIR',
      help: 'folder for lists, results and answers (default: Brandfill in your home folder)',
    }),
  }),
  ...under('Page and metrics', {
    listen: option(listen(), {
      help: 'address of the page; with a HOST others can reach it, with a token (default: 4180, or any port that is free)',
    }),
    allowHost: STATUS_OPTIONS.allowHost,
    noOpen: option(flag(), { help: 'print the address, and do not open the browser' }),
  }),
};

const USUAL = { host: '127.0.0.1', port: 4_180 };
const ADDRESS_MS = 600_000;
const FILE_MS = 10_000;
const ANSWER_MS = 5_000;
/**
 * A note for others who start the app of this folder: where it is, and how to ask for an address.
 */
const NOTE = 'app.json';

/**
 * `brandfill app`: a page that does what `enrich` does, for people without a terminal. Where
 * another process has the app of this folder, that one is asked for a new address instead.
 */
export const app = defineCommand(APP_OPTIONS, async ({ settings, context }) => {
  const { openAppFolder } = await import('../../page/app/folder.ts');
  const folder = await openAppFolder(resolve(settings.dir ?? join(homedir(), 'Brandfill')));
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const closer = createCloser();
    try {
      const lock = await takeFolder(folder);
      const entry = lock ? await startApp(settings, folder, closer, lock) : askOther(folder);
      const isOpened = !settings.noOpen && hasDisplay() && openBrowser(await entry.wayIn('file'));
      const address = isOpened ? entry.url : await entry.wayIn('address');
      if (lock) say(`Brandfill is on ${address}`);
      else say(`Brandfill runs already for ${folder.path}, on ${address}`);
      if (!isOpened) say('Open this address in a browser. It works once, for ten minutes.');
      if (!lock) return;
      say(`Lists, results and answers are in ${folder.path}.`);
      say('Ctrl-C ends it. To go on with a run that it ends, start again and press Go on.');
      await aborted(signal);
    } finally {
      await closer.close();
    }
  });
});

/** How somebody gets to the page of an app that runs. */
interface Entry {
  readonly url: string;
  readonly wayIn: (as: WayIn) => Promise<string>;
}

async function startApp(
  { listen, allowHost = [] }: SettingsOf<typeof APP_OPTIONS>,
  folder: AppFolder,
  closer: Closer,
  lock: Closable,
): Promise<Entry> {
  closer.add(lock);
  // Loaded here, so that the help need not wait for it.
  const { createAccess, readToken } = await import('../../page/access.ts');
  const { enrichJob, planJob, sampleJob } = await import('../../api/enrich.ts');
  const { openApp } = await import('../../page/app/app.ts');
  const { createHostCheck, openListener } = await import('../../page/listener.ts');
  const address = listen ?? USUAL;
  const page = { name: 'the page', variable: 'BRANDFILL_APP_TOKEN' };
  const given = readToken(address, undefined, page);
  const token = given ?? randomBytes(24).toString('base64url');
  keepSecret(token);
  const access = createAccess({ token, cookieName: cookieNameOf(folder.path) });
  let url = '';
  const wayIn = async (as: WayIn): Promise<string> =>
    as === 'file'
      ? await makeSignInFile(folder, url, access.makeCode(FILE_MS), closer)
      : `${url}/enter?code=${access.makeCode(ADDRESS_MS)}`;
  const app = await openApp({
    folder,
    library: { planJob, sampleJob, enrichJob },
    access,
    wayIn,
  });
  const ours = { hostname: address.host.toLowerCase(), port: undefined };
  const routes: Routes = (server) => {
    server.use(createHostCheck([...allowHost, ours], flagOf('allowHost')));
    app.routes(server);
  };
  const options = { ...address, routes: [routes] };
  const opening = openListener(options).catch((error: unknown) => {
    if (listen) throw error;
    return openListener({ ...options, port: 0 }); // the usual port is taken
  });
  const listener = closer.add(await opening);
  closer.add(app); // closed first: the server waits for its viewers
  url = reachable(listener.url);
  await folder.writeJson({ url, token }, NOTE);
  closer.add({ close: async () => await folder.remove(NOTE) });
  return { url, wayIn };
}

/** Undefined when another process has the folder. */
async function takeFolder({ path }: AppFolder): Promise<Closable | undefined> {
  try {
    const owned = await own(path);
    return { close: () => owned.release() };
  } catch (error) {
    if (error instanceof BrandfillError && error.code === 'STORE_IN_USE') return undefined;
    throw error;
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

/** Asks the app that has this folder for a way in. It throws BrandfillError `INVALID_SETTING`. */
function askOther(folder: AppFolder): Entry {
  const note = folder.readJson(NOTE) as
    | { readonly url: string; readonly token: string }
    | undefined;
  const { url = '', token = '' } = note ?? {}; // none while it starts or ends
  keepSecret(token || undefined);
  return {
    url,
    wayIn: async (as) => {
      try {
        const response = await fetch(`${url}/api/way-in/${as}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, origin: url },
          signal: AbortSignal.timeout(ANSWER_MS),
        });
        const { way } = (await response.json()) as { readonly way: string };
        return way;
      } catch {
        throw refusal(
          `Cannot use ${folder.path}: another Brandfill app has it and does not answer; wait a moment and start again, end the other one, or choose another folder with ${flagOf('dir')}.`,
        );
      }
    },
  };
}

/**
 * Writes a private file that signs in when it is opened within ten seconds, and is removed then, or
 * when the app ends. An address in the arguments of a program would be seen by every account of the
 * machine.
 */
async function makeSignInFile(
  folder: AppFolder,
  url: string,
  code: string,
  closer: Closer,
): Promise<string> {
  const { signInFile } = await import('../../page/assets.ts');
  const path = folder.at(`open-${randomBytes(6).toString('hex')}.html`);
  writeFileSync(path, await signInFile(url, code), { mode: PRIVATE.mode, flag: 'wx' });
  const remove = (): void => rmSync(path, { force: true });
  setTimeout(remove, FILE_MS).unref();
  closer.add({ close: async () => remove() });
  return path;
}

/** Whether there is a screen that a browser could appear on. */
function hasDisplay(): boolean {
  const { platform, env } = process;
  return platform === 'darwin' || Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY']);
}

/** Opens a file in the browser of the user. If that fails, `--no-open` has the address printed. */
function openBrowser(path: string): true {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(opener, [path], { stdio: 'ignore', detached: true });
  child.on('error', () => say('No browser could be opened: start again with --no-open.'));
  child.unref();
  return true;
}
