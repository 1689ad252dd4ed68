import { expect, it } from 'vitest';
import { createClockNotice } from '../../src/commands/schedule.ts';

it('a clock that differs from that of Redis is told of once, and when it is right again', () => {
  const notices: string[] = [];
  const onClock = createClockNotice((message) => notices.push(message));
  for (const aheadMs of [0, 59_000, 3_600_000, 3_600_100, -200, -86_400_000]) onClock(aheadMs);
  expect(notices).toEqual([
    'The clock of this machine is 1 h ahead of that of Redis: jobs start that much too early, and if this machine goes away, the next ones start that much too late. Set its clock, for example by NTP.',
    'The clock of this machine is right again.',
    'The clock of this machine is 1 d behind that of Redis: jobs that only this machine keeps start that much too late. Set its clock, for example by NTP.',
  ]);
});
