import { describe, expect, it } from 'vitest';
import { createOutcomeLog } from '../../src/queue/bullmq/chunks/outcome-log.ts';
import { withoutCall } from '../../src/queue/bullmq/outcome-data.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';

describe('the log of a chunk', () => {
  it('is not kept in mind once it is let go: its time is set anew by what comes after', async () => {
    let dated = 0;
    let length = 0;
    const client = {
      rpush: async () => {
        length += 1;
        return length;
      },
      pexpire: async () => {
        dated += 1;
        return 1;
      },
    };
    const log = createOutcomeLog(client as unknown as RedisClient);
    const outcome = withoutCall('a.com', { status: 'failed', reason: '', nowMs: 0 });
    await log.add('chunk', outcome);
    await log.add('chunk', outcome);
    expect(dated).toBe(1);
    log.letGo('chunk');
    await log.add('chunk', outcome);
    expect(dated).toBe(2);
  });
});
