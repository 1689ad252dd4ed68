import { isAnswer, type Outcome, type OutcomeStatus } from '../../src/calls/outcome.ts';
import { createRandom } from '../support/random.ts';
import { type Least, leastFor } from './oracle.ts';
import { hash } from './replies.ts';
import { createServer, type Server } from './server.ts';
import { openStack, rememberedLimit, type Stack, type StackOptions } from './stack.ts';
import { createVirtualClock, type VirtualClock } from './virtual-time.ts';
import { isHopeless, type Own, ownAnswers, type Span, type World } from './world.ts';

/** How a world ended. */
export interface Score {
  readonly world: World;
  readonly least: Least;
  readonly elapsedMs: number;
  readonly calls: number;
  /** Verdicts that were kept though they are wrong. */
  readonly wrongKept: number;
  /** Domains that failed though an answer was to be had. */
  readonly wrongFailed: number;
  /** Domains that had no outcome. */
  readonly missing: number;
  /** Why the run stopped. */
  readonly stopped: string | undefined;
  /**
   * Of a run that went on: far more calls or time than could be needed, or all waited for each
   * other.
   */
  readonly how: 'done' | 'late' | 'stuck';
  /** Calls that a limit refused. */
  readonly refused: number;
}

/** What a world is played with. */
export interface Played {
  readonly score: Score;
  readonly server: Server;
  readonly stack: Stack;
}

/** So many times the least calls and time are far more than could be needed. */
const MOST_CALLS = 15;
const MOST_TIMES = 300;
const HOURS_MS = 3 * 3_600_000;

/** Plays worlds one after the other. */
export async function playAll(
  worlds: readonly World[],
  options: PlayOptions = {},
): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const world of worlds) scores.push((await play(world, options)).score);
  return scores;
}

interface Run extends Pick<Played, 'server'> {
  readonly world: World;
  readonly least: Least;
  readonly clock: VirtualClock;
  readonly outcomes: Outcome[];
}

export interface PlayOptions extends Pick<StackOptions, 'home' | 'learned'> {
  /** Who plays. @default one worker by itself */
  readonly open?: typeof openStack;
}

/** Plays a world with the real worker, in virtual time; the same each time. */
export async function play(
  world: World,
  { open: openWith = openStack, ...options }: PlayOptions = {},
): Promise<Played> {
  const { idle, sleep, remembered } = world;
  const random = createRandom(hash(world.name));
  const owns = ownAnswers(world, random);
  const clock = createVirtualClock();
  const server = createServer(world, { clock, random, ownOf: (domain) => owns[placeOf(domain)] });
  const run: Run = { world, server, clock, outcomes: [], least: leastFor(world, owns) };
  const names = owns.map((_, at) => `d${at}.com`);
  const half = idle ? Math.ceil(names.length / 2) : names.length;
  let learned = remembered === undefined ? options.learned : rememberedLimit(remembered);
  const open = (): Stack =>
    openWith(world, { ...options, clock, random, learned, transport: server });
  if (sleep) clock.at(sleep.fromMs, () => clock.jump(sleep.forMs));
  let stack = open();
  let ended = await lookUpIn(stack, names.slice(0, half), run);
  if (idle && ended.how === 'done') {
    if (idle.isNextRun) {
      learned = stack.remember();
      await stack.close();
    }
    await clock.pass(clock.sleep(idle.forMs, new AbortController().signal));
    if (idle.isNextRun) stack = open();
    ended = await lookUpIn(stack, names.slice(half), run);
    ended.elapsedMs -= idle.forMs;
  }
  await stack.close();
  for (const span of [world.pause, world.sleep])
    ended.elapsedMs -= missedMs(ended.elapsedMs, run, span);
  return { score: { ...ended, ...scoreOf(run, owns, stack) }, server, stack };
}

/** Time that is nobody's, in which somebody who knows the world was done before. */
function missedMs(elapsedMs: number, { least }: Run, span: Span | undefined): number {
  if (!span || least.ms > span.fromMs) return 0;
  return Math.min(span.forMs, Math.max(0, elapsedMs - span.fromMs));
}

async function lookUpIn(stack: Stack, names: readonly string[], run: Run) {
  const { clock, server, least, outcomes } = run;
  let elapsedMs = clock.nowMs();
  const work = stack.lookUp(names, (all) => {
    outcomes.push(...all);
    elapsedMs = clock.nowMs();
  });
  const mostCalls = MOST_CALLS * least.calls + 3_000;
  const untilMs = clock.nowMs() + MOST_TIMES * least.ms + HOURS_MS;
  const how = await clock.pass(work, () => clock.nowMs() > untilMs || server.calls > mostCalls);
  if (how === 'done') await work;
  else {
    stack.stopSwitch.giveUp({ reason: 'error' });
    await clock.pass(work);
  }
  return { how, elapsedMs: stack.stopSwitch.stopped ? clock.nowMs() : elapsedMs };
}

function scoreOf(run: Run, owns: readonly (Own | undefined)[], stack: Stack) {
  const { world, least, outcomes, server } = run;
  const isNothingTrue = isHopeless(world);
  const wrong = outcomes.filter(
    ({ domain, status }) => isNothingTrue || status !== truthOf(owns[placeOf(domain)]),
  );
  const wrongKept = wrong.filter(({ status }) => isAnswer(status)).length;
  const mayFail = world.stop === 'must' ? world.domains : least.mayFail;
  return {
    world,
    least,
    calls: server.calls,
    wrongKept,
    wrongFailed: Math.max(0, wrong.length - wrongKept - mayFail),
    missing: world.domains - new Set(outcomes.map(({ domain }) => domain)).size,
    stopped: stack.stopSwitch.stopped?.reason,
    refused: server.refusedAtMs.length,
  };
}

const REJECTED = /^(400|401|402|403|422)/;

function truthOf(own: Own | undefined): OutcomeStatus {
  const reply = own?.reply ?? 'found';
  if (reply === 'found') return 'found';
  if (/^(404|410)/.test(reply)) return 'not_found';
  if (reply === '202') return 'pending';
  return REJECTED.test(reply) ? 'rejected' : 'failed';
}

function placeOf(domain: string): number {
  return Number(domain.slice(1, -4));
}
