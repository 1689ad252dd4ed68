import { isAnswer, type Outcome, type OutcomeStatus } from '../../src/brand/outcome.ts';
import { createRandom } from '../support/random.ts';
import { type Least, leastFor } from './oracle.ts';
import { hash } from './replies.ts';
import { createServer, type Server } from './server.ts';
import { openStack, rememberedLimit, type Stack, type StackOptions } from './stack.ts';
import { createVirtualClock, type VirtualClock } from './virtual-time.ts';
import { isHopeless, type Own, ownAnswers, type World } from './world.ts';

/** How a world ended. */
export interface Score {
  readonly world: World;
  readonly least: Least;
  readonly elapsedMs: number;
  readonly calls: number;
  /** Of the time, and of the calls, that somebody needs who knows the world. */
  readonly timeRatio: number;
  readonly callsRatio: number;
  readonly statuses: Readonly<Partial<Record<OutcomeStatus, number>>>;
  /** Verdicts that were kept though they are wrong. */
  readonly wrongKept: number;
  /** Domains that failed though an answer was to be had. */
  readonly wrongFailed: number;
  /** Domains that had no outcome. */
  readonly missing: number;
  /** Why the run stopped. */
  readonly stopped: string | undefined;
  readonly isWrongStop: boolean;
  readonly isMissedStop: boolean;
  /** Far more calls or time than could be needed. */
  readonly isRunaway: boolean;
  /** All waited for each other. */
  readonly isStuck: boolean;
  /** Calls that a limit refused. */
  readonly refused: number;
}

/** What a world is played with. */
export interface Played {
  readonly score: Score;
  readonly server: Server;
  readonly stack: Stack;
}

/** So many times the least calls and time are a runaway. */
const MOST_CALLS = 15;
const MOST_TIMES = 300;
const HOURS_MS = 3 * 60 * 60_000;
/** A run that is this much longer is as good: a second for the last retries, and one for the start. */
const SLACK_MS = 2_000;

/** Plays a world with the real worker, in virtual time; the same each time. */
export async function play(
  world: World,
  options: Pick<StackOptions, 'home' | 'learned'> = {},
): Promise<Played> {
  const { domains, idle, sleep, remembered } = world;
  const random = createRandom(hash(world.name));
  const owns = ownAnswers(world, random);
  const least = leastFor(world, owns);
  const clock = createVirtualClock();
  const server = createServer(world, { clock, random, ownOf: (domain) => owns[placeOf(domain)] });
  const names = owns.map((_, at) => `d${at}.com`);
  const half = idle ? Math.ceil(domains / 2) : domains;
  const outcomes: Outcome[] = [];
  const run: Run = { clock, server, least, world, outcomes };
  let learned = remembered === undefined ? options.learned : rememberedLimit(remembered);
  const open = (): Stack =>
    openStack(world, { ...options, clock, random, learned, transport: server });
  if (sleep) clock.at(sleep.fromMs, () => clock.jump(sleep.forMs));
  let stack = open();
  let ended = await lookUpIn(stack, names.slice(0, half), run);
  let { endedMs } = ended;
  if (idle && ended.how === 'done') {
    if (idle.isNextRun) {
      learned = stack.remember();
      await stack.close();
    }
    await clock.pass(clock.sleep(idle.forMs, new AbortController().signal));
    if (idle.isNextRun) stack = open();
    ended = await lookUpIn(stack, names.slice(half), run);
    endedMs = ended.endedMs - idle.forMs;
  }
  await stack.close();
  const score = { ...scoreOf(run, owns, stack), ...ratiosOf(run, endedMs) };
  const isRunaway = ended.how === 'late';
  return { score: { ...score, isRunaway, isStuck: ended.how === 'stuck' }, server, stack };
}

/** Plays worlds one after the other. */
export async function playAll(worlds: readonly World[]): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const world of worlds) scores.push((await play(world)).score);
  return scores;
}

interface Run {
  readonly clock: VirtualClock;
  readonly server: Server;
  readonly least: Least;
  readonly world: World;
  readonly outcomes: Outcome[];
}

async function lookUpIn(stack: Stack, names: readonly string[], run: Run) {
  const { clock, server, least, outcomes } = run;
  let endedMs = clock.nowMs();
  const work = stack.lookUp(names, (all) => {
    outcomes.push(...all);
    endedMs = clock.nowMs();
  });
  const mostCalls = MOST_CALLS * least.calls + 3_000;
  const untilMs = clock.nowMs() + MOST_TIMES * least.ms + HOURS_MS;
  const how = await clock.pass(work, () => clock.nowMs() > untilMs || server.calls > mostCalls);
  if (how !== 'done') {
    stack.stopSwitch.giveUp({ reason: 'error' });
    await clock.pass(work);
  } else await work;
  return { how, endedMs: stack.stopSwitch.stopped ? clock.nowMs() : endedMs };
}

function ratiosOf({ server, least }: Run, elapsedMs: number) {
  const { calls } = server;
  const timeRatio = elapsedMs / (least.ms + SLACK_MS);
  return { elapsedMs, calls, timeRatio, callsRatio: calls / least.calls };
}

function scoreOf(run: Run, owns: readonly (Own | undefined)[], stack: Stack) {
  const { world, least, outcomes, server } = run;
  const statuses: Partial<Record<OutcomeStatus, number>> = {};
  let wrongKept = 0;
  let wrongFailed = 0;
  for (const { domain, status } of outcomes) {
    statuses[status] = (statuses[status] ?? 0) + 1;
    const truth = isHopeless(world) ? undefined : truthOf(owns[placeOf(domain)]);
    if (status === truth) continue;
    if (isAnswer(status)) wrongKept += 1;
    else wrongFailed += 1;
  }
  const { stopped } = stack.stopSwitch;
  const isStopped = stopped !== undefined && stopped.reason !== 'error';
  return {
    world,
    least,
    statuses,
    wrongKept,
    wrongFailed: world.stop === 'must' ? 0 : Math.max(0, wrongFailed - least.mayFail),
    missing: world.domains - new Set(outcomes.map(({ domain }) => domain)).size,
    stopped: stopped?.reason,
    isWrongStop: isStopped && world.stop === undefined,
    isMissedStop: !isStopped && world.stop === 'must',
    refused: server.refusedAtMs.length,
  };
}

function truthOf(own: Own | undefined): OutcomeStatus {
  if (!own) return 'found';
  const status = own.reply.slice(0, 3);
  if (status === '404') return 'not_found';
  if (status === '202') return 'pending';
  return ['400', '401', '402', '403', '422'].includes(status) ? 'rejected' : 'failed';
}

function placeOf(domain: string): number {
  return Number(domain.slice(1, -4));
}
