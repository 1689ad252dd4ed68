import { createRandom } from '../support/random.ts';
import type { ReplyName } from './replies.ts';
import type { Limit, Own, World } from './world.ts';

/** What a world is about: what was reported, how it is with one thing or two, when a run is to stop. */
type Some = Partial<World>;

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const FOREVER = Number.POSITIVE_INFINITY;

const bucket = (count: number, told: ReplyName = '429', more: Partial<Limit> = {}): Some => ({
  limits: [{ kind: 'bucket', count, perMs: SECOND, told, ...more }],
});
const windows = (
  count: number,
  perMs: number,
  told: ReplyName = '429',
  more: Partial<Limit> = {},
): Some => ({ limits: [{ kind: 'fixed', count, perMs, told, begunMs: 0.34 * perMs, ...more }] });
const sliding = (count: number, perMs: number, told: ReplyName = '429'): Some => ({
  limits: [{ kind: 'sliding', count, perMs, told }],
});
const atOnce = (count: number, told: ReplyName = '429'): Some => ({
  limits: [{ kind: 'at_once', count, perMs: 1, told }],
});
const WAITS = { headers: 'retry-after' } as const;
const own = (share: number, reply: ReplyName, text: Own['text'] = 'one'): Some => ({
  own: [{ share, reply, text }],
});
const ownAt = (order: 'first' | 'last', share: number, reply: ReplyName): Some => ({
  ...own(share, reply),
  order,
});
const faults = (share: number, reply: ReplyName): Some => ({ faults: { share, reply } });
const outage = (reply: ReplyName, fromS: number, forS: number, share = 1): Some => ({
  outages: [{ reply, fromMs: fromS * SECOND, forMs: forS * SECOND, share }],
});
const pause = (fromMs: number): Some => ({ pause: { fromMs, forMs: 20 * MINUTE } });
const sleep = (fromMs: number): Some => ({ sleep: { fromMs, forMs: 30 * MINUTE } });
const rate = (count: number, perMs: number): Some => ({ rate: { count, perMs } });
const list = (domains: number): Some => ({ domains });
const MUST = { stop: 'must' } as const;

/** Each row of what was seen to fail, by a name. */
const REPORTED: Readonly<Record<string, Some>> = {
  'one node of four says 403': { ...faults(0.25, '403'), ...list(800) },
  'each tenth call 403': faults(0.1, '403'),
  'one connection in twenty reset': faults(0.05, 'reset'),
  'one call in thirty 403': faults(1 / 30, '403'),
  '429 by chance, 5 %': faults(0.05, '429'),
  'sick for 35 s': { ...list(4_000), ...outage('500', 0.3, 35, 0.9) },
  'remembered 34 a minute of a sick spell': { ...list(2_000), remembered: 34 / 60 },
  '403 that names the company, one in five': own(0.2, '403', 'own'),
  '15/s in windows, 25 % 422': { ...windows(15, SECOND), ...own(0.25, '422') },
  '15/s in windows, 25 % 500': { ...windows(15, SECOND), ...own(0.25, '500') },
  'bucket of 60/s, 25 % 422': { ...bucket(60), ...own(0.25, '422') },
  'idle for 200 s, then 60/s': { ...bucket(60), idle: { forMs: 200 * SECOND, isNextRun: false } },
  'idle for 200 s between two runs': {
    ...bucket(60),
    idle: { forMs: 200 * SECOND, isNextRun: true },
  },
  'the last ten never answer': { ...list(300), ...ownAt('last', 10 / 300, 'never') },
  'the last twenty always fail': { ...list(600), ...ownAt('last', 20 / 600, '500') },
  'a deploy: JSON 404 for 3 s': outage('404', 0.3, 3),
  'a login for 3 s': outage('302', 0.3, 3),
  'the first six are one holding': { holding: 6 },
  'the first 40 are refused': { ...list(1_000), ...ownAt('first', 0.04, '403') },
  'a list of two, one 403': { ...list(2), ...ownAt('first', 0.5, '403') },
  'a list of two, one 422': { ...list(2), ...ownAt('last', 0.5, '422') },
  '--rate 60/h, one call in ten 429': { ...list(100), ...rate(60, HOUR), ...faults(0.1, '429') },
  'paused for 20 min after 30 s of 429': {
    ...bucket(200),
    outages: [{ reply: '429', fromMs: 3 * SECOND, forMs: 33 * SECOND }],
    ...pause(33 * SECOND),
  },
  'asleep for 30 min': sleep(300),
  'asleep for 30 min at 15/s': { ...bucket(15), ...sleep(8 * SECOND) },
  'batches refused as a whole at 15/s, told 400': { ...bucket(15, '400'), batch: 20 },
  // To stop.
  'the same 400 for everybody': { ...outage('400', 0, FOREVER), ...MUST },
  'JSON 404 for everybody': { ...outage('404', 0, FOREVER), ...MUST },
  'one record for everybody, but for an id': { ...outage('200 same', 0, FOREVER), ...MUST },
  'nothing listens': { ...outage('refused', 0, FOREVER), ...MUST },
};

/** One thing at a time, and two. */
const DESIGNED: Readonly<Record<string, Some>> = {
  plain: {},
  '8 callers': { callers: 8 },
  '256 callers, 200 ms': { callers: 256, latencyMs: 200 },
  'a heavy tail': { latencyMs: 300, spread: 1.2 },
  '20 % 403': own(0.2, '403'),
  '30 % 403, own texts': own(0.3, '403', 'own'),
  '20 % 422, own texts': own(0.2, '422', 'own'),
  '30 % 422': own(0.3, '422'),
  '30 % 404': own(0.3, '404'),
  '20 % 404 pages': own(0.2, '404 page'),
  '20 % 500': own(0.2, '500'),
  '10 % 503': own(0.1, '503'),
  '2 % own 429': own(0.02, '429'),
  '10 % own 429': own(0.1, '429'),
  '20 % pending': own(0.2, '202'),
  '2 % never answer': own(0.02, 'never'),
  '10 % never answer': { ...own(0.1, 'never'), ...list(600) },
  '2 % 403 last': ownAt('last', 0.02, '403'),
  '10 % 403 first': ownAt('first', 0.1, '403'),
  '10 % 422 first': ownAt('first', 0.1, '422'),
  '10 % 422 last': ownAt('last', 0.1, '422'),
  '10 % 500 first': ownAt('first', 0.1, '500'),
  '2 % 500 last': ownAt('last', 0.02, '500'),
  '2 % never first': ownAt('first', 0.02, 'never'),
  '10 % 404 pages first': ownAt('first', 0.1, '404 page'),
  '10 % 404 pages last': ownAt('last', 0.1, '404 page'),
  'four kinds of their own': {
    own: (['403', '422', '404', '500'] as const).map((reply) => ({ share: 0.05, reply })),
  },
  // A limit, and answers of domains.
  '15/s': bucket(15),
  '15/s told 403': bucket(15, '403'),
  '15/s told 400': bucket(15, '400'),
  '15/s told 503': bucket(15, '503'),
  '15/s told by words in a 200': bucket(15, '200 words'),
  '15/s, 10 % own 429': { ...bucket(15), ...own(0.1, '429') },
  '15/s, 10 % 403, own texts': { ...bucket(15), ...own(0.1, '403', 'own') },
  '15/s told 503, 10 % own 503': { ...bucket(15, '503'), ...own(0.1, '503') },
  '15/s told 403, 10 % own 403': { ...bucket(15, '403'), ...own(0.1, '403') },
  '15/s told 403, 10 % own 403 in its words': { ...bucket(15, '403'), ...own(0.1, '403', 'limit') },
  '15/s told 400, 10 % own 422': { ...bucket(15, '400'), ...own(0.1, '422') },
  '200/s, 20 % 500': { ...bucket(200), ...own(0.2, '500') },
  '200/s with waits, 20 % 403': { ...bucket(200, '429', WAITS), ...own(0.2, '403', 'own') },
  '300 in 5 s, 20 % 500': { ...windows(300, 5_000), ...own(0.2, '500') },
  '300 in 5 s with waits, from cold': { ...windows(300, 5_000, '429', WAITS), ...list(2_700) },
  '1,000 a minute with waits': windows(1_000, MINUTE, '429', WAITS),
  '16 at once, 20 % 403': { ...atOnce(16), ...own(0.2, '403', 'own') },
  '200/s to 50/s': { ...bucket(200), change: { atMs: 5_000, factor: 0.25 } },
  '50/s to 200/s': { ...bucket(50), change: { atMs: 10_000, factor: 4 } },
  '50/s told 403 to 12/s': { ...bucket(50, '403'), change: { atMs: 10_000, factor: 0.25 } },
  // Faults.
  '5 % 500': faults(0.05, '500'),
  '20 % 500 by chance': faults(0.2, '500'),
  '20 % cut': faults(0.2, 'cut'),
  'a node 403, 10 % own 403': { ...faults(0.25, '403'), ...own(0.1, '403') },
  'a node 429': faults(0.25, '429'),
  '15/s, 20 % cut': { ...bucket(15), ...faults(0.2, 'cut') },
  '200/s, a node 403': { ...bucket(200), ...faults(0.25, '403') },
  '200/s told 503, 20 % 500 by chance': { ...bucket(200, '503'), ...faults(0.2, '500') },
  // Times in which nothing works.
  'out for 1.5 s': outage('503', 0.3, 1.5),
  'out for 30 s': outage('503', 0.3, 30),
  'nothing listens for 30 s': outage('refused', 0.3, 30),
  '404 pages for 20 s': outage('404 page', 0.3, 20),
  'JSON 404 for 20 s': outage('404', 0.3, 20),
  'a redirect to a login for 20 s': outage('302', 0.3, 20),
  'a login page for 20 s': outage('200 page', 0.3, 20),
  '401 for 15 s': outage('401', 0.3, 15),
  '403 for 20 s': outage('403', 0.3, 20),
  'out for 30 s, 20 % 403': { ...outage('503', 0.3, 30), ...own(0.2, '403', 'own') },
  '404 pages for 20 s, 10 % of domains too': {
    ...outage('404 page', 0.3, 20),
    ...own(0.1, '404 page'),
  },
  '15/s, out for 30 s': { ...bucket(15), ...outage('503', 10, 30) },
  // Time.
  'paused for 20 min': pause(300),
  'paused for 20 min at 15/s, 20 % 500': { ...bucket(15), ...own(0.2, '500'), ...pause(8_000) },
  '--rate 60/h at 50/h': { ...list(130), ...rate(60, HOUR), ...windows(50, HOUR) },
  '--rate 10/s at 8/s, 20 % 500': {
    ...list(300),
    ...rate(10, SECOND),
    ...bucket(8),
    ...own(0.2, '500'),
  },
  '500 an hour with waits': { ...list(700), ...windows(500, HOUR, '429', WAITS), stop: 'may' },
  '500 an hour': { ...list(700), ...windows(500, HOUR), stop: 'may' },
  'a holding of twelve first': { holding: 12 },
  // Batches.
  batches: { batch: 20 },
  'batches, 20 % 403': { batch: 20, ...own(0.2, '403', 'own') },
  'batches, 20 % 500': { batch: 20, ...own(0.2, '500') },
  'batches at 15/s, 20 % 422': { batch: 20, ...bucket(15), ...own(0.2, '422') },
  'batches, out for 30 s': { batch: 20, ...outage('503', 0.1, 30) },
  'batches, a node 403': { batch: 20, ...faults(0.25, '403') },
  // To stop.
  '401 for everybody': { ...outage('401', 0, FOREVER), ...MUST },
  '403 for everybody': { ...outage('403', 0, FOREVER), ...MUST },
  '404 pages for everybody': { ...outage('404 page', 0, FOREVER), ...MUST },
  'a login page for everybody': { ...outage('200 page', 0, FOREVER), ...MUST },
  'a redirect to a login for everybody': { ...outage('302', 0, FOREVER), ...MUST },
  '401 from then on': { ...outage('401', 0.3, FOREVER), ...MUST },
  '403 from then on': { ...outage('403', 0.3, FOREVER), ...MUST },
  '404 pages from then on': { ...outage('404 page', 0.3, FOREVER), ...MUST },
  '503 from then on': { ...outage('503', 0.3, FOREVER), ...MUST },
  '20 % 403, 401 from then on': { ...own(0.2, '403'), ...outage('401', 0.3, FOREVER), ...MUST },
  '20 % 403, 403 from then on': { ...own(0.2, '403'), ...outage('403', 0.3, FOREVER), ...MUST },
};

/** A part of a world, by when what happens in it begins. */
type Level = (startMs: number) => Some;
type Factors = Readonly<Record<string, Readonly<Record<string, Level>>>>;

const always =
  (some: Some): Level =>
  () =>
    some;
const during =
  (reply: ReplyName, forS: number): Level =>
  (startMs) =>
    outage(reply, startMs / SECOND, forS);

/** What is combined, each level of one with each of any other. */
const FACTORS: Factors = {
  limit: {
    'no limit': always({}),
    '15/s': always(bucket(15)),
    '200/s with waits': always(bucket(200, '429', WAITS)),
    '300 in 5 s told 403': always(windows(300, 5_000, '403')),
    'any 200 in 4 s told 503': always(sliding(200, 4_000, '503')),
    '16 at once': always(atOnce(16)),
    '60 a minute told 400': always(windows(60, MINUTE, '400')),
    '1,000 a minute with waits': always(windows(1_000, MINUTE, '429', WAITS)),
    '30/s told by words': always(bucket(30, '200 words')),
  },
  own: {
    'no own': always({}),
    '10 % 404': always(own(0.1, '404')),
    '20 % 403, own texts': always(own(0.2, '403', 'own')),
    '20 % 403': always(own(0.2, '403')),
    '30 % 422': always(own(0.3, '422')),
    '10 % 422, own texts': always(own(0.1, '422', 'own')),
    '20 % 500': always(own(0.2, '500')),
    '10 % 503': always(own(0.1, '503')),
    '2 % own 429': always(own(0.02, '429')),
    '10 % 202': always(own(0.1, '202')),
    '2 % never': always(own(0.02, 'never')),
    '10 % 404 pages': always(own(0.1, '404 page')),
  },
  faults: {
    'no faults': always({}),
    '5 % 500': always(faults(0.05, '500')),
    '20 % cut': always(faults(0.2, 'cut')),
    'a node 403': always(faults(0.25, '403')),
  },
  event: {
    steady: always({}),
    'out 30 s': during('503', 30),
    '404 pages 20 s': during('404 page', 20),
    'redirects 20 s': during('302', 20),
    'a login 20 s': during('200 page', 20),
    '401 15 s': during('401', 15),
    paused: pause,
    asleep: sleep,
    'a quarter from then on': (atMs) => ({ change: { atMs, factor: 0.25 } }),
    'four times from then on': (atMs) => ({ change: { atMs, factor: 4 } }),
  },
  latency: {
    '20 ms': always({ latencyMs: 20 }),
    '200 ms': always({ latencyMs: 200 }),
    'about 1 s': always({ latencyMs: 1_000, spread: 1.2 }),
    '5 s': always({ latencyMs: 5_000 }),
  },
  order: {
    spread: always({ order: 'spread' }),
    first: always({ order: 'first' }),
    last: always({ order: 'last' }),
  },
  callers: {
    '64': always({ callers: 64 }),
    '8': always({ callers: 8 }),
    '256': always({ callers: 256 }),
    '16 with batches of 20': always({ callers: 16, batch: 20 }),
  },
};

/** The worlds of a seed: all that were designed, and pairs of all else. */
export function worldsOf(seed: number): readonly World[] {
  const named = (letter: string, some: Readonly<Record<string, Some>>): World[] =>
    Object.entries(some).map(([name, parts]) => worldFrom(`${letter} ${name}`, parts));
  const combined = combine(FACTORS, createRandom(seed)).map((levels) => {
    const name = `P ${levels.map(([label]) => label).join(', ')}`;
    const at = (startMs: number): World =>
      worldFrom(name, Object.assign({}, ...levels.map(([, level]) => level(startMs))) as Some);
    return at(Math.max(300, 0.3 * steadyMs(at(0))));
  });
  return [...named('R', REPORTED), ...named('D', DESIGNED), ...combined];
}

/** A world with about 30 s of work, between 150 and 2,000 calls. */
function worldFrom(name: string, some: Some): World {
  const world = { name, domains: 1, callers: 64, latencyMs: 20, ...some };
  if (some.domains !== undefined) return world;
  const calls = Math.min(2_000, Math.max(150, 30_000 / steadyMs(world)));
  const { batch = 1 } = world;
  return { ...world, domains: Math.round(calls * (batch > 1 ? 3 : 1)) };
}

/** How long the calls take when nothing happens. */
function steadyMs({ domains, callers, latencyMs, limits = [], rate, batch = 1 }: World): number {
  const perCall = limits.map(({ kind, count, perMs }) =>
    kind === 'at_once' ? latencyMs / count : perMs / count,
  );
  const slowest = Math.max(latencyMs / callers, ...perCall, rate ? rate.perMs / rate.count : 0);
  return Math.ceil(domains / batch) * slowest;
}

type Labelled = readonly [label: string, level: Level];

/**
 * Rows of one level of each factor, so few that each pair of levels is in one of them.
 *
 * @see {@link https://doi.org/10.1109/32.605761 The AETG system}, whose greedy way this is
 */
function combine(factors: Factors, random: () => number): (readonly Labelled[])[] {
  const all = Object.values(factors).map((levels): readonly Labelled[] => Object.entries(levels));
  const key = (one: Labelled, other: Labelled): string => [one[0], other[0]].sort().join('|');
  const open = new Map<string, readonly [Labelled, Labelled]>();
  for (const [at, levels] of all.entries()) {
    for (const other of all.slice(at + 1).flat()) {
      for (const one of levels) open.set(key(one, other), [one, other]);
    }
  }
  const rows: Labelled[][] = [];
  while (open.size > 0) {
    const pairs = [...open.values()];
    const chosen = new Set<Labelled>(pairs[Math.floor(random() * pairs.length)]);
    for (const levels of all) {
      if (levels.some((level) => chosen.has(level))) continue;
      const news = levels.map((level) => {
        const fresh = [...chosen].filter((other) => open.has(key(level, other))).length;
        return { level, fresh: fresh + 0.9 * random() };
      });
      const [best] = news.sort((a, b) => b.fresh - a.fresh);
      if (best) chosen.add(best.level);
    }
    const row = all.flatMap((levels) => levels.filter((level) => chosen.has(level)));
    for (const one of row) for (const other of row) open.delete(key(one, other));
    rows.push(row);
  }
  return rows;
}
