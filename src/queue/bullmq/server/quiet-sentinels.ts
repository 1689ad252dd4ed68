import { type Redis, SentinelConnector } from 'ioredis';

/** What ioredis calls for each connection to a Sentinel, though its types say that nobody else may know. */
interface ConnectsToSentinels {
  connectToSentinel(...options: unknown[]): Redis;
}

/**
 * Finds masters as ioredis does, and says nothing of a Sentinel that is away while others are there: on
 * connections that it only listens to, ioredis tells of each try with a stack.
 */
export class QuietSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const connector = this as unknown as ConnectsToSentinels;
    const connect = connector.connectToSentinel.bind(connector);
    connector.connectToSentinel = (...args) => connect(...args).on('error', () => {});
  }
}
