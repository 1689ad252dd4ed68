import { ReplyError } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createRefusals } from '../../src/queue/bullmq/server/refusals.ts';

const OUT_OF_MEMORY = new ReplyError('OOM command not allowed when used memory > maxmemory.');

describe('what Redis refuses a worker', () => {
  it('is told once, until it works again', () => {
    const notices: string[] = [];
    const refusals = createRefusals((message) => notices.push(message));
    for (let times = 0; times < 3; times += 1) refusals.tell(OUT_OF_MEMORY);
    refusals.over();
    refusals.tell(OUT_OF_MEMORY);
    const notice =
      'Redis refuses what a worker needs: it is out of memory; raise maxmemory. Trying again.';
    expect(notices).toEqual([notice, notice]);
  });

  it('is told by what was refused, not that a transaction was discarded', () => {
    const notices: string[] = [];
    const discarded = new ReplyError('EXECABORT Transaction discarded because of previous errors.');
    discarded.previousErrors = [new ReplyError('NOREPLICAS Not enough good replicas to write.')];
    createRefusals((message) => notices.push(message)).tell(discarded);
    expect(notices).toEqual([
      'Redis refuses what a worker needs: too few replicas follow it for it to be written to; see min-replicas-to-write. Trying again.',
    ]);
  });

  it.each([
    new Error('Connection is closed.'),
    new ReplyError('WRONGPASS invalid username-password pair or user is disabled.'),
    new ReplyError('NOAUTH Authentication required.'),
  ])('is no matter of the connection, which is watched elsewhere: %s', (error) => {
    const notices: string[] = [];
    createRefusals((message) => notices.push(message)).tell(error);
    expect(notices).toEqual([]);
  });
});
