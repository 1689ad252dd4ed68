import { ReplyError } from 'ioredis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSharedCallLedger } from '../../src/queue/call-ledger.ts';
import type { RedisClient } from '../../src/queue/redis.ts';
import { createRefusals, insist } from '../../src/queue/redis-errors.ts';

const OUT_OF_MEMORY = new ReplyError('OOM command not allowed when used memory > maxmemory.');
const READ_ONLY = new ReplyError("READONLY You can't write against a read only replica.");

describe('what Redis refuses a worker', () => {
  it('is told once, in turns with others too, until there was none of it for a while', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const notices: string[] = [];
    const tell = createRefusals((message) => notices.push(message));
    for (let times = 0; times < 3; times += 1) {
      tell(OUT_OF_MEMORY);
      tell(READ_ONLY);
      vi.advanceTimersByTime(20_000);
    }
    expect(notices).toEqual([
      'Redis refuses what a worker needs: it is out of memory; raise maxmemory. Trying again.',
      'Redis refuses what a worker needs: it is a read-only replica; give the address of its master. Trying again.',
    ]);
    vi.advanceTimersByTime(20_000);
    tell(OUT_OF_MEMORY);
    expect(notices.at(2)).toBe(notices[0]);
  });

  it('is told by what was refused, not that a transaction was discarded', () => {
    const notices: string[] = [];
    const discarded = new ReplyError('EXECABORT Transaction discarded because of previous errors.');
    discarded.previousErrors = [new ReplyError('NOREPLICAS Not enough good replicas to write.')];
    createRefusals((message) => notices.push(message))(discarded);
    expect(notices).toEqual([
      'Redis refuses what a worker needs: too few replicas follow it for it to be written to; see min-replicas-to-write. Trying again.',
    ]);
  });

  it.each(['ERR value is not an integer or out of range', 'ERR wrong number of arguments.'])(
    'is told as it came where its meaning is not known, with one full stop: %s',
    (message) => {
      const notices: string[] = [];
      createRefusals((notice) => notices.push(notice))(new ReplyError(message));
      const reason = message.replace(/\.$/, '');
      expect(notices).toEqual([`Redis refuses what a worker needs: ${reason}. Trying again.`]);
    },
  );

  it.each([
    new Error('Connection is closed.'),
    new ReplyError('WRONGPASS invalid username-password pair or user is disabled.'),
    new ReplyError('NOAUTH Authentication required.'),
  ])('is no matter of the connection, which is watched elsewhere: %s', (error) => {
    const notices: string[] = [];
    createRefusals((message) => notices.push(message))(error);
    expect(notices).toEqual([]);
  });
});

describe('patience with Redis', () => {
  it('ends with the signal also while Redis answers nothing at all', async () => {
    const giveUp = new AbortController();
    const silent = (): Promise<void> => new Promise(() => {});
    const insisting = insist(silent, { signal: giveUp.signal, onRefused: () => {} });
    giveUp.abort(new Error('given up'));
    await expect(insisting).rejects.toThrow('given up');
  });

  it('ends with the reason of the signal also while it waits to try again', async () => {
    const giveUp = new AbortController();
    const reason = new Error('given up');
    const onRefused = (): void => giveUp.abort(reason);
    const insisting = insist(() => Promise.reject(OUT_OF_MEMORY), {
      signal: giveUp.signal,
      onRefused,
    });
    await expect(insisting).rejects.toBe(reason);
  });
});

it('a Redis that refuses to count calls is told of', async () => {
  const stop = new AbortController();
  const told: string[] = [];
  const client = {
    time: async () => ['0', '0'],
    evalsha: async () => {
      throw new ReplyError('NOPERM this user has no permissions to run the eval command');
    },
  } as unknown as RedisClient;
  const ledger = createSharedCallLedger(client, {
    id: 'a',
    limit: { count: 10, unit: 'day' },
    onNotice: (message) => {
      told.push(message);
      stop.abort();
    },
  });
  await expect(ledger.take(1, stop.signal)).rejects.toThrow();
  expect(told).toEqual([
    expect.stringMatching(/^Redis refuses what the count of calls needs: its user may not do/),
  ]);
});
