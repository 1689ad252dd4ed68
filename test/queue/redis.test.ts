import { EventEmitter } from 'node:events';
import { type Redis, ReplyError } from 'ioredis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RedisClient } from '../../src/queue/redis.ts';
import { createTroubleWatch } from '../../src/queue/redis-trouble.ts';

const OUT_OF_MEMORY = new ReplyError('OOM command not allowed when used memory > maxmemory.');
const READ_ONLY = new ReplyError("READONLY You can't write against a read only replica.");
const FULL = 'Redis at host:1: it is out of memory; raise maxmemory. Trying again until it works.';

function openWatch() {
  const notices: string[] = [];
  return { notices, ...createTroubleWatch('host:1', (notice) => notices.push(notice)) };
}

describe('what Redis refuses', () => {
  it('is told once, in turns with others too, until there was none of it for a while', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { notices, refused, trouble } = openWatch();
    for (let times = 0; times < 3; times += 1) {
      refused(OUT_OF_MEMORY);
      refused(READ_ONLY);
      vi.advanceTimersByTime(20_000);
    }
    expect(notices).toEqual([
      FULL,
      'Redis at host:1: it is a read-only replica. Trying again until it works.',
    ]);
    vi.advanceTimersByTime(20_000);
    refused(OUT_OF_MEMORY);
    expect(notices.at(2)).toBe(FULL);
    expect(`${trouble()}. Trying again until it works.`).toBe(FULL);
    vi.advanceTimersByTime(20_000);
    expect(trouble()).toBeUndefined();
  });

  it('is told by what was refused, not that a transaction was discarded', () => {
    const { notices, refused } = openWatch();
    const discarded = new ReplyError('EXECABORT Transaction discarded because of previous errors.');
    discarded.previousErrors = [new ReplyError('NOREPLICAS Not enough good replicas to write.')];
    refused(discarded);
    expect(notices).toEqual([
      'Redis at host:1: too few replicas follow it for it to be written to; see min-replicas-to-write. Trying again until it works.',
    ]);
  });

  it.each(['ERR value is not an integer or out of range', 'ERR wrong number of arguments.'])(
    'is told as it came where its meaning is not known, with one full stop: %s',
    (message) => {
      const { notices, refused } = openWatch();
      refused(new ReplyError(message));
      const reason = message.replace(/\.$/, '');
      expect(notices).toEqual([`Redis at host:1: ${reason}. Trying again until it works.`]);
    },
  );

  it.each([
    new Error('Connection is closed.'),
    new ReplyError('WRONGPASS invalid username-password pair or user is disabled.'),
    new ReplyError('NOAUTH Authentication required.'),
  ])('is no matter of the connection, which is watched elsewhere: %s', (error) => {
    const { notices, refused } = openWatch();
    refused(error);
    expect(notices).toEqual([]);
  });
});

describe('a connection that is lost', () => {
  it.each([
    [
      'Socket timeout. Expecting data',
      'it does not answer: it may be frozen, or have too much to do',
    ],
    ['read ECONNRESET', 'it breaks off connections'],
    ['connect ECONNREFUSED', 'nobody listens there'],
    ['connect ETIMEDOUT', 'it cannot be reached'],
  ])(
    'is told without advice on the address, which was right, until there is one: %s',
    (text, why) => {
      const { notices, watch, trouble } = openWatch();
      const client = new EventEmitter();
      watch(client as unknown as Redis);
      client.emit('error', new Error(text));
      client.emit('error', new Error(text));
      expect(notices).toEqual([`Redis at host:1: ${why}. Trying again until it works.`]);
      expect(trouble()).toBe(`Redis at host:1: ${why}`);
      client.emit('ready');
      expect(trouble()).toBeUndefined();
      expect(notices.at(1)).toBe('Redis at host:1 answers again.');
    },
  );
});

describe('patience with Redis', () => {
  it('ends with the signal also while Redis answers nothing at all', async () => {
    const giveUp = new AbortController();
    const insisting = openWatch().insist(() => new Promise(() => {}), giveUp.signal);
    giveUp.abort(new Error('given up'));
    await expect(insisting).rejects.toThrow('given up');
  });

  it('ends with the reason of the signal also while it waits to try again', async () => {
    const giveUp = new AbortController();
    const reason = new Error('given up');
    const refuse = async (): Promise<never> => {
      setImmediate(() => giveUp.abort(reason));
      throw OUT_OF_MEMORY;
    };
    await expect(openWatch().insist(refuse, giveUp.signal)).rejects.toBe(reason);
  });
});

describe('a Redis that is gone', () => {
  it('is told once, and later for the reason that was found since', () => {
    const { notices, trouble, watch } = openWatch();
    const client = new EventEmitter();
    watch(client as unknown as RedisClient);
    client.emit('error', new Error('read ECONNRESET'));
    expect(trouble()).toContain('it breaks off connections');
    client.emit('error', new Error('connect ECONNREFUSED 127.0.0.1:1'));
    client.emit('error', new Error('Connection is closed.')); // says nothing new
    expect(trouble()).toBe('Redis at host:1: nobody listens there');
    expect(notices).toHaveLength(1);
    client.emit('ready');
    expect([trouble(), notices.at(-1)]).toEqual([undefined, 'Redis at host:1 answers again.']);
  });
});
