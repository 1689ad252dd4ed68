import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { inContainer, whyNoContainers } from '../integration/support/containers.ts';
import { isLeftOut } from '../support/left-out.ts';
import { freePort } from '../support/redis.ts';

const dockerfile = readFileSync('Dockerfile', 'utf8');

it('the image is built of nothing that .dockerignore leaves out', () => {
  const lines = readFileSync('.dockerignore', 'utf8').split('\n');
  const kept = new Set(lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : [])));
  const copied = dockerfile
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !kept.has(path))).toEqual([]);
});

describe.skipIf(isLeftOut(whyNoContainers()))('the health check of the image', () => {
  const [, check = '[]'] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  /** Serves HTTP on its first argument, if that is a port, and ends as the health check did. */
  const process1 = `
    const [port] = process.argv.slice(1);
    const { spawn } = require('node:child_process');
    const [command, ...args] = ${check};
    const look = () => spawn(command, args, { stdio: 'inherit' }).on('exit', (code) => process.exit(code));
    if (Number(port)) require('node:http').createServer((_, reply) => reply.end()).listen(port, look);
    else look();`;

  test.each<[string, (port: number) => readonly string[], number]>([
    [
      'is content with a process that answers',
      (port) => [`${port}`, `--listen=0.0.0.0:${port}`],
      0,
    ],
    ['is content with one that serves nothing', () => ['no', 'enrich', 'list.csv'], 0],
    ['is not with one that does not answer any more', (port) => ['no', '--port', `${port}`], 1],
  ])('%s', async (_, argsFor, code) => {
    const command = ['node', '-e', process1, ...argsFor(await freePort())];
    const [program = '', ...args] = inContainer('image', command);
    expect(spawnSync(program, args, { encoding: 'utf8' })).toMatchObject({
      status: code,
      stderr: '',
    });
  });
});

type Service = Partial<Record<'command' | 'entrypoint', readonly string[]>>;

test.each([
  ['redis', 'command', 'REDISCLI_AUTH', 'set REDIS_PASSWORD'],
  ['grafana', 'entrypoint', 'GF_SECURITY_ADMIN_PASSWORD', 'set GRAFANA_PASSWORD'],
] as const)('docker compose starts no %s without a password', (name, key, variable, said) => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8')) as {
    services: Record<string, Service>;
  };
  const script = services[name]?.[key]?.at(-1)?.replaceAll('$$', '$') ?? '';
  const { status, stderr } = spawnSync('/bin/sh', ['-c', script], {
    encoding: 'utf8',
    env: { PATH: '', [variable]: '' },
  });
  expect(status).not.toBe(0);
  expect(stderr).toContain(said);
});
