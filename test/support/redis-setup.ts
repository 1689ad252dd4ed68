import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { findRedisServer } from './redis.ts';

const HELP = `The tests need a Redis. Install one, or set REDIS_URL to one that is empty:
  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server
  macOS            brew install redis`;

/** Sees to it, before the first test, that there is a Redis to test with. */
export function setup(): void {
  if (findRedisServer() !== undefined) return;
  if (process.env['REDIS_URL']) {
    console.log(
      'There is no redis-server: tests use the one at REDIS_URL, and leave out what they cannot do to it.',
    );
    return;
  }
  if (!isDebian() || process.getuid?.() !== 0) throw new Error(HELP);
  console.log('There is no redis-server; installing the one of this distribution.');
  installRedis();
  if (findRedisServer() === undefined) throw new Error(HELP);
}

function isDebian(): boolean {
  const release = '/etc/os-release';
  return (
    existsSync(release) && /^ID(_LIKE)?=.*(debian|ubuntu)/m.test(readFileSync(release, 'utf8'))
  );
}

/** What keeps packages from starting their services while it says no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

function installRedis(): void {
  const hasPolicy = existsSync(SERVICE_POLICY);
  if (!hasPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'redis-server');
    stopService();
  } catch (error) {
    throw new Error(`Cannot install redis-server. ${HELP}`, { cause: error });
  } finally {
    if (!hasPolicy) rmSync(SERVICE_POLICY);
  }
}

function apt(...args: readonly string[]): void {
  execFileSync('apt-get', ['-q', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

/** The service that comes with the package is none of ours: it would start with the machine. */
function stopService(): void {
  if (!existsSync('/run/systemd/system')) return;
  execFileSync('systemctl', ['disable', '--now', 'redis-server'], { stdio: 'ignore' });
}
