import { describe, expect, it } from 'vitest';
import { createClockNotice } from '../../src/commands/schedule.ts';
import type { OnNotice } from '../../src/common/errors.ts';
import type { DueSchedule, RunRequest } from '../../src/queue/bullmq/schedule-queue.ts';
import { groupOf } from '../../src/schedule/group.ts';
import { createScheduler, type ReadSchedule, reconcile } from '../../src/schedule/schedules.ts';
import { makeRun } from '../../src/schedule/serve-schedules.ts';

const NIGHTLY = { cron: '30 2 * * *', timezone: 'UTC' };
const EARLY = { cron: '0 1 * * *', timezone: 'UTC' };
const NOW = Date.UTC(2026, 10, 21, 12);

/** Redis, as far as schedules are concerned. */
function openQueue(kept: Readonly<Record<string, DueSchedule>> = {}) {
  const schedules = new Map(Object.entries(kept));
  const asked: RunRequest[] = [];
  return {
    schedules,
    asked,
    read: async () => schedules,
    keep: async (job: string, schedule: typeof NIGHTLY) => {
      schedules.set(job, { ...schedule, nextAtMs: NOW + 1 });
    },
    forget: async (job: string) => {
      schedules.delete(job);
    },
    ask: async (request: RunRequest) => asked.push(request) > 0,
  };
}

function schedulerOf(queue: ReturnType<typeof openQueue>, onNotice: OnNotice = () => {}) {
  const wanted = new Map([['crm', NIGHTLY]]);
  return createScheduler({ wanted, queue, onNotice, nowMs: () => NOW });
}

describe('createScheduler', () => {
  it('asks for a night that was missed when its time was changed since', async () => {
    const dueAtMs = NOW - 3_600_000;
    const queue = openQueue({ crm: { ...NIGHTLY, cron: '0 11 * * *', nextAtMs: dueAtMs } });
    await schedulerOf(queue).start();
    expect(queue.schedules.get('crm')?.cron).toBe(NIGHTLY.cron);
    expect(queue.asked).toEqual([{ job: 'crm', why: 'missed', dueAtMs }]);
  });

  it('puts back what Redis has lost', async () => {
    const queue = openQueue();
    const scheduler = schedulerOf(queue);
    await scheduler.start();
    queue.schedules.clear();
    await scheduler.mend();
    expect([...queue.schedules.keys()]).toEqual(['crm']);
    expect(queue.asked).toEqual([]);
  });

  it.each(['start', 'mend'] as const)(
    'brings back what a clock that was years ahead has put off (%s)',
    async (when) => {
      const told: string[] = [];
      const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: Date.UTC(2031, 10, 22, 2, 30) } });
      await schedulerOf(queue, (message) => told.push(message))[when]();
      expect(queue.schedules.get('crm')?.nextAtMs).toBe(NOW + 1);
      expect(told).toEqual([
        "crm: was postponed to 2031-11-22T02:30:00.000Z by a clock that was ahead; it is scheduled again for '30 2 * * *' (UTC).",
      ]);
      expect(queue.asked).toEqual([]);
    },
  );

  it('leaves alone what another machine, whose clock is hours ahead, has run already', async () => {
    const nextAtMs = Date.UTC(2026, 10, 23, 2, 30);
    const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs } });
    await schedulerOf(queue).mend();
    expect(queue.schedules.get('crm')?.nextAtMs).toBe(nextAtMs);
  });

  it('warns of what was lost, and not of what is new', async () => {
    const queue = openQueue();
    const told: (string | undefined)[] = [];
    const scheduler = schedulerOf(queue, (_, facts) => told.push(facts?.level));
    await scheduler.start();
    expect(told).toEqual(['info']);
    queue.schedules.clear();
    await scheduler.mend();
    expect(told).toEqual(['info', 'warn']);
  });

  it('asks for a run whose time has come without anybody being told', async () => {
    const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: NOW - 3_600_000 } });
    const scheduler = schedulerOf(queue);
    await scheduler.start();
    expect(queue.asked).toEqual([]); // BullMQ makes up for it when it is taken up
    await scheduler.mend();
    expect(queue.asked).toHaveLength(1);
    await scheduler.mend();
    expect(queue.asked).toHaveLength(1);
  });

  it.each<[string, ReadSchedule, string | undefined]>([
    ['another time', { kind: 'scheduled', schedule: EARLY }, EARLY.cron],
    ['no time at all', { kind: 'unscheduled' }, undefined],
  ])('takes up %s also when Redis refused it at first', async (_, edit, cron) => {
    const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: NOW + 1 } });
    const { keep, forget } = queue;
    const scheduler = schedulerOf(queue);
    queue.keep = queue.forget = async () => {
      throw new Error('NOREPLICAS');
    };
    await expect(scheduler.takeUp(new Map([['crm', edit]]))).rejects.toThrow('NOREPLICAS');
    Object.assign(queue, { keep, forget });
    await scheduler.takeUp(new Map());
    await scheduler.mend();
    expect(queue.schedules.get('crm')?.cron).toBe(cron);
  });

  it('leaves the schedules of others to them', async () => {
    const other = { cron: '0 5 * * *', timezone: 'UTC', nextAtMs: NOW + 1 };
    const queue = openQueue({ crm: other });
    const scheduler = schedulerOf(queue);
    await scheduler.mend(); // another process has another one; it was the last to be told
    expect(queue.schedules.get('crm')).toEqual(other);
  });
});

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

it('tells when Redis refuses to note how a run ended', async () => {
  const notices: string[] = [];
  const taken = { job: 'a', why: 'due', dueAtMs: 0, losses: 0, isAgain: false } as const;
  const isDone = await makeRun(taken, {
    file: 'no/such/a.yaml',
    group: 'jobs',
    results: { add: () => Promise.reject(new Error('READONLY')) },
    signal: new AbortController().signal,
    onNotice: (message) => notices.push(message),
    onEvent: () => {},
    onEnd: () => {},
  });
  expect(isDone).toBe(false);
  expect(notices).toEqual([
    'a: starts; it was due at 1970-01-01T00:00:00.000Z.',
    expect.stringMatching(/^a: ended with exit code 2 after .*: Cannot read the job file/),
    'a: the result could not be saved (it is a read-only replica; give the address of its master): schedule --list does not show this run.',
  ]);
});

const later = (schedule = NIGHTLY) => ({ ...schedule, nextAtMs: NOW + 1 });
const overdue = (schedule = NIGHTLY) => ({ ...schedule, nextAtMs: NOW - 1 });

describe('reconcile', () => {
  it.each([
    ['adds what is new', { a: NIGHTLY }, {}, { add: ['a'] }],
    ['leaves alone what is the same, however late it is', { a: NIGHTLY }, { a: overdue() }, {}],
    [
      'changes what has another cron',
      { a: { ...NIGHTLY, cron: '0 5 * * *' } },
      { a: later() },
      { change: ['a'] },
    ],
    [
      'changes what has another time zone',
      { a: { ...NIGHTLY, timezone: 'Europe/Berlin' } },
      { a: later() },
      { change: ['a'] },
    ],
    [
      'remembers that it was missed what changed while it was due',
      { a: { ...NIGHTLY, timezone: 'Europe/Berlin' } },
      { a: overdue() },
      { change: ['a'], missed: new Map([['a', NOW - 1]]) },
    ],
    ['removes what no file has', {}, { a: later() }, { remove: ['a'] }],
    ['leaves what a file has that cannot be read', { a: undefined }, { a: later() }, {}],
    ['adds nothing for a file that cannot be read', { a: undefined }, {}, {}],
  ])('%s', (_, wanted, kept, expected) => {
    const nothing = { add: [], change: [], remove: [], missed: new Map() };
    expect(reconcile(new Map(Object.entries(wanted)), new Map(Object.entries(kept)), NOW)).toEqual({
      ...nothing,
      ...expected,
    });
  });
});

describe('groupOf', () => {
  it('is the same for one file of a folder and for all of them', () => {
    const one = groupOf(['/srv/crm/jobs'], undefined);
    expect(one.name).toMatch(/^jobs-[0-9a-f]{6}$/);
    expect(groupOf(['/srv/crm/jobs', '/srv/crm/jobs'], undefined)).toEqual(one);
  });

  it('is another one for a folder of the same name', () => {
    const groups = ['/srv/crm/jobs', '/srv/shop/jobs'].map((folder) =>
      groupOf([folder], undefined),
    );
    expect(groups[0]?.name).not.toBe(groups[1]?.name);
  });

  it.each([
    [['/srv/crm/jobs', '/srv/shop/jobs'], '/srv', /^srv-/],
    [['/srv/crm', '/srv/crm/jobs'], '/srv/crm', /^crm-/],
    [['/srv/crm', '/srv/crm2'], '/srv', /^srv-/],
    [['/srv', '/var'], '/', /^root-/],
    [['/srv/Ünsere Jobs'], '/srv/Ünsere Jobs', /^-nsere-Jobs-/],
  ])('is named after the folder of all: %j', (folders, folder, name) => {
    const group = groupOf(folders, undefined);
    expect(group.folder).toBe(folder);
    expect(group.name).toMatch(name);
  });

  it('is called as it was told to', () => {
    expect(groupOf(['/srv/jobs'], 'nightly').name).toBe('nightly');
  });
});
