import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeSelf } from '../../src/common/owner.ts';
import { type Claims, type ClaimsOptions, createClaims } from '../../src/store/claims/claims.ts';
import { useTempFolder } from '../support/temp-folder.ts';

/** Waits until a run has said anew what it has under way. */
async function renewed(path: string): Promise<void> {
  const before = statSync(path).mtimeMs;
  await expect.poll(() => statSync(path).mtimeMs).toBeGreaterThan(before);
}

describe('claims of runs on one store', () => {
  it('leave nothing behind', () => {
    const folder = useTempFolder();
    const run = openRun(folder);
    expect(readdirSync(folder)).toEqual([]);
    run.want('a.com');
    expect(readdirSync(folder)).toHaveLength(1);
    run.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are refused for what another run has under way', () => {
    const folder = useTempFolder();
    const [one, other] = [openRun(folder), openRun(folder)];
    one.want('a.com', 'b.com');
    expect(other.want('b.com', 'c.com')).toEqual({ granted: ['c.com'], refused: ['b.com'] });
    expect(one.want('c.com', 'd.com')).toEqual({ granted: ['d.com'], refused: ['c.com'] });
  });

  it('are neither granted nor refused for what another run has done', () => {
    const folder = useTempFolder();
    const done = new Set<string>();
    const [one, other] = [openRun(folder), openRun(folder, { done })];
    one.want('a.com');
    one.close();
    openRun(folder).want('z.com');
    done.add('a.com');
    expect(other.want('a.com', 'b.com')).toEqual({ granted: ['b.com'], refused: [] });
  });

  it('concern one API only', () => {
    const folder = useTempFolder();
    openRun(folder, { endpointId: 'another-api' }).want('a.com');
    expect(openRun(folder).want('a.com').granted).toEqual(['a.com']);
  });

  it('of a process that is gone are void, and go', () => {
    const folder = useTempFolder();
    const gone = { ...describeSelf(), pid: NOBODY_PID };
    openRun(folder, { self: gone }).want('a.com');
    expect(openRun(folder).want('a.com').granted).toEqual(['a.com']);
    expect(existsSync(join(folder, gone.token))).toBe(false);
  });

  it('of a process elsewhere are void when it gives no sign of life', () => {
    const folder = useTempFolder();
    const elsewhere = { ...describeSelf(), place: 'another machine' };
    openRun(folder, { self: elsewhere, renewMs: 60_000 }).want('a.com');
    let nowMs = 0;
    const run = openRun(folder, { now: () => nowMs });
    expect(run.want('a.com').refused).toEqual(['a.com']);
    nowMs += 9_000;
    expect(run.want('a.com').refused).toEqual(['a.com']);
    nowMs += 2_000;
    expect(run.want('a.com').granted).toEqual(['a.com']);
  });

  it('of a process that is there stay, though it is suspended for a while', () => {
    const folder = useTempFolder();
    openRun(folder, { renewMs: 10 * 60_000 }).want('a.com');
    let nowMs = 0;
    const run = openRun(folder, { now: () => nowMs });
    for (const minutes of [0, 1, 4]) {
      nowMs = minutes * 60_000;
      expect(run.want('a.com').refused).toEqual(['a.com']);
    }
    nowMs += 2 * 60_000;
    expect(run.want('a.com').granted).toEqual(['a.com']);
  });

  it('stay, however many there were, in a file that does not grow without end', () => {
    const folder = useTempFolder();
    const [one, other] = [openRun(folder), openRun(folder)];
    one.want('stays.com');
    other.want('z.com');
    for (let at = 0; at < 400; at += 1) {
      const domains = Array.from({ length: 100 }, (_, index) => `company-${at}-${index}.com`);
      one.want(...domains);
      if (at < 399) for (const domain of domains) one.underWay.delete(domain);
      if (at % 100 === 0) other.want(`other-${at}.com`);
    }
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).size).toBeLessThan(600_000);
    }
    const domains = ['stays.com', 'company-399-3.com', 'company-1-3.com'];
    expect(other.want(...domains)).toEqual({
      granted: ['company-1-3.com'],
      refused: ['stays.com', 'company-399-3.com'],
    });
  });

  it('are given up for what has its outcome, which may be too old for another run', async () => {
    const folder = useTempFolder();
    const [one, other] = [openRun(folder, { renewMs: 20 }), openRun(folder)];
    one.want('a.com', 'b.com');
    one.underWay.delete('a.com');
    expect(other.want('a.com').refused).toEqual(['a.com']);
    await expect.poll(() => other.want('a.com').granted).toEqual(['a.com']);
    expect(other.want('b.com').refused).toEqual(['b.com']);
  });

  it('are void of a run that stands still for long, and stay of one that waits for the API', async () => {
    const folder = useTempFolder();
    let nowMs = 0;
    const clock = { renewMs: 20, now: () => nowMs };
    const [paused, waiting] = [{ ...describeSelf() }, { ...describeSelf() }];
    let isPaused = true;
    openRun(folder, { ...clock, self: paused, standsStill: () => isPaused }).want('a.com');
    openRun(folder, { ...clock, self: waiting }).want('b.com');
    const run = openRun(folder, { now: () => nowMs });
    for (const minutes of [1, 4]) {
      nowMs = minutes * 60_000;
      await renewed(join(folder, paused.token));
      expect(run.want('a.com', 'b.com').refused).toEqual(['a.com', 'b.com']);
    }
    nowMs = 60 * 60_000;
    await renewed(join(folder, waiting.token));
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    expect(run.want('b.com').refused).toEqual(['b.com']);
    isPaused = false;
    await renewed(join(folder, paused.token));
    expect(run.want('c.com').granted).toEqual(['c.com']);
  });

  it('are granted where no file can be written', () => {
    const path = join(useTempFolder(), 'a-file');
    writeFileSync(path, '');
    expect(openRun(path).want('a.com').granted).toEqual(['a.com']);
  });

  it('are not hindered by what somebody has put there', () => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'empty'), '');
    writeFileSync(join(folder, 'nonsense'), 'null\na.com\n');
    writeFileSync(join(folder, 'json'), '{"owner":{}}\na.com\n');
    mkdirSync(join(folder, 'a folder'));
    const [one, other] = [openRun(folder), openRun(folder)];
    expect(one.want('a.com').granted).toEqual(['a.com']);
    expect(other.want('a.com', 'b.com')).toEqual({ granted: ['b.com'], refused: ['a.com'] });
  });

  it('never let two runs ask about one domain, whatever they do', () => {
    const domain = fc.integer({ min: 0, max: 12 }).map((number) => `d${number}.com`);
    const step = fc.record({
      run: fc.nat(2),
      does: fc.constantFrom('take', 'take', 'finish', 'end'),
      domains: fc.uniqueArray(domain, { minLength: 1, maxLength: 5 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const folder = useTempFolder();
        const done = new Set<string>();
        const runs = [0, 1, 2].map(() => openRun(folder, { done }));
        for (const { run: at, does, domains } of steps) {
          const run = runs[at];
          if (!run) continue;
          if (does === 'finish') {
            for (const each of domains) if (run.underWay.delete(each)) done.add(each);
          } else if (does === 'end') {
            run.close();
            run.underWay.clear();
          } else {
            const fresh = domains.filter((each) => !run.underWay.has(each) && !done.has(each));
            const { granted, refused } = run.want(...fresh);
            const others = runs.filter((each) => each !== run);
            const has = (each: string) => others.some(({ underWay }) => underWay.has(each));
            expect(refused).toEqual(fresh.filter(has));
            expect(granted).toEqual(fresh.filter((each) => !has(each)));
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('claims of a run over a queue that is lost', () => {
  /** A run that was killed, and another one that is told when it may take over. */
  function openLost(claimed = ['a.com']) {
    const folder = useTempFolder();
    const gone = { ...describeSelf(), pid: NOBODY_PID };
    const neverAsked = async (_runId: string): Promise<boolean> => true;
    const elsewhere = (runId: string, endLost = neverAsked) => ({ runId, endLost });
    openRun(folder, { self: gone, elsewhere: elsewhere('lost') }).want(...claimed);
    const asked: string[] = [];
    let answer = (_isNoMoreThere: boolean): void => {};
    const endLost = async (runId: string): Promise<boolean> => {
      asked.push(runId);
      return await new Promise((resolve) => {
        answer = resolve;
      });
    };
    const run = openRun(folder, { elsewhere: elsewhere('heir', endLost) });
    return {
      folder,
      elsewhere,
      path: join(folder, gone.token),
      run,
      asked,
      answer: (is: boolean) => answer(is),
    };
  }

  it('stay until what it has there is ended', async () => {
    const { path, run, asked, answer } = openLost();
    expect(run.want('a.com', 'b.com')).toEqual({ granted: ['b.com'], refused: ['a.com'] });
    expect(run.want('a.com').refused).toEqual(['a.com']);
    expect(asked).toEqual(['lost']);
    answer(false);
    await expect.poll(() => (run.want('a.com'), asked)).toHaveLength(2);
    answer(true);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    expect(existsSync(path)).toBe(false);
  });

  it('stay when it is stopped and could not wait for all', async () => {
    const folder = useTempFolder();
    const gone = { ...describeSelf(), pid: NOBODY_PID };
    const lost: string[] = [];
    const endLost = async (runId: string): Promise<boolean> => lost.push(runId) > 0;
    const stopped = openRun(folder, { self: gone, elsewhere: { runId: 'stopped', endLost } });
    stopped.want('a.com', 'b.com');
    stopped.underWay.delete('b.com');
    stopped.close();
    const run = openRun(folder, { elsewhere: { runId: 'heir', endLost } });
    expect(run.want('a.com', 'b.com').refused).toEqual(['a.com']);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    expect(lost).toEqual(['stopped']);
  });

  it('leave no file when there were none, when it is taken up by its name, or when it is long ago', () => {
    const { folder, path, elsewhere } = openLost();
    openRun(folder, { elsewhere: elsewhere('lost') }).want('z.com');
    expect(existsSync(path)).toBe(false);
    const old = openLost();
    utimesSync(old.path, 0, 0);
    expect(old.run.want('a.com').granted).toEqual(['a.com']);
    expect(existsSync(old.path)).toBe(false);
    const empty = openLost([]);
    empty.run.want('z.com');
    expect(existsSync(empty.path)).toBe(false);
  });

  it('are nothing to a run that does not want them', () => {
    const { run, asked } = openLost();
    expect(run.want('b.com').granted).toEqual(['b.com']);
    expect(asked).toEqual([]);
  });

  it('stay when it is frozen, until what it has there is ended, and count again when it is thawed', async () => {
    const folder = useTempFolder();
    let nowMs = 0;
    const self = { ...describeSelf(), place: 'another machine' };
    const elsewhere = { runId: 'frozen', endLost: async () => true };
    const frozen = openRun(folder, { self, elsewhere, renewMs: 60_000 });
    frozen.want('a.com');
    const heir = { ...elsewhere, runId: 'heir' };
    const run = openRun(folder, { elsewhere: heir, now: () => nowMs });
    run.want('z.com');
    nowMs += 11_000;
    expect(run.want('a.com').refused).toEqual(['a.com']);
    await expect.poll(() => run.want('a.com').granted).toEqual(['a.com']);
    frozen.want('b.com');
    nowMs += 600;
    expect(run.want('b.com').refused).toEqual(['b.com']);
  });

  it('are void for a run without a queue', () => {
    const { folder } = openLost();
    expect(openRun(folder).want('a.com').granted).toEqual(['a.com']);
  });
});

/** A run, as far as its claims go. */
interface Run extends Claims {
  readonly underWay: Set<string>;
  /** Claims what is not done. */
  want(...domains: readonly string[]): ReturnType<Claims['take']>;
}

/** The number of no process. */
const NOBODY_PID = 2 ** 22 + 1;

/** Opens the claims of a run until the test ends. */
function openRun(
  folder: string,
  { done = new Set(), ...options }: Partial<ClaimsOptions> & { done?: Set<string> } = {},
): Run {
  const underWay = new Set<string>();
  const endpointId = 'an-api';
  const claims = createClaims(folder, { endpointId, underWay, onOthers: () => {}, ...options });
  onTestFinished(() => claims.close());
  return {
    ...claims,
    underWay,
    want: (...domains) => {
      for (const domain of domains) underWay.add(domain);
      const taken = claims.take(domains, (domain) => done.has(domain));
      for (const domain of domains) if (!taken.granted.includes(domain)) underWay.delete(domain);
      return taken;
    },
  };
}
