import { describe, expect, it } from 'vitest';
import type { OnNotice } from '../../src/common/errors.ts';
import type { DueSchedule, RunRequest } from '../../src/queue/bullmq/schedules/schedule-queue.ts';
import { keepSchedules, type ReadSchedule } from '../../src/schedule/schedules.ts';

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

function keeperOf(queue: ReturnType<typeof openQueue>, onNotice: OnNotice = () => {}) {
  const wanted = new Map([['crm', NIGHTLY]]);
  return keepSchedules({ wanted, queue, onNotice, nowMs: () => NOW });
}

describe('keepSchedules', () => {
  it('asks for a night that was missed when its time was changed since', async () => {
    const dueAtMs = NOW - 3_600_000;
    const queue = openQueue({ crm: { ...NIGHTLY, cron: '0 11 * * *', nextAtMs: dueAtMs } });
    await keeperOf(queue).start();
    expect(queue.schedules.get('crm')?.cron).toBe(NIGHTLY.cron);
    expect(queue.asked).toEqual([{ job: 'crm', why: 'missed', dueAtMs }]);
  });

  it('puts back what Redis has lost', async () => {
    const queue = openQueue();
    const keeper = keeperOf(queue);
    await keeper.start();
    queue.schedules.clear();
    await keeper.mend();
    expect([...queue.schedules.keys()]).toEqual(['crm']);
    expect(queue.asked).toEqual([]);
  });

  it.each(['start', 'mend'] as const)(
    'brings back what a clock that was years ahead has put off (%s)',
    async (when) => {
      const told: string[] = [];
      const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: Date.UTC(2031, 10, 22, 2, 30) } });
      await keeperOf(queue, (message) => told.push(message))[when]();
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
    await keeperOf(queue).mend();
    expect(queue.schedules.get('crm')?.nextAtMs).toBe(nextAtMs);
  });

  it('warns of what was lost, and not of what is new', async () => {
    const queue = openQueue();
    const told: (string | undefined)[] = [];
    const keeper = keeperOf(queue, (_, facts) => told.push(facts?.level));
    await keeper.start();
    expect(told).toEqual(['info']);
    queue.schedules.clear();
    await keeper.mend();
    expect(told).toEqual(['info', 'warn']);
  });

  it('asks for a run whose time has come without anybody being told', async () => {
    const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: NOW - 3_600_000 } });
    const keeper = keeperOf(queue);
    await keeper.start();
    expect(queue.asked).toEqual([]); // BullMQ makes up for it when it is taken up
    await keeper.mend();
    expect(queue.asked).toHaveLength(1);
    await keeper.mend();
    expect(queue.asked).toHaveLength(1);
  });

  it.each<[string, ReadSchedule, string | undefined]>([
    ['another time', { kind: 'scheduled', schedule: EARLY }, EARLY.cron],
    ['no time at all', { kind: 'unscheduled' }, undefined],
  ])('takes up %s also when Redis refused it at first', async (_, edit, cron) => {
    const queue = openQueue({ crm: { ...NIGHTLY, nextAtMs: NOW + 1 } });
    const { keep, forget } = queue;
    const keeper = keeperOf(queue);
    queue.keep = queue.forget = async () => {
      throw new Error('NOREPLICAS');
    };
    await expect(keeper.takeUp(new Map([['crm', edit]]))).rejects.toThrow('NOREPLICAS');
    Object.assign(queue, { keep, forget });
    await keeper.takeUp(new Map());
    await keeper.mend();
    expect(queue.schedules.get('crm')?.cron).toBe(cron);
  });

  it('leaves the schedules of others to them', async () => {
    const other = { cron: '0 5 * * *', timezone: 'UTC', nextAtMs: NOW + 1 };
    const queue = openQueue({ crm: other });
    const keeper = keeperOf(queue);
    await keeper.mend(); // another process has another one; it was the last to be told
    expect(queue.schedules.get('crm')).toEqual(other);
  });
});
