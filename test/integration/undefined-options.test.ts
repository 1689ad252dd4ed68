import { expect, it } from 'vitest';
import {
  type AddOptions,
  add,
  type EnrichOptions,
  enrich,
  enrichRows,
  exportStore,
  type GetStoredOptions,
  type LoadJobOptions,
  loadJob,
  plan,
  pruneStore,
  type RunJobOptions,
  readStoreStats,
  runJob,
  type SandboxOptions,
  startSandbox,
  type TryOptions,
  tryDomain,
  type WorkOptions,
  work,
} from '../../src/index.ts';
import { useRedis } from '../support/redis.ts';
import { openFolder } from './support/folder.ts';

/** All that need not be given, given as undefined, as by a program that has no value for it. */
type None<T> = { [K in keyof T as undefined extends T[K] ? K : never]: undefined };

/** Has each option that it is asked for. */
function none<T>(...keys: readonly (keyof None<T>)[]): None<T> {
  return Object.fromEntries(keys.map((key) => [key, undefined])) as None<T>;
}

it('an option that is undefined is none, in types and at work', async () => {
  const folder = openFolder();
  folder.write('list.csv', 'domain\nacme.com\n');
  folder.write('job.yaml', 'input: list.csv\n');
  const sandbox = await startSandbox(none<SandboxOptions>('port', 'seed', 'limit', 'latencyMs'));
  const [input, store] = [folder.at('list.csv'), folder.at('store')];
  const given = { baseUrl: sandbox.url, store };
  const nothing = none<EnrichOptions>('apiKey', 'signal', 'onEvent', 'maxCalls', 'fresh', 'params');
  expect(await plan({ ...nothing, ...given, input })).toMatchObject({ lookups: 1 });
  expect(await enrich({ ...nothing, ...given, input })).toMatchObject({ calls: 1 });
  const rows = enrichRows({ ...nothing, ...given, input: [{ domain: 'acme.com' }] });
  expect(await rows.next()).toMatchObject({ value: { brand_status: 'found' } });
  await rows.return?.(undefined as never);
  const nothingTried = none<TryOptions>('headers', 'timeout', 'onEvent');
  const tried = await tryDomain({ ...nothingTried, ...given, domain: 'acme.com' });
  expect(tried.status).toBe('found');
  expect(await readStoreStats({ ...none<GetStoredOptions>('baseUrl'), store })).toMatchObject({
    statuses: { found: 1 },
  });
  expect(await exportStore({ status: undefined, store }, async () => {})).toBe(1);
  await pruneStore({ olderThan: '1d', dryRun: undefined, store });

  const file = folder.at('job.yaml');
  await loadJob(file, none<LoadJobOptions>('overrides', 'env', 'now', 'naming'));
  const overrides = { ...nothing, ...given };
  const ended = await runJob(file, { ...none<RunJobOptions>('runId', 'confirm'), overrides });
  expect(ended).toMatchObject({ exitCode: 0 });

  const { url: queue } = await useRedis();
  await add({ ...none<AddOptions>('chunk', 'ref', 'signal', 'onNotice'), input, queue });
  const signal = AbortSignal.abort();
  const nothingDone = none<WorkOptions>('drain', 'concurrency', 'onNotice', 'rate');
  const { calls } = await work({ ...nothingDone, baseUrl: sandbox.url, queue, signal });
  expect(calls).toBe(0);
  await sandbox.close();
});
