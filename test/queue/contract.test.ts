import { ReplyError } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { BrandfillError } from '../../src/common/errors.ts';
import { addresseeOf, parseLookups } from '../../src/queue/bullmq/contract.ts';
import { describeLoss, reasonOf, toQueueError } from '../../src/queue/bullmq/server/refusals.ts';

function chunkFor(replyTo: string): object {
  return { v: 1, domains: ['acme.com'], replyTo };
}

describe('the queue that gets the outcomes', () => {
  it.each(['crm.outcomes', 'outcomes', 'run-4711', 'lookups-crm', 'schedule'])(
    'may be %s',
    (replyTo) => {
      expect(parseLookups(chunkFor(replyTo))).toEqual(chunkFor(replyTo));
    },
  );

  it.each(['lookups', 'schedule-nightly', 'a:b', ''])('may not be %j', (replyTo) => {
    expect(parseLookups(chunkFor(replyTo))).toContain("breaks the contract: 'replyTo': ");
    expect(addresseeOf(chunkFor(replyTo), 'chunk').replyTo).toBeUndefined();
  });
});

describe('why a chunk is refused', () => {
  it.each(['4711-abc', 'part-abc'])('is told to the run that chunk %s is of', (chunk) => {
    expect(addresseeOf(chunkFor('run-4711'), chunk).replyTo).toBe('run-4711');
  });

  it.each(['1', '47-abc', 'crm-4711-abc'])('is told to no run that chunk %s is not of', (chunk) => {
    expect(addresseeOf(chunkFor('run-4711'), chunk).replyTo).toBeUndefined();
  });
});

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

const ALLOW = 'allow it ~{brandfill}* &* +@all -@admin -@dangerous +info';

it.each([
  [
    "ERR The user executing the script can't run this command or subcommand script: d96ca6, on @user_script:94.",
    'run a command of a script',
  ],
  [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 1e9bb7, on @user_script:116.",
    'access at least one of the keys mentioned in the command arguments',
  ],
  ["NOPERM this user has no permissions to run the 'del' command", "run the 'del' command"],
  [
    "NOPERM ACL failure in script: User clerk has no permissions to run the 'del' command script: 1e9bb7, on @user_script:2.",
    "run the 'del' command",
  ],
  ['NOPERM No permissions to access a key', 'access a key'],
])('a right that is missing is told with what Redis says of it: %s', (message, right) => {
  expect(reasonOf(new Error(message))).toBe(
    `its user may not do what a queue needs (${right}); ${ALLOW}`,
  );
});

it('a right that is missing is told also where Redis does not say which', () => {
  expect(reasonOf(new Error('NOPERM'))).toBe(`its user may not do what a queue needs; ${ALLOW}`);
});

describe('a connection that is lost', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:6379');
  const silent = new Error('Socket timeout. Expecting data, but did not receive any in 15000ms.');
  const onMaster =
    'its master is away. Going on with the one that its sentinels name, as soon as that answers';

  it.each([
    [refused, 'sentinels', onMaster],
    [silent, 'sentinels', onMaster],
    [
      new Error(`${RETRYING} Last error: connect ECONNREFUSED 127.0.0.1:26379`),
      'sentinels',
      'none of its sentinels can be reached. Trying again until it answers',
    ],
    [
      refused,
      'cluster',
      'none of its nodes answers for the cluster. Trying again until it answers',
    ],
    [refused, 'single', 'nobody listens there. Trying again until it answers'],
    [
      new Error('getaddrinfo ENOTFOUND redis'),
      'single',
      'there is no host of that name. Trying again until it answers',
    ],
    [
      new ReplyError('WRONGPASS invalid username-password pair'),
      'sentinels',
      'it refuses the user or the password. Trying again until it answers',
    ],
  ] as const)('is no wrong address: %s, %s', (error, kind, loss) => {
    expect(describeLoss(error, kind)).toBe(loss);
  });
});

describe('what is thrown amid work', () => {
  it('is an error for people when Redis refuses it for a reason that is known', () => {
    const discarded = new ReplyError('EXECABORT Transaction discarded because of previous errors.');
    discarded.previousErrors = [
      new ReplyError("NOPERM this user has no permissions to run the 'del' command"),
    ];
    const error = toQueueError(discarded);
    expect(error).toBeInstanceOf(BrandfillError);
    expect(error).toMatchObject({
      code: 'UNUSABLE_QUEUE',
      message: `Cannot go on with the queue on Redis: its user may not do what a queue needs (run the 'del' command); ${ALLOW}.`,
      cause: discarded,
    });
  });

  it.each([
    new ReplyError('ERR syntax error'),
    new Error('connect ECONNREFUSED 127.0.0.1:80'), // may be the API's
    'text',
  ])('is as it was otherwise: %s', (error) => {
    expect(toQueueError(error)).toBe(error);
  });
});
