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

it.each([
  "ERR The user executing the script can't run this command or subcommand script: d96ca6, on @user_script:94.",
  "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 1e9bb7, on @user_script:116.",
  "NOPERM this user has no permissions to run the 'del' command",
])('a right that is missing is told as one, whatever it is missing for: %s', (message) => {
  expect(reasonOf(new Error(message))).toMatch('its user may not do what a queue needs; allow it');
});
