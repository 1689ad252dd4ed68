import { GivenUpError, type Transport } from '../../src/brand/transport.ts';
import { createLimits } from './limits.ts';
import {
  errorOf,
  LIMIT_WORDS,
  ownWords,
  recordOf,
  type Told,
  toExchanged,
  wordsOf,
} from './replies.ts';
import { normal, type VirtualClock } from './virtual-time.ts';
import { isDuring, type Own, TIMEOUT_MS, type Trouble, type World } from './world.ts';

/** The API of a world, as a transport reaches it in virtual time, and what it has seen. */
export interface Server extends Transport {
  readonly calls: number;
  /** When the ends of calls were seen that no limit had refused, and of those that one had. */
  readonly acceptedAtMs: readonly number[];
  readonly refusedAtMs: readonly number[];
}

export interface ServerOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  /** What a domain of the list is answered that has an answer of its own. */
  readonly ownOf: (domain: string) => Own | undefined;
}

/** What a call is answered that has arrived, and how long that takes. */
interface Answer {
  readonly told: Told;
  readonly afterMs: number;
  readonly by: 'server' | 'limit' | 'trouble';
}

const ONE_WAY_MS = 10;
const USUAL_SPREAD = 0.4;
/** A refusal costs a server so much. */
const QUICK_MS = 3;

export function createServer(world: World, { clock, random, ownOf }: ServerOptions): Server {
  const { latencyMs, spread = USUAL_SPREAD, cold, crowdMs = 0, sleep, troubles = [] } = world;
  const limits = createLimits(world);
  const acceptedAtMs: number[] = [];
  const refusedAtMs: number[] = [];
  const tripMs = Math.min(ONE_WAY_MS, latencyMs / 4);
  let calls = 0;
  let inFlight = 0;

  const oneWayMs = (): number => tripMs * (0.5 + random());

  function serviceMs(nowMs: number): number {
    const factor = cold && nowMs < cold.untilMs ? cold.factor : 1;
    const usual = (latencyMs - 2 * tripMs) * factor + crowdMs * inFlight;
    return usual * Math.exp(spread * normal(random) - spread ** 2 / 2);
  }

  /** What a domain is answered when nothing is in the way. */
  function answerTo(domain: string): Told {
    const own = ownOf(domain);
    if (!own) return { name: 'found', words: recordOf(domain) };
    const { reply: name, text = 'one' } = own;
    if (text === 'own') return { name, words: ownWords(domain) };
    return { name, words: text === 'limit' ? LIMIT_WORDS : wordsOf(name, calls) };
  }

  function answerToAll(domains: readonly string[]): Told {
    const spoiling = domains.find((domain) => ownOf(domain)?.spoilsBatch);
    if (spoiling) return answerTo(spoiling);
    const answers = domains.map((domain) => ({ domain, told: answerTo(domain) }));
    // Of what never comes the reply says nothing.
    const coming = answers.filter(({ told }) => told.name !== 'never');
    const entries = coming.map(({ domain, told }) => {
      const answer: unknown = JSON.parse(told.words);
      return { domain, status: toExchanged(told).httpStatus, answer };
    });
    return { name: 'found', words: JSON.stringify(entries) };
  }

  /** @param isOutage whether all calls meet it, rather than some */
  function troubleAt(nowMs: number, isOutage: boolean): Told | undefined {
    const meets = (one: Trouble): boolean =>
      (one.share === 1) === isOutage && isDuring(one, nowMs) && (isOutage || random() < one.share);
    const trouble = troubles.find(meets);
    if (!trouble) return undefined;
    const { reply: name, waitS } = trouble;
    const headers = waitS === undefined ? {} : { 'retry-after': String(waitS) };
    return { name, words: wordsOf(name, calls), headers };
  }

  function answer(domains: readonly string[], isTogether: boolean, nowMs: number): Answer {
    calls += 1;
    const outage = troubleAt(nowMs, true);
    if (outage) return { told: outage, afterMs: timeOf(outage, QUICK_MS), by: 'trouble' };
    const { isAccepted, by, headers } = limits.arrive(nowMs);
    if (!isAccepted) {
      const told = { name: by?.told ?? '429', words: LIMIT_WORDS, headers } as const;
      return { told, afterMs: timeOf(told, QUICK_MS), by: 'limit' };
    }
    const usual = isTogether ? answerToAll(domains) : answerTo(domains[0] ?? '');
    const told = troubleAt(nowMs, false) ?? { ...usual, headers };
    return { told, afterMs: timeOf(told, serviceMs(nowMs)), by: 'server' };
  }

  return {
    get calls() {
      return calls;
    },
    acceptedAtMs,
    refusedAtMs,
    exchange: ({ path, body }, signal) =>
      new Promise((resolve, reject) => {
        const sentMs = clock.nowMs();
        inFlight += 1;
        clock.at(sentMs + oneWayMs(), () => {
          const domains = body === undefined ? [path.slice(path.indexOf('=') + 1)] : namesIn(body);
          const { told, afterMs, by } = answer(domains, body !== undefined, clock.nowMs());
          const answeredMs = clock.nowMs() + afterMs;
          if (by === 'server') clock.at(answeredMs, () => limits.done());
          clock.at(answeredMs + oneWayMs(), () => {
            const nowMs = clock.nowMs();
            inFlight -= 1;
            (by === 'limit' ? refusedAtMs : acceptedAtMs).push(nowMs);
            if (signal.aborted) return reject(new GivenUpError('the run has ended'));
            const isLost = sleep && sentMs <= sleep.fromMs && nowMs > sleep.fromMs;
            if (isLost) return reject(errorOf('reset'));
            try {
              resolve(toExchanged(told));
            } catch (error) {
              reject(error);
            }
          });
        });
      }),
    close: async () => {},
  };
}

const timeOf = ({ name }: Told, usualMs: number): number =>
  name === 'never' ? TIMEOUT_MS : usualMs;

function namesIn(body: string): readonly string[] {
  return (JSON.parse(body) as { readonly domains: readonly string[] }).domains;
}
