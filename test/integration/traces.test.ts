import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOOKUPS_JOB, LOOKUPS_QUEUE, QUEUE_OPTIONS } from '../../src/queue/bullmq/names.ts';
import { findRedisServer, useRedis } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { run, start } from './support/command.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { terminate } from './support/schedules.ts';
import { domains, listOf } from './support/tables.ts';

const hasRedis = findRedisServer() !== undefined;
if (!hasRedis) console.log('Left out: traces.test.ts, because there is no Redis server.');

/** Writes which modules of OpenTelemetry a process has loaded when it ends. */
const SPY = `
const { Module } = require('node:module');
const { appendFileSync } = require('node:fs');
process.on('exit', () => {
  const all = Object.keys(require.cache).filter((path) => /opentelemetry|bullmq-otel/.test(path));
  appendFileSync(process.env.SPY_FILE, all.map((path) => path + '\\n').join(''));
});
`;

function spyEnv(folder: Folder): Readonly<Record<string, string>> {
  folder.write('loaded.txt', '');
  const spy = folder.write('spy.cjs', SPY);
  return { NODE_OPTIONS: `--require ${spy}`, SPY_FILE: folder.at('loaded.txt') };
}

/** A Node.js in which one package was never installed. */
function withoutPackage(folder: Folder, name: string): string {
  const hook = `export async function resolve(specifier, context, next) {
    if (specifier !== '${name}') return await next(specifier, context);
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  }`;
  const url = `data:text/javascript,${encodeURIComponent(hook)}`;
  const script = `import { register } from 'node:module';\nregister(${JSON.stringify(url)});\n`;
  return `--import ${folder.write('without.mjs', script)}`;
}

/** What an id of a trace begins with in the encoding: the number of the field, and its length. */
const BEFORE_TRACE_ID = Buffer.from([0x0a, 16]);
/** What comes after it: the id of the span. */
const BEFORE_SPAN_ID = Buffer.from([0x12, 8]);

/** Ids of the traces in what a process sent. */
function traceIdsIn(bodies: readonly Buffer[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const body of bodies) {
    for (let at = body.indexOf(BEFORE_TRACE_ID); at >= 0; ) {
      const end = at + BEFORE_TRACE_ID.length + 16;
      const id = body.subarray(at + BEFORE_TRACE_ID.length, end);
      if (body.subarray(end, end + 2).equals(BEFORE_SPAN_ID)) ids.add(id.toString('hex'));
      at = body.indexOf(BEFORE_TRACE_ID, at + 1);
    }
  }
  return ids;
}

async function openCollector() {
  const received = new Map<string, Buffer[]>();
  const { url } = await openServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const from = String(request.headers['x-from']);
      received.set(from, [...(received.get(from) ?? []), Buffer.concat(parts)]);
      response.end();
    });
  });
  return { url, bodiesOf: (from: string) => received.get(from) ?? [] };
}

describe.skipIf(!hasRedis)('traces', () => {
  it('go where OTEL_EXPORTER_OTLP_ENDPOINT says, and join what a list and a worker do', async () => {
    const [api, redis, folder, collector] = [
      await openApi(),
      await useRedis(),
      openFolder(),
      await openCollector(),
    ];
    folder.write('list.csv', listOf(domains(30)));
    const flags = ['--queue', redis.url, '--base-url', api.url];
    const options = (from: string) => ({
      cwd: folder.path,
      env: {
        ...spyEnv(folder),
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-from=${from}`,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      },
    });
    const worker = await start(['worker', ...flags], options('worker'));
    await worker.shows('Waiting for lookups');
    const ended = await run(
      ['enrich', 'list.csv', ...flags, '--workers', '0', '--progress', 'none'],
      options('enrich'),
    );
    expect(ended.code).toBe(0);
    await terminate(worker);

    const ofRun = Buffer.concat(collector.bodiesOf('enrich')).toString('latin1');
    const ofWorker = Buffer.concat(collector.bodiesOf('worker')).toString('latin1');
    expect(ofRun).toContain('add lookups');
    expect(ofWorker).toContain('process lookups');
    expect(ofWorker).toContain('brandfill.lookups');
    expect(ofWorker).toMatch(/service\.name.*brandfill/s);
    expect(ofWorker).toContain('deployment.environment');
    expect(ofRun + ofWorker).not.toContain('getNextJob');
    const runs = traceIdsIn(collector.bodiesOf('enrich'));
    const shared = [...traceIdsIn(collector.bodiesOf('worker'))].filter((id) => runs.has(id));
    expect(shared.length).toBeGreaterThan(0);
    expect(folder.read('loaded.txt')).toContain('opentelemetry');
  });

  it('cannot be joined by a chunk whose trace is no JSON, which is looked up all the same', async () => {
    const [api, redis, folder] = [await openApi(), await useRedis(), openFolder()];
    const worker = await start(['worker', '--queue', redis.url, '--base-url', api.url], {
      cwd: folder.path,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
    });
    const connection = { port: redis.port };
    const lookups = new Queue(LOOKUPS_QUEUE, { connection, ...QUEUE_OPTIONS });
    onTestFinished(() => lookups.close());
    const data = { v: 1, domains: ['acme.com'] };
    await lookups.add(LOOKUPS_JOB, data, { telemetry: { metadata: 'x' } });
    while ((await lookups.getJobCountByTypes()) > 0) await delay(20);
    await terminate(worker);
  });

  it('are left out, with a sentence, where what they need is not installed', async () => {
    const [api, redis, folder] = [await openApi(), await useRedis(), openFolder()];
    folder.write('list.csv', listOf(domains(3)));
    const NODE_OPTIONS = withoutPackage(folder, 'bullmq-otel');
    const env = { NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const args = ['enrich', 'list.csv', '--queue', redis.url, '--base-url', api.url];
    const { code, stderr } = await run(args, { cwd: folder.path, env });
    expect(code).toBe(0);
    expect(stderr).toContain(
      'nothing is traced: install what that needs with npm install bullmq-otel',
    );
  });

  it('are not even loaded without it', async () => {
    const [api, redis, folder] = [await openApi(), await useRedis(), openFolder()];
    folder.write('list.csv', listOf(domains(5)));
    const options = { cwd: folder.path, env: spyEnv(folder) };
    const flags = ['--queue', redis.url, '--base-url', api.url];
    const { code } = await run(['enrich', 'list.csv', ...flags], options);
    expect(code).toBe(0);
    expect(readFileSync(folder.at('loaded.txt'), 'utf8')).toBe('');
  });
});
