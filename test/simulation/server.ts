import { GivenUpError, type Transport } from '../../src/brand/transport.ts';
import { createLimits } from './limits.ts';
import {
  errorOf,
  HOLDING_RECORD,
  LIMIT_WORDS,
  ownWords,
  recordOf,
  type Told,
  toExchanged,
  wordsOf,
} from './replies.ts';
import { normal, type VirtualClock } from './virtual-time.ts';
import type { Own, World } from './world.ts';

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
  /** What each domain of the list is answered that has an answer of its own. */
  readonly ownOf: (domain: string) => Own | undefined;
}

const TIMEOUT_MS = 60_000;
const ONE_WAY_MS = 10;
const USUAL_SPREAD = 0.4;
/** A refusal costs a server so much. */
const QUICK_MS = 3;

export function createServer(world: World, { clock, random, ownOf }: ServerOptions): Server {
  const { latencyMs, spread = USUAL_SPREAD, cold, crowdMs = 0, sleep, holding = 0 } = world;
  const limits = createLimits(world);
  const acceptedAtMs: number[] = [];
  const refusedAtMs: number[] = [];
  let calls = 0;
  let inFlight = 0;

  const oneWayMs = (): number => Math.min(ONE_WAY_MS, latencyMs / 4) * (0.5 + random());

  function serviceMs(nowMs: number): number {
    const meanMs = latencyMs - 2 * Math.min(ONE_WAY_MS, latencyMs / 4) + crowdMs * inFlight;
    const factor = cold && nowMs < cold.untilMs ? cold.factor : 1;
    return meanMs * factor * Math.exp(spread * normal(random) - spread ** 2 / 2);
  }

  /** What a domain is answered when nothing is in the way. */
  function answerTo(domain: string): Told {
    const own = ownOf(domain);
    if (!own) {
      const isOfHolding = Number(domain.slice(1, -4)) < holding;
      return { name: 'found', words: isOfHolding ? HOLDING_RECORD : recordOf(domain) };
    }
    const { reply: name, text = 'one' } = own;
    if (text === 'own') return { name, words: ownWords(domain) };
    return { name, words: text === 'limit' ? LIMIT_WORDS : wordsOf(name, calls) };
  }

  function answerToAll(domains: readonly string[]): Told {
    const answers = domains.map((domain) => ({ domain, said: answerTo(domain) }));
    // Of what never comes the reply says nothing.
    const entries = answers
      .filter(({ said }) => said.name !== 'never')
      .map(({ domain, said }) => ({
        domain,
        status: toExchanged(said).httpStatus,
        answer: JSON.parse(said.words) as unknown,
      }));
    return { name: 'found', words: JSON.stringify(entries) };
  }

  function troubleAt(nowMs: number): Told | undefined {
    const { outages = [] } = world;
    const outage = outages.find(
      ({ fromMs, forMs, share = 1 }) =>
        nowMs >= fromMs && nowMs < fromMs + forMs && (share === 1 || random() < share),
    );
    return outage && { name: outage.reply, words: wordsOf(outage.reply, calls) };
  }

  /** What a call is answered that arrives, and how long that takes. */
  function answer(domains: readonly string[], isTogether: boolean, nowMs: number) {
    calls += 1;
    const trouble = troubleAt(nowMs);
    if (trouble) return { told: trouble, afterMs: QUICK_MS, isRefused: false, isCounted: false };
    const { isAccepted, by, headers } = limits.arrive(nowMs);
    if (!isAccepted) {
      const told = { name: by?.told ?? '429', words: LIMIT_WORDS, headers } as const;
      return { told, afterMs: QUICK_MS, isRefused: true, isCounted: false };
    }
    const { faults } = world;
    const isFault = faults !== undefined && random() < faults.share;
    const told = isFault
      ? { name: faults.reply, words: wordsOf(faults.reply, calls) }
      : isTogether
        ? answerToAll(domains)
        : answerTo(domains[0] ?? '');
    const afterMs = told.name === 'never' ? TIMEOUT_MS : serviceMs(nowMs);
    return { told: { ...told, headers }, afterMs, isRefused: false, isCounted: true };
  }

  /** A connection that was open when the machine fell asleep is lost. */
  function isLost(sentMs: number, nowMs: number): boolean {
    return sleep !== undefined && sentMs <= sleep.fromMs && nowMs > sleep.fromMs;
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
        const domains = body === undefined ? [path.slice(path.indexOf('=') + 1)] : namesIn(body);
        inFlight += 1;
        clock.at(sentMs + oneWayMs(), () => {
          const arrivedMs = clock.nowMs();
          const { told, afterMs, isRefused, isCounted } = answer(
            domains,
            body !== undefined,
            arrivedMs,
          );
          clock.at(arrivedMs + afterMs, () => isCounted && limits.done());
          clock.at(arrivedMs + afterMs + oneWayMs(), () => {
            const nowMs = clock.nowMs();
            inFlight -= 1;
            (isRefused ? refusedAtMs : acceptedAtMs).push(nowMs);
            if (signal.aborted) return reject(new GivenUpError('the run has ended'));
            if (isLost(sentMs, nowMs)) return reject(errorOf('ECONNRESET'));
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

function namesIn(body: string): readonly string[] {
  return (JSON.parse(body) as { readonly domains: readonly string[] }).domains;
}
