import { describe, expect, it } from 'vitest';
import type { Shape } from '../../src/brand/shape.ts';
import { createLogReader, createOutcomeLog } from '../../src/queue/bullmq/chunks/outcome-log.ts';
import type { OutcomeData } from '../../src/queue/bullmq/contract.ts';
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

  it('spells a shape out once, and has it read as one object in all logs', async () => {
    const { client, entries } = createLists();
    const log = createOutcomeLog(client);
    const readLog = createLogReader(client);
    await log.add('one', foundOf('a.com'), NAME);
    await log.add('one', foundOf('b.com'), NAME);
    await log.add('two', foundOf('c.com'), NAME);
    expect(entries().map((entry) => entry.includes('"paths"'))).toEqual([true, false, true]);
    const [one, two] = [await readLog('one'), await readLog('two')];
    const [shape] = one.outcomes.map((each) => each.shape);
    expect(shape).toEqual(NAME);
    for (const each of [...one.outcomes, ...two.outcomes]) expect(each.shape).toBe(shape);
    expect(one.outcomes.map(({ data }) => data)).toEqual([foundOf('a.com'), foundOf('b.com')]);
  });

  it('tells the shapes of several workers apart, whatever each has seen first', async () => {
    const { client } = createLists();
    const [first, second] = [createOutcomeLog(client), createOutcomeLog(client)];
    await first.add('chunk', foundOf('a.com'), NAME);
    await second.add('chunk', foundOf('b.com'), NAME_AND_CITY);
    await first.add('chunk', foundOf('c.com'), NAME_AND_CITY);
    await second.add('chunk', foundOf('d.com'), [...NAME]);
    const { outcomes } = await createLogReader(client)('chunk');
    const shapes = outcomes.map(({ data, shape }) => [data.domain, shape]);
    expect(shapes).toEqual([
      ['a.com', NAME],
      ['b.com', NAME_AND_CITY],
      ['c.com', NAME_AND_CITY],
      ['d.com', NAME],
    ]);
  });

  it('begins anew with its shapes when somebody has removed it', async () => {
    const { client, clear } = createLists();
    const log = createOutcomeLog(client);
    await log.add('chunk', foundOf('a.com'), NAME);
    clear();
    // What is written at that moment cannot know; what comes after it does.
    await log.add('chunk', foundOf('b.com'), NAME);
    await log.add('chunk', foundOf('c.com'), NAME);
    const { outcomes } = await createLogReader(client)('chunk');
    expect(outcomes.map(({ shape }) => shape)).toEqual([undefined, NAME]);
  });

  it('has no shape where the worker, one of an earlier version, did not say', async () => {
    const { client } = createLists();
    await createOutcomeLog(client).add('chunk', foundOf('a.com'));
    const { outcomes } = await createLogReader(client)('chunk');
    expect(outcomes).toEqual([{ data: foundOf('a.com'), shape: undefined }]);
  });
});

const NAME: Shape = [['name']];
const NAME_AND_CITY: Shape = [['name'], ['location', 'city']];

function foundOf(domain: string): OutcomeData {
  const json = `{"name":"The makers of\n${domain}"}`;
  return { domain, status: 'found', reason: '', attempts: 1, fetchedAtMs: 1_795_204_800_000, json };
}

/** A Redis that has lists, and nothing else. */
function createLists(): {
  readonly client: RedisClient;
  readonly entries: () => readonly string[];
  readonly clear: () => void;
} {
  const lists = new Map<string, string[]>();
  const client = {
    rpush: async (key: string, ...entries: readonly string[]) => {
      const list = lists.get(key) ?? [];
      lists.set(key, list);
      return list.push(...entries);
    },
    lrange: async (key: string) => [...(lists.get(key) ?? [])],
    pexpire: async () => 1,
  };
  return {
    client: client as unknown as RedisClient,
    entries: () => [...lists.values()].flat(),
    clear: () => lists.clear(),
  };
}
