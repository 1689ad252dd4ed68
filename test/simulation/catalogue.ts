import { createRandom } from '../support/random.ts';
import type { ReplyName } from './replies.ts';
import { FOREVER, type Limit, limit, type Own, type Trouble, type World } from './world.ts';

/** A part of a world. */
type Part = Partial<World>;
/** One that depends on when something is to happen. */
type Timed = (startMs: number) => Part;
type Named = readonly [name: string, ...parts: (Part | Timed)[]];

const MINUTE = 60;
const HOUR = 3_600;

const limited = (...args: Parameters<typeof limit>): Part => ({ limits: [limit(...args)] });
const bucket = (count: number, told: ReplyName = '429', more: Partial<Limit> = {}): Part =>
  limited('bucket', count, 1, { told, ...more });
/** Its windows began a third of one ago. */
const windows = (count: number, perS: number, more: Partial<Limit> = {}): Part =>
  limited('fixed', count, perS, { begunMs: 340 * perS, ...more });
const atOnce = (count: number, told: ReplyName = '429'): Part =>
  limited('at_once', count, 1, { told });
const WAITS = { headers: 'retry-after' } as const;
const own = (share: number, reply: ReplyName, more: Partial<Own> = {}): Part => ({
  own: [{ share, reply, ...more }],
});
const OWN_TEXT = { text: 'own' } as const;
const FIRST: Part = { order: 'first' };
const LAST: Part = { order: 'last' };
const trouble = (
  reply: ReplyName,
  fromS: number,
  forS: number,
  more: Partial<Trouble> = {},
): Part => ({
  troubles: [{ reply, fromMs: 1_000 * fromS, forMs: 1_000 * forS, share: 1, ...more }],
});
/** A share of all calls, whatever their domain and pace. */
const faults = (share: number, reply: ReplyName): Part => trouble(reply, 0, FOREVER, { share });
/** After a start of 0.3 s. */
const out = (reply: ReplyName, forS: number): Part => trouble(reply, 0.3, forS);
const forAll = (reply: ReplyName): Part => ({ ...trouble(reply, 0, FOREVER), stop: 'must' });
const fromThenOn = (reply: ReplyName): Part => ({ ...out(reply, FOREVER), stop: 'must' });
const pause: Timed = (fromMs) => ({ pause: { fromMs, forMs: 20 * 60_000 } });
const sleep: Timed = (fromMs) => ({ sleep: { fromMs, forMs: 30 * 60_000 } });
const during =
  (reply: ReplyName, forS: number): Timed =>
  (startMs) =>
    trouble(reply, startMs / 1_000, forS);
const change =
  (factor: number): Timed =>
  (atMs) => ({ change: { atMs, factor } });
const idle = (isNextRun: boolean): Part => ({ idle: { forMs: 200_000, isNextRun } });
const rate = (count: number, perS: number): Part => ({ rate: { count, perMs: 1_000 * perS } });
const list = (domains: number): Part => ({ domains });
const batches: Part = { batch: 20 };
const mayStop: Part = { stop: 'may' };
const several = (share: number, replies: readonly ReplyName[]): Part => ({
  own: replies.map((reply) => ({ share, reply })),
});
const others = (perSecond: number, fromS: number, forS: number): Part => ({
  others: { perSecond, fromMs: 1_000 * fromS, forMs: 1_000 * forS },
});
const flapping = (reply: ReplyName, eachMs: number): Part => ({
  troubles: [1, 3, 5, 7, 9].map((at) => ({ reply, share: 1, fromMs: at * eachMs, forMs: eachMs })),
});

/** What was seen to fail, beside the families below. */
const REPORTED: readonly Named[] = [
  ['one node of four says 403', list(800), faults(0.25, '403')],
  ['each tenth call 403', faults(0.1, '403')],
  ['one connection in twenty reset', faults(0.05, 'reset')],
  ['one call in thirty 403', faults(1 / 30, '403')],
  ['429 by chance, 5 %', faults(0.05, '429')],
  ['sick for 35 s', list(4_000), trouble('500', 0.3, 35, { share: 0.9 })],
  ['34 a minute remembered of a sick spell', list(2_000), { remembered: 34 / 60 }],
  ['403 that names the company, one in five', own(0.2, '403', OWN_TEXT)],
  ['15/s in windows, 25 % 422', windows(15, 1), own(0.25, '422')],
  ['15/s in windows, 25 % 500', windows(15, 1), own(0.25, '500')],
  ['bucket of 60/s, 25 % 422', bucket(60), own(0.25, '422')],
  ['idle for 200 s, then 60/s', bucket(60), idle(false)],
  ['idle for 200 s between two runs', bucket(60), idle(true)],
  ['the last ten never answer', list(300), own(10 / 300, 'never'), LAST],
  ['the last twenty always fail', list(600), own(20 / 600, '500'), LAST],
  ['a deploy: JSON 404 for 3 s', out('404', 3)],
  ['a redirect to a login for 3 s', out('302', 3)],
  ['the first six are one holding', list(600), own(0.01, 'found'), FIRST],
  ['the first 40 are refused', list(1_000), own(0.04, '403'), FIRST],
  ['two domains, the first 403', list(2), own(0.5, '403'), FIRST],
  ['two domains, the last 422', list(2), own(0.5, '422'), LAST],
  ['--rate 60/h, one call in ten 429', list(100), rate(60, HOUR), faults(0.1, '429')],
  ['paused for 20 min after 30 s of 429', bucket(200), trouble('429', 3, 33), pause(33_000)],
  ['asleep for 30 min', sleep(300)],
  ['asleep for 30 min at 15/s', bucket(15), sleep(8_000)],
  ['batches refused as a whole at 15/s told 400', bucket(15, '400'), batches],
];

/** One thing at a time, and two. */
const DESIGNED: readonly Named[] = [
  ['plain'],
  ['8 callers', { callers: 8 }],
  ['256 callers, 200 ms', { callers: 256, latencyMs: 200 }],
  ['a heavy tail', { latencyMs: 300, spread: 1.2 }],
  ['30 % 403, own texts', own(0.3, '403', OWN_TEXT)],
  ['20 % 422, own texts', own(0.2, '422', OWN_TEXT)],
  ['30 % 404', own(0.3, '404')],
  ['10 % own 429', own(0.1, '429')],
  ['10 % never answer', list(600), own(0.1, 'never')],
  ['30 % one record', own(0.3, 'found')],
  ['2 % 403 last', own(0.02, '403'), LAST],
  ['10 % 403 first', own(0.1, '403'), FIRST],
  ['10 % 422 first', own(0.1, '422'), FIRST],
  ['10 % 422 last', own(0.1, '422'), LAST],
  ['10 % 500 first', own(0.1, '500'), FIRST],
  ['2 % 500 last', own(0.02, '500'), LAST],
  ['2 % never first', own(0.02, 'never'), FIRST],
  ['10 % 404 pages first', own(0.1, '404 page'), FIRST],
  ['10 % 404 pages last', own(0.1, '404 page'), LAST],
  ['four kinds of their own', several(0.05, ['403', '422', '404', '500'])],
  // A limit, and answers of domains.
  ['15/s told 403', bucket(15, '403')],
  ['15/s told 400', bucket(15, '400')],
  ['15/s told 503', bucket(15, '503')],
  ['15/s, 10 % own 429', bucket(15), own(0.1, '429')],
  ['15/s, 10 % 403, own texts', bucket(15), own(0.1, '403', OWN_TEXT)],
  ['15/s told 503, 10 % own 503', bucket(15, '503'), own(0.1, '503')],
  ['15/s told 403, 10 % own 403', bucket(15, '403'), own(0.1, '403')],
  ['15/s told 403, 10 % in its words', bucket(15, '403'), own(0.1, '403', { text: 'limit' })],
  ['15/s told 400, 10 % own 422', bucket(15, '400'), own(0.1, '422')],
  ['200/s, 20 % 500', bucket(200), own(0.2, '500')],
  ['200/s with waits, 20 % 403', bucket(200, '429', WAITS), own(0.2, '403', OWN_TEXT)],
  ['300 in 5 s, 20 % 500', windows(300, 5), own(0.2, '500')],
  ['300 in 5 s with waits, from cold', windows(300, 5, WAITS), list(2_700)],
  ['16 at once, 20 % 403', atOnce(16), own(0.2, '403', OWN_TEXT)],
  ['200/s to 50/s', bucket(200), change(0.25)],
  ['50/s to 200/s', bucket(50), change(4)],
  ['50/s told 403 to 12/s', bucket(50, '403'), change(0.25)],
  // Faults.
  ['20 % 500 by chance', faults(0.2, '500')],
  ['a node 403, 10 % own 403', faults(0.25, '403'), own(0.1, '403')],
  ['a node 403, 10 % own 403 first', faults(0.25, '403'), own(0.1, '403'), FIRST],
  ['a node 429', faults(0.25, '429')],
  ['15/s, 20 % cut', bucket(15), faults(0.2, 'cut')],
  ['200/s told 503, 20 % 500 by chance', bucket(200, '503'), faults(0.2, '500')],
  // Times in which nothing works.
  ['out for 1.5 s', out('503', 1.5)],
  ['out for 30 s, 20 % 403', out('503', 30), own(0.2, '403', OWN_TEXT)],
  ['404 pages for 20 s, 10 % own', out('404 page', 20), own(0.1, '404 page')],
  ['15/s, out for 30 s', bucket(15), trouble('503', 10, 30)],
  // Time.
  ['paused for 20 min at 15/s, 20 % 500', bucket(15), own(0.2, '500'), pause(8_000)],
  ['--rate 60/h at 50/h', list(130), rate(60, HOUR), windows(50, HOUR)],
  ['--rate 10/s at 8/s, 20 % 500', list(300), rate(10, 1), bucket(8), own(0.2, '500')],
  ['500 an hour with waits', list(700), windows(500, HOUR, WAITS), mayStop],
  ['500 an hour', list(700), windows(500, HOUR), mayStop],
  // Batches.
  ['batches', batches],
  ['batches, 20 % 403', batches, own(0.2, '403', OWN_TEXT)],
  ['batches, 20 % 500', batches, own(0.2, '500')],
  ['batches at 15/s, 20 % 422', batches, bucket(15), own(0.2, '422')],
  ['batches, out for 30 s', batches, trouble('503', 0.1, 30)],
  ['batches, a node 403', batches, faults(0.25, '403')],
  // To stop.
  ['20 % 403, 401 from then on', own(0.2, '403'), fromThenOn('401')],
  ['20 % 403, 403 from then on', own(0.2, '403'), fromThenOn('403')],
];

/** What else APIs and machines do. */
const FURTHER: readonly Named[] = [
  // Limits.
  ['10/s and 300 a minute', { limits: [limit('fixed', 10, 1), limit('fixed', 300, MINUTE)] }],
  ['60/s, and 8 at once', { limits: [limit('bucket', 60, 1), limit('at_once', 8, 1)] }],
  ['200 saved up, then 10/s', bucket(10, '429', { burst: 200 }), list(600)],
  ['any 600 in a minute', limited('sliding', 600, MINUTE), list(1_500)],
  ['any 60 in a minute told 403', limited('sliding', 60, MINUTE, { told: '403' }), list(200)],
  ['quota of 1,000 in 10 min with waits', windows(1_000, 10 * MINUTE, WAITS), list(1_500)],
  ['60/s, another takes 50/s for 20 s', bucket(60), others(50, 5, 20)],
  ['60/s, another takes 30/s', bucket(60), others(30, 0, FOREVER)],
  ['100/s told by a reset', bucket(100, 'reset')],
  ['100/s told by 429 pages', bucket(100, '429 page')],
  ['100/s told by 403 pages, then none for 60 s', bucket(100, '403 page', { penaltyMs: 60_000 })],
  ['100/s told by a login page', bucket(100, '200 page')],
  ['20/s told by silence', bucket(20, 'never'), list(300)],
  ['limit of 20/s, 500/s remembered', bucket(20), { remembered: 500 }],
  ['500/s, 5/s remembered', bucket(500), list(2_000), { remembered: 5 }],
  // How long answers take.
  ['cold for 10 s', { cold: { untilMs: 10_000, factor: 20 }, latencyMs: 50 }],
  ['15/s, cold for 10 s', bucket(15), { cold: { untilMs: 10_000, factor: 20 }, latencyMs: 50 }],
  ['slower by 5 ms for each in flight', { crowdMs: 5, latencyMs: 20, callers: 256 }],
  ['slower with each, 40 at once told 503', atOnce(40, '503'), { crowdMs: 5, callers: 256 }],
  // Troubles.
  ['a node 401', faults(0.25, '401')],
  ['a node 404 pages', faults(0.25, '404 page')],
  ['a node redirects', faults(0.25, '302')],
  ['DNS flaps, 10 %', faults(0.1, 'dns')],
  ['429 for 90 % for 60 s', trouble('429', 0.3, 60, { share: 0.9 })],
  ['a rolling deploy: 20 % 502 for 60 s', trouble('502', 0.3, 60, { share: 0.2 }), bucket(50)],
  ['out for 60 s with waits of 20 s', trouble('503 page', 0.3, 60, { waitS: 20 })],
  ['1 % 429 with waits of an hour', trouble('429', 0, FOREVER, { share: 0.01, waitS: HOUR })],
  ['1 % 503 with waits of 60 s', trouble('503', 0, FOREVER, { share: 0.01, waitS: MINUTE })],
  ['no answer for 2 min', out('never', 120)],
  ['JSON 404 for 5 min', out('404', 300), bucket(20)],
  ['JSON 404 for 20 s, 20 % own', out('404', 20), own(0.2, '404')],
  ['404 for some while out for 30 s', trouble('503', 5, 30), own(0.2, '404'), bucket(60)],
  ['up and down each 5 s', flapping('503', 5_000), bucket(100)],
  ['500 for everybody', forAll('500'), mayStop],
  ['cut for everybody', forAll('cut'), mayStop],
  // The list.
  [
    'the first five all unlike',
    list(500),
    several(0.002, ['403', '422', '404 page', '500', 'never']),
    FIRST,
  ],
  ['60 % 404', own(0.6, '404')],
  ['60 % 403', own(0.6, '403')],
  ['60 % 422, own texts', own(0.6, '422', OWN_TEXT)],
  ['95 % 404', own(0.95, '404')],
  ['95 % 404 pages', own(0.95, '404 page'), mayStop],
  ['batches, 1 % spoils its batch with 400', batches, own(0.01, '400', { spoilsBatch: true })],
  ['batches, 1 % spoils its batch with 500', batches, own(0.01, '500', { spoilsBatch: true })],
  ['batches, 1 % never', batches, own(0.01, 'never')],
];

const each = (replies: readonly ReplyName[], named: (reply: ReplyName) => Named) =>
  replies.map(named);
const ODD = ['404', '404 page', '403', '422', '500', '429', '202', 'never'] as const;

/** The same with answers of many kinds. */
const FAMILIES: readonly Named[] = [
  ...each(
    ['400', '401', '402', '403', '404', '404 page', '200 page', '200 same', '302', 'refused'],
    (reply) => [`${reply} for everybody`, forAll(reply)],
  ),
  ...each(['401', '402', '403', '404', '404 page', '429', '302', '503', 'refused'], (reply) => [
    `${reply} from then on`,
    fromThenOn(reply),
  ]),
  ...each(['401', '403', '404', '429', 'refused', 'dns'], (reply) => [
    `${reply} for 20 s`,
    out(reply, 20),
  ]),
  ...each(ODD, (reply) => [`the first five ${reply}`, list(500), own(0.01, reply), FIRST]),
  ...each(ODD, (reply) => [`one domain, ${reply}`, list(1), own(1, reply), mayStop]),
  ...each(ODD, (reply) => [`two domains, the first ${reply}`, list(2), own(0.5, reply), FIRST]),
  ...each(ODD, (reply) => [`three domains, the last ${reply}`, list(3), own(0.33, reply), LAST]),
];

/** What is combined, each of one with each of any other; and each is played alone. */
const FACTORS: readonly (readonly Named[])[] = [
  [
    ['no limit'],
    ['15/s', bucket(15)],
    ['200/s with waits', bucket(200, '429', WAITS)],
    ['300 in 5 s told 403', windows(300, 5, { told: '403' })],
    ['any 200 in 4 s told 503', limited('sliding', 200, 4, { told: '503' })],
    ['16 at once', atOnce(16)],
    ['60 a minute told 400', windows(60, MINUTE, { told: '400' })],
    ['1,000 a minute with waits', windows(1_000, MINUTE, WAITS)],
    ['30/s told by words', bucket(30, '200 words')],
  ],
  [
    ['none own'],
    ['10 % 404', own(0.1, '404')],
    ['20 % 403, own texts', own(0.2, '403', OWN_TEXT)],
    ['20 % 403', own(0.2, '403')],
    ['30 % 422', own(0.3, '422')],
    ['10 % 422, own texts', own(0.1, '422', OWN_TEXT)],
    ['20 % 500', own(0.2, '500')],
    ['10 % 503', own(0.1, '503')],
    ['2 % own 429', own(0.02, '429')],
    ['10 % 202', own(0.1, '202')],
    ['2 % never', own(0.02, 'never')],
    ['10 % 404 pages', own(0.1, '404 page')],
  ],
  [
    ['no faults'],
    ['5 % 500 by chance', faults(0.05, '500')],
    ['20 % cut', faults(0.2, 'cut')],
    ['a node 403', faults(0.25, '403')],
  ],
  [
    ['steady'],
    ['out for 30 s', during('503', 30)],
    ['404 pages for 20 s', during('404 page', 20)],
    ['redirects for 20 s', during('302', 20)],
    ['a login for 20 s', during('200 page', 20)],
    ['401 for 15 s', during('401', 15)],
    ['paused', pause],
    ['asleep', sleep],
    ['then a quarter', change(0.25)],
    ['then four times', change(4)],
  ],
  [
    ['20 ms', { latencyMs: 20 }],
    ['200 ms', { latencyMs: 200 }],
    ['about 1 s', { latencyMs: 1_000, spread: 1.2 }],
    ['5 s', { latencyMs: 5_000 }],
  ],
  [['spread'], ['first', FIRST], ['last', LAST]],
  [
    ['64', { callers: 64 }],
    ['8', { callers: 8 }],
    ['256', { callers: 256 }],
    ['16 with batches of 20', { callers: 16, batch: 20 }],
  ],
];

/** The worlds of a seed: all that were designed, and pairs of all else. */
export function worldsOf(seed: number): readonly World[] {
  const alone = FACTORS.slice(0, 5).flatMap(([, ...levels]) => levels);
  const designed = Object.entries({
    R: REPORTED,
    D: DESIGNED,
    F: FURTHER,
    A: [...alone, ...FAMILIES],
  });
  const named = designed.flatMap(([letter, some]) =>
    some.map(([name, ...parts]) => worldFrom(`${letter} ${name}`, parts)),
  );
  const pairs = combine(FACTORS, createRandom(seed)).map((row) => {
    const name = row.map(([label]) => label).join(', ');
    return worldFrom(
      `P ${name}`,
      row.flatMap(([, ...parts]) => parts),
    );
  });
  return [...named, ...pairs];
}

/** With about 30 s of work, between 150 and 2,000 calls, unless a part says how many domains. */
function worldFrom(name: string, parts: readonly (Part | Timed)[]): World {
  const at = (startMs: number): World => {
    const some = parts.map((part) => (typeof part === 'function' ? part(startMs) : part));
    const troubles = some.flatMap((part) => part.troubles ?? []);
    return Object.assign({ name, domains: 0, callers: 64, latencyMs: 20 }, ...some, { troubles });
  };
  const usual = at(0);
  const { batch = 1 } = usual;
  const callMs = meanGapMs(usual);
  const calls = Math.min(2_000, Math.max(150, 30_000 / callMs));
  const domains = usual.domains || Math.round(calls * (batch > 1 ? 3 : 1));
  return { ...at(Math.max(300, 0.3 * Math.ceil(domains / batch) * callMs)), domains };
}

/** Between two calls, when nothing happens. */
function meanGapMs({ callers, latencyMs, limits = [], rate }: World): number {
  const gaps = limits.map(({ kind, count, perMs }) =>
    kind === 'at_once' ? latencyMs / count : perMs / count,
  );
  return Math.max(latencyMs / callers, ...gaps, rate ? rate.perMs / rate.count : 0);
}

/**
 * Rows of one level of each factor, so few that each pair of levels is in one of them.
 *
 * @see {@link https://doi.org/10.1109/32.605761 The AETG system}, whose greedy way this is
 */
function combine(factors: typeof FACTORS, random: () => number): (readonly Named[])[] {
  const key = (one: Named, other: Named): string => [one[0], other[0]].sort().join('|');
  const open = new Map<string, readonly [Named, Named]>();
  for (const [at, levels] of factors.entries()) {
    const others = factors.slice(at + 1).flat();
    for (const one of levels) for (const other of others) open.set(key(one, other), [one, other]);
  }
  const rows: Named[][] = [];
  while (open.size > 0) {
    const pairs = [...open.values()];
    const chosen = new Set<Named>(pairs[Math.floor(random() * pairs.length)]);
    for (const levels of factors) {
      if (levels.some((level) => chosen.has(level))) continue;
      const news = levels.map((level) => {
        const fresh = [...chosen].filter((other) => open.has(key(level, other))).length;
        return { level, fresh: fresh + 0.9 * random() };
      });
      const [best] = news.sort((a, b) => b.fresh - a.fresh);
      if (best) chosen.add(best.level);
    }
    const row = factors.flatMap((levels) => levels.filter((level) => chosen.has(level)));
    for (const one of row) for (const other of row) open.delete(key(one, other));
    rows.push(row);
  }
  return rows;
}
