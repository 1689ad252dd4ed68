import { expect, it } from 'vitest';
import { reasonOf } from '../../src/queue/bullmq/server/redis.ts';

const RETRYING = 'All sentinels are unreachable. Retrying from scratch after 10ms.';

it.each([
  [RETRYING, 'its sentinels name no master that answers'],
  [
    `${RETRYING} Last error: connect ECONNREFUSED 127.0.0.1:26379`,
    'none of its sentinels can be reached',
  ],
])('a master that is gone is told from sentinels that are: %s', (message, reason) => {
  expect(reasonOf(new Error(message))).toBe(reason);
});
