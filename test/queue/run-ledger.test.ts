import { expect, it } from 'vitest';
import { doneKey, ledgerKey } from '../../src/queue/bullmq/names.ts';
import { readLeft } from '../../src/queue/bullmq/runs/run-ledger.ts';
import type { RedisClient } from '../../src/queue/bullmq/server/redis.ts';

/** Else all its domains would be paid for twice. */
it.each([0, 1, 2])(
  'a chunk that is finished after %i of the commands that read it is not looked up again',
  async (commands) => {
    let read = 0;
    const values = new Map([
      [`${ledgerKey('run')} chunk`, '["a.com"]'],
      [doneKey('chunk'), 'a.com\n'],
    ]);
    const reading = async (key: string): Promise<string | null> => {
      if (read === commands) values.clear();
      read += 1;
      return values.get(key) ?? null;
    };
    const client = {
      get: reading,
      hget: (key: string, field: string) => reading(`${key} ${field}`),
    };
    const left = await readLeft(client as unknown as RedisClient, 'run', 'chunk');
    expect(left ?? []).toEqual([]);
  },
);
