import { type Redis, SentinelConnector } from 'ioredis';

/** The method with which ioredis connects to each Sentinel. Its types declare it private. */
interface ConnectsToSentinels {
  connectToSentinel(...options: unknown[]): Redis;
}

/**
 * Finds masters as ioredis does, but is silent about a Sentinel that is away while others are
 * there. On connections that ioredis only listens to, it prints a stack for each attempt.
 */
export class QuietSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const connector = this as unknown as ConnectsToSentinels;
    const connect = connector.connectToSentinel.bind(connector);
    connector.connectToSentinel = (...args) => connect(...args).on('error', () => {});
  }
}
