import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getRedis, type RedisSource } from './get-redis.ts';

interface Machine {
  /** The programs that it has. */
  readonly has: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly isRoot?: boolean;
  /** What the package manager brings. */
  readonly brings?: readonly string[];
  /** Commands that fail, by how they begin. */
  readonly fails?: readonly string[];
}

/** Gets a Redis there; resolves with what it is, what was said, and what was run. */
async function getThere({ has, env = {}, isRoot = false, brings = [], fails = [] }: Machine) {
  const there = new Set(has);
  const said: string[] = [];
  const ran: string[] = [];
  const source = await getRedis({
    env,
    isRoot,
    say: (line) => said.push(line),
    find: (names) => names.map((name) => `/bin/${name}`).find((path) => there.has(basename(path))),
    run: async (command, args) => {
      const line = [basename(command), ...args].join(' ');
      ran.push(line);
      if (fails.some((start) => line.startsWith(start))) throw new Error('no network\nat all');
      for (const name of / (install|add) /.test(line) ? brings : []) there.add(name);
      if (args[0] === 'port') return '127.0.0.1:40001\n[::1]:40001\n';
      return 'f00\n';
    },
  });
  return { source, said, ran };
}

describe('a Redis for the tests', () => {
  const APT = 'apt-get install -qq -y --no-install-recommends redis-tools';
  const ALL = ['redis-server', 'apt-get', 'docker'];
  const NAMED = { BRANDFILL_TEST_REDIS: 'redis://:secret@localhost:7000/3' };

  it.each(
    Object.entries<[Machine, RedisSource, string]>({
      'that is installed': [
        { has: ALL, env: NAMED, isRoot: true },
        { program: '/bin/redis-server' },
        'uses /bin/redis-server',
      ],
      'that is installed as Valkey': [
        { has: ['valkey-server'] },
        { program: '/bin/valkey-server' },
        'uses /bin/valkey-server',
      ],
      'that runs, without its password': [
        { has: ['apt-get'], env: NAMED, isRoot: true },
        { url: NAMED.BRANDFILL_TEST_REDIS },
        'uses the one at localhost:7000, which BRANDFILL_TEST_REDIS names',
      ],
      'from Alpine': [
        { has: ['apk'], isRoot: true, brings: ['redis-server'] },
        { program: '/bin/redis-server' },
        'none is installed; installs one: apk add --quiet redis',
      ],
      'from Fedora': [
        { has: ['dnf', 'docker'], isRoot: true, brings: ['valkey-server'] },
        { program: '/bin/valkey-server' },
        'none is installed; installs one: dnf install --quiet -y /usr/bin/redis-server',
      ],
      'from Debian, whose lists are old': [
        { has: ['apt-get'], isRoot: true, brings: ['redis-server'], fails: ['apt-get update'] },
        { program: '/bin/redis-server' },
        `none is installed; installs one: ${APT}`,
      ],
      'as on a new machine': [
        { has: ALL, env: { ...NAMED, BRANDFILL_TEST_FRESH: '1' }, isRoot: true },
        { program: '/bin/redis-server' },
        `none is installed; installs one: ${APT}`,
      ],
    }),
  )('%s', async (_, [machine, source, line]) => {
    expect(await getThere(machine)).toMatchObject({ source, said: [line] });
  });

  it('is never installed by somebody who is not root, but runs in a container that ends', async () => {
    const { source, said, ran } = await getThere({ has: ['apt-get', 'sudo', 'podman'] });
    expect(source?.url).toBe('redis://127.0.0.1:40001');
    expect(said).toEqual([
      expect.stringMatching(/^none is installed; starts a container of \S+ with \/bin\/podman$/),
    ]);
    await source?.close?.();
    expect(ran.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'podman info',
      'podman run',
      'podman port',
      'podman kill',
    ]);
    expect(ran.at(-1)).toBe('podman kill f00');
  });

  it('that fails to come by one way comes by the next, or not at all, each said in a line', async () => {
    const fails = ['apt-get', 'docker run', 'npm'];
    const { source, said } = await getThere({ has: ['apt-get', 'docker'], isRoot: true, fails });
    expect(source).toBeUndefined();
    expect(said.slice(0, 4)).toEqual([
      `none is installed; installs one: ${APT}`,
      'that failed: no network',
      expect.stringContaining('starts a container'),
      'that failed: no network',
    ]);
  });

  it('is not looked for in a container engine that does not run', async () => {
    const { said } = await getThere({ has: ['docker'], fails: ['docker info', 'npm'] });
    expect(said.join('\n')).not.toContain('container');
  });
});
