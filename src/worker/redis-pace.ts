import { randomUUID } from 'node:crypto';
import { SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { createScript, type RedisServer } from '../queue/redis.ts';
import { errorText, isReply } from '../queue/redis-errors.ts';
import type { Clock } from './clock.ts';
import type { PaceHome } from './gate.ts';
import { createPace, type PacedCall } from './pace.ts';
import { PACE_SCRIPT } from './pace-script.ts';
import { createFixedRate, type Rate, slower } from './rate.ts';

/** Where the workers of a credential keep their pace. */
export interface SharedPace {
  readonly redis: Pick<RedisServer, 'client' | 'refused'>;
  /** One key for each credential and API. */
  readonly key: string;
  /** The slowest rate of the runs that calls are made for at present. @default none has one */
  readonly slowest?: (() => Rate | undefined) | undefined;
}

export interface RedisPaceOptions extends SharedPace {
  readonly rate: Rate | undefined;
  /** Where to start while nothing is known. @default it is looked for */
  readonly start?: Rate | undefined;
  readonly clock: Clock;
  /** Lookups that wait for a call or have one under way, at most: with so many, each end is followed by a start. */
  readonly callers: number;
  /** Called with a sentence when what Redis kept is of no use. */
  readonly onNotice: (message: string) => void;
}

/** What the script returns. Times are those of Redis. */
interface Granted {
  readonly now: number;
  readonly starts: readonly number[] | Record<string, never>;
  readonly pace: PaceHome['pace'];
  readonly sick: boolean;
}

/** Redis is asked this often at most, and for start times for this long beyond the way there and back. */
const LEAST_GAP_MS = 50;
/** The same when it gave all start times that were wanted, and they are used up. */
const LEAST_GAP_FAST_MS = 5;
const SPAN_MS = 100;
/** A worker that has nothing to do says so often enough to count, with its rate. */
const RENEW_MS = 2_000;
/** A start that is later than this is given up. */
const LATE_MS = 2_000;
const MOST_WANTED = 512;

/**
 * Keeps the pace with all workers of a credential, in Redis: start times for the next moment come in one
 * round trip, in which what ended since is told. A refusal is told at once, and start times of before are no
 * good any more. The farther Redis is, the further ahead start times are asked for. While Redis cannot be
 * reached, no call starts.
 */
export function createRedisPace({
  redis: { client, refused },
  key,
  slowest,
  rate,
  start,
  clock,
  callers,
  onNotice,
}: RedisPaceOptions): PaceHome {
  const worker = randomUUID();
  const script = createScript(client, PACE_SCRIPT);
  const pace = createPace(clock.nowMs(), { limitPerMs: 0, cap: 0, isFixed: rate !== undefined });
  const fixed = rate && createFixedRate(rate);
  /** In the time of Redis, as granted. */
  let starts: number[] = [];
  let events: object[] = [];
  let aheadMs = 0;
  let leastTripMs = Number.POSITIVE_INFINITY;
  let tripMs = 0;
  let waiting = 0;
  let underWay = 0;
  let isSick = false;
  let isAsking = false;
  let isWanted = false;
  let askedMs = Number.NEGATIVE_INFINITY;
  let dueMs = Number.POSITIVE_INFINITY;
  let leastGapMs = LEAST_GAP_MS;
  let isClosed = false;
  let isSaid = false;
  let timer: NodeJS.Timeout | undefined;

  /** Comes for start times soon, or later to be counted. */
  function comeIn(ms: number): void {
    const atMs = clock.nowMs() + ms;
    if (isClosed || atMs >= dueMs) return;
    clearTimeout(timer);
    dueMs = atMs;
    timer = setTimeout(() => void exchange(), ms);
  }

  function comeSoon(gapMs = LEAST_GAP_MS): void {
    if (isAsking) isWanted = true;
    else comeIn(Math.max(0, askedMs + gapMs - clock.nowMs()));
  }

  async function exchange(): Promise<void> {
    if (isAsking || isClosed) return;
    isAsking = true;
    isWanted = false;
    const sentMs = clock.nowMs();
    askedMs = sentMs;
    dueMs = Number.POSITIVE_INFINITY;
    const told = events;
    events = [];
    drop((at) => sentMs + aheadMs - at > LATE_MS);
    try {
      // Callers that are all busy make one call after the other, each in the time of an answer.
      const all = waiting + underWay;
      const rounds = all < callers ? 0 : (SPAN_MS + tripMs) / Math.max(1, pace.latencyMs);
      const most = Math.min(MOST_WANTED, Math.max(waiting, all * rounds)) - starts.length;
      const want = waiting > 0 ? Math.max(0, Math.ceil(most)) : 0;
      const said = {
        events: told,
        want,
        busy: underWay + starts.length,
        lead: tripMs / 2,
        span: SPAN_MS + tripMs,
        rate: slower(rate, slowest?.()),
        start,
      };
      const reply = JSON.parse(String(await script([key], [worker, JSON.stringify(said)])));
      leastGapMs = learn(reply as Granted, sentMs) < want ? LEAST_GAP_MS : LEAST_GAP_FAST_MS;
    } catch (error) {
      leastGapMs = LEAST_GAP_MS;
      if (!isReply(error))
        events = [...told, ...events]; // Redis is away: that is told elsewhere
      else await beginAnew(error);
    }
    isAsking = false;
    home.onChange?.();
    if (events.length > 0 || isWanted || waiting > 0) comeSoon();
    else comeIn(RENEW_MS);
  }

  /** What the script cannot use is another version's, or nobody's: without it calls go on. */
  async function beginAnew(error: unknown): Promise<void> {
    if (!UNUSABLE.test(errorText(error))) return refused(error);
    try {
      await client.del(key);
    } catch {
      // it is tried again
    }
    if (!isSaid) onNotice(FOUND_OUT_ANEW);
    isSaid = true;
  }

  /** @returns how many start times were granted */
  function learn(reply: Granted, sentMs: number): number {
    const { now, starts: granted, pace: theirs, sick } = reply;
    const nowMs = clock.nowMs();
    const thisTripMs = nowMs - sentMs;
    tripMs += (thisTripMs - tripMs) * (tripMs === 0 ? 1 : 0.2);
    // The quickest trips tell the time best, as in NTP; it must not jump while calls are under way.
    const aheadNowMs = now - (sentMs + nowMs) / 2;
    const offMs = Math.abs(aheadNowMs - aheadMs);
    if (offMs > LATE_MS) drop(() => true); // another Redis, with another clock
    if (thisTripMs < leastTripMs * 1.2 || offMs > thisTripMs) aheadMs = aheadNowMs;
    leastTripMs = Math.min(thisTripMs, leastTripMs * 1.02);
    const isCut = theirs.cutMs - aheadMs > pace.cutMs + 1;
    Object.assign(pace, { before: undefined }, theirs);
    for (const time of TIMES) pace[time] -= aheadMs;
    isSick = sick;
    if (isCut) drop(() => true);
    if (!Array.isArray(granted)) return 0;
    starts.push(...(granted as readonly number[]));
    return granted.length;
  }

  function drop(which: (at: number) => boolean): void {
    for (const sentAtMs of starts.filter(which)) {
      events.push({ how: 'none', sentAtMs, latencyMs: 0, inFlight: 1, atMs: sentAtMs });
    }
    starts = starts.filter((at) => !which(at));
  }

  function tell(how: string, call: PacedCall, nowMs: number): void {
    const { latencyMs, inFlight, isAgain, retryAfterMs, limits } = call;
    const sentAtMs = Math.min(call.sentAtMs, nowMs) + aheadMs;
    events.push({
      how,
      sentAtMs,
      latencyMs,
      inFlight,
      isAgain,
      retryAfterMs,
      limits,
      atMs: nowMs + aheadMs,
    });
  }

  const home: PaceHome = {
    pace,
    fixed,
    nextMs: () => (starts[0] ?? Number.POSITIVE_INFINITY) - aheadMs,
    start: () => {
      starts.shift();
      underWay += 1;
      waiting = Math.max(0, waiting - 1);
    },
    ended: (how, call, nowMs) => {
      underWay -= 1;
      tell(how, call, nowMs);
      if (how === 'refused') drop(() => true);
      comeSoon(how === 'refused' || how === 'away' ? 0 : LEAST_GAP_MS);
    },
    forget: (nowMs) => tell('forget', { sentAtMs: nowMs, latencyMs: 0, inFlight: 1 }, nowMs),
    wanted: (count) => {
      waiting = count;
      if (starts.length === 0) comeSoon(leastGapMs);
    },
    get isSick() {
      return isSick;
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      drop(() => true);
      const said = { events, want: 0, busy: 0, lead: 0, span: 0, gone: true };
      const telling = script([key], [worker, JSON.stringify(said)]);
      await within(
        SHUTDOWN_TIMEOUT_MS,
        telling.then(
          () => {},
          () => {},
        ),
      );
    },
  };
  comeIn(0);
  return home;
}

/** Errors of the script itself, and of a key that holds something else. */
const UNUSABLE = /^WRONGTYPE|^ERR .*script/i;
const FOUND_OUT_ANEW =
  'What Redis kept of the pace could not be read, perhaps that of another version: the pace is found out anew.';

const TIMES = ['shutUntilMs', 'refusedMs', 'cutMs', 'nextMs', 'lastMs', 'epochMs'] as const;
