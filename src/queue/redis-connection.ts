import { Cluster, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { RedisAddress } from '../common/addresses.ts';

/** A connection to a Redis of any kind. */
export type RedisClient = Redis | Cluster;

/** A server that accepts commands without answering counts as dead after this time. */
const SILENCE_MS = 15_000;

/** Reconnects for as long as it takes. */
export const PATIENT = {
  maxRetriesPerRequest: null,
  retryStrategy: (times: number) => Math.min(times * 100, 1_000),
  connectTimeout: 10_000,
  socketTimeout: SILENCE_MS,
  sentinelCommandTimeout: 5_000,
  // After an orderly failover the old master accepts writes for ten more seconds and then loses
  // them.
  failoverDetector: true,
  keepAlive: 10_000,
} satisfies RedisOptions;

type Patient = typeof PATIENT & Pick<RedisOptions, 'reconnectOnError'>;

/** Fails at the first obstacle, so that a wrong address is reported at once. */
export const IMPATIENT = {
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  connectTimeout: 5_000,
  commandTimeout: 5_000,
  sentinelCommandTimeout: 5_000,
  // The first command shows what is wrong with it, such as that it loads its data.
  enableReadyCheck: false,
  lazyConnect: true,
} satisfies RedisOptions;

export function createClient(
  address: RedisAddress,
  options: Patient | typeof IMPATIENT,
): RedisClient {
  const isProbe = 'lazyConnect' in options;
  if (address.kind === 'single') {
    const connector = 'sentinels' in address.options ? { Connector: PatientSentinels } : {};
    return new Redis({ ...address.options, ...options, ...connector });
  }
  const { retryStrategy, ...redisOptions } = options;
  return new Cluster([...address.nodes], {
    lazyConnect: isProbe,
    enableReadyCheck: !isProbe,
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...address.access, ...redisOptions },
  });
}

export function passwordsOf(address: RedisAddress): readonly (string | undefined)[] {
  if (address.kind === 'cluster') return [address.access.password];
  const { options } = address;
  return [options.password, 'sentinels' in options ? options.sentinelPassword : undefined];
}

export function nameOf(address: RedisAddress): string {
  if (address.kind === 'cluster') return hostsOf(address.nodes);
  const { options } = address;
  if (options.path !== undefined) return options.path;
  return 'name' in options
    ? `${options.name} (sentinels ${hostsOf(options.sentinels)})`
    : hostsOf([options]);
}

function hostsOf(nodes: readonly { host?: string | undefined; port?: number }[] = []): string {
  return nodes
    .map(({ host = '', port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    .join(',');
}

/** What ioredis has of its search for masters. Its types declare it private. */
interface SearchesMasters {
  connectToSentinel(...options: unknown[]): Redis;
  failoverDetector: { cleanup(): void } | null;
}

/**
 * Finds masters as ioredis does, but for two things. It is silent about a Sentinel that is away
 * while others are there: on connections that ioredis only listens to, it prints a stack for each
 * attempt. And a failover that is told while the master is looked for does not end the connection
 * for good: what listened on behalf of the connection before is of no use any more.
 */
class PatientSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const connector = this as unknown as SearchesMasters;
    const connect = connector.connectToSentinel.bind(connector);
    connector.connectToSentinel = (...args) => connect(...args).on('error', () => {});
  }

  override connect(
    ...args: Parameters<SentinelConnector['connect']>
  ): ReturnType<SentinelConnector['connect']> {
    (this as unknown as SearchesMasters).failoverDetector?.cleanup();
    return super.connect(...args);
  }
}
