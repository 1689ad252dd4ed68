import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { enrich } from '../harness/brandfill.ts';
import { timeProgram } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { BenchContext, Finding, Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding, seconds } from '../harness/ratio.ts';
import { type BenchRedis, startRedis } from '../harness/redis.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';
import { type BenchWorker, startWorker } from '../harness/worker.ts';

const LANES = 64;
const ROUNDS = 3;
const ROWS = 60_000;
/** A job for each row takes so much longer that fewer rows will do. */
const TEXTBOOK_ROWS = 10_000;
const SLOW = { latencyMs: 100, concurrency: 32, rowsPerWorker: 4_000 };
const FLEET = 4;
const COMMAND_ROWS = 30_000;
const CHUNK_ROWS = 50;
const MOST_COMMANDS = 8;
const MOST_REDIS_BYTES = 64e6;
const MOST_REDIS_GROWTH = 1.3;
const LONGEST_RECOVERY_MS = 20_000;

/** Lookups over Redis with one worker, against a bare loop and against a textbook worker. */
export const measureQueueLookups: Measure = async (context) => {
  const input = join(context.folder, 'queue.csv');
  await writeList(input, ROWS);
  const server = await startServer();
  const redis = await startRedis();
  const { url } = server;
  const rounds = await inRounds(ROUNDS, async () => {
    const bareMs = await timeProgram('bare-loop.ts', [url, String(ROWS), String(LANES)]);
    const { port } = new URL(redis.url);
    const textbookMs = await timeProgram('textbook-worker.ts', [
      url,
      port,
      String(TEXTBOOK_ROWS),
      String(LANES),
    ]);
    const fleet = { redis, url, input, workers: 1, concurrency: LANES };
    const { coldMs: oursMs } = await timeFleet(context, fleet);
    const textbookPerRow = textbookMs / TEXTBOOK_ROWS;
    context.say(
      `${perSecond(ROWS, oursMs)}, bare loop ${perSecond(ROWS, bareMs)}, textbook worker ${perSecond(TEXTBOOK_ROWS, textbookMs)}`,
    );
    return { bareMs, oursMs, textbookMs: textbookPerRow * ROWS };
  });
  await Promise.all([server.close(), redis.close()]);
  const rate = (pick: (round: (typeof rounds)[number]) => number): string =>
    perSecond(ROWS, medianOf(rounds, pick));
  const ours = rate(({ oursMs }) => oursMs);
  return [
    ratioFinding({
      what: 'lookups/s over Redis, to a bare loop',
      ours,
      baseline: rate(({ bareMs }) => bareMs),
      ratios: rounds.map(({ bareMs, oursMs }) => bareMs / oursMs),
      atLeast: 0.55,
    }),
    ratioFinding({
      what: 'lookups/s over Redis, to a textbook worker',
      ours,
      baseline: rate(({ textbookMs }) => textbookMs),
      ratios: rounds.map(({ textbookMs, oursMs }) => textbookMs / oursMs),
      atLeast: 4,
    }),
  ];
};

/** The peak of Redis's memory, with a list and with one of ten times its length. */
export const measureQueueMemory: Measure = async (context) => {
  const peaks: number[] = [];
  for (const rows of [20_000, 200_000]) {
    const input = join(context.folder, 'queue-memory.csv');
    await writeList(input, rows);
    const server = await startServer();
    const redis = await startRedis();
    await timeFleet(context, { redis, url: server.url, input, workers: 1, concurrency: LANES });
    peaks.push(await redis.peakBytes());
    await Promise.all([server.close(), redis.close()]);
    context.say(`${rows.toLocaleString('en')} lookups: ${megabytes(peaks.at(-1) ?? 0)} in Redis`);
  }
  const [few = 0, many = 0] = peaks;
  const growth = many / few;
  return [
    {
      what: 'Redis at 200,000 lookups',
      ours: megabytes(many),
      baseline: '-',
      figure: megabytes(many),
      target: `< ${megabytes(MOST_REDIS_BYTES)}`,
      isMet: many < MOST_REDIS_BYTES,
    },
    {
      what: 'Redis, to 20,000 lookups',
      ours: megabytes(many),
      baseline: megabytes(few),
      figure: growth.toFixed(2),
      target: `<= ${MOST_REDIS_GROWTH}`,
      isMet: growth <= MOST_REDIS_GROWTH,
    },
  ];
};

/** The commands that Redis gets for a chunk of 50 lookups, from a run and a worker. */
export const measureQueueCommands: Measure = async (context) => {
  const { program, folder, say } = context;
  const input = join(folder, 'queue-commands.csv');
  await writeList(input, COMMAND_ROWS);
  const server = await startServer();
  const redis = await startRedis();
  const { url } = server;
  const worker = await startWorker({ program, url, queueUrl: redis.url, concurrency: LANES });
  const commands = await redis.commandsDuring(() =>
    enrich({ program, url, input, folder, ...overQueue(redis) }),
  );
  await worker.stop();
  await Promise.all([server.close(), redis.close()]);
  const perChunk = commands / (COMMAND_ROWS / CHUNK_ROWS);
  say(`${commands.toLocaleString('en')} commands for ${COMMAND_ROWS.toLocaleString('en')} lookups`);
  return [
    {
      what: 'commands to Redis for a chunk of 50',
      ours: perChunk.toFixed(1),
      baseline: '-',
      figure: perChunk.toFixed(1),
      target: `<= ${MOST_COMMANDS}`,
      isMet: perChunk <= MOST_COMMANDS,
    },
  ];
};

/** Four workers against one, with a slow API. */
export const measureQueueFleet: Measure = async (context) => {
  const { latencyMs, concurrency, rowsPerWorker } = SLOW;
  const server = await startServer({ latencyMs });
  const cold: number[] = [];
  const warm: number[] = [];
  for (const workers of [1, FLEET]) {
    const rows = rowsPerWorker * workers;
    const input = join(context.folder, `fleet-${workers}.csv`);
    await writeList(input, rows);
    const redis = await startRedis();
    const fleet = { redis, url: server.url, input, workers, concurrency };
    const { coldMs, warmMs } = await timeFleet(context, fleet);
    await redis.close();
    cold.push(rows / coldMs);
    warm.push(rows / warmMs);
    const rates = [coldMs, warmMs].map((ms) => perSecond(rows, ms));
    context.say(`${workers} workers: ${rates[0]}, once the pace is known ${rates[1]}`);
  }
  await server.close();
  const compare = (what: string, [one = 0, many = 0]: readonly number[]): Finding =>
    ratioFinding({
      what: `${FLEET} workers at ${latencyMs} ms, to one, ${what}`,
      ours: perSecond(many, 1),
      baseline: perSecond(one, 1),
      ratios: [many / one],
      atLeast: 3.8,
    });
  return [compare('at a first run', cold), compare('at a later run', warm)];
};

/** How long a chunk waits when its worker was killed. */
export const measureQueueRecovery: Measure = async (context) => {
  const { program, folder, say } = context;
  const input = join(folder, 'recovery.csv');
  // So few that the first worker has them all: a chunk of another worker would not wait.
  await writeList(input, 20);
  const server = await startServer({ latencyMs: 2_000 });
  const redis = await startRedis();
  const { url } = server;
  const workerOptions = { program, url, queueUrl: redis.url, concurrency: 10 };
  const first = await startWorker(workerOptions);
  const running = enrich({ program, url, input, folder, ...overQueue(redis) });
  while ((await server.calls()) < 5) await delay(20);
  const second = await startWorker(workerOptions);
  await first.kill();
  const killedMs = performance.now();
  const calls = await server.calls();
  while ((await server.calls()) === calls) await delay(50);
  const elapsedMs = performance.now() - killedMs;
  say(`the chunk of a killed worker goes on after ${seconds(elapsedMs)}`);
  await running;
  await second.stop();
  await Promise.all([server.close(), redis.close()]);
  return [recoveryFinding(elapsedMs)];
};

function recoveryFinding(elapsedMs: number): Finding {
  return {
    what: 'a killed worker’s chunk goes on',
    ours: seconds(elapsedMs),
    baseline: '-',
    figure: seconds(elapsedMs),
    target: `< ${seconds(LONGEST_RECOVERY_MS)}`,
    isMet: elapsedMs < LONGEST_RECOVERY_MS,
  };
}

interface FleetRun {
  readonly redis: BenchRedis;
  readonly url: string;
  readonly input: string;
  readonly workers: number;
  readonly concurrency: number;
}

/**
 * How long the lookups of a list take with this many workers, in milliseconds. It makes two runs of
 * the same list, neither with a store: the second one knows the pace of the first.
 */
async function timeFleet(
  { program, folder }: BenchContext,
  { redis, url, input, workers, concurrency }: FleetRun,
): Promise<{ readonly coldMs: number; readonly warmMs: number }> {
  const fleet: BenchWorker[] = [];
  for (let started = 0; started < workers; started += 1) {
    fleet.push(await startWorker({ program, url, queueUrl: redis.url, concurrency }));
  }
  const first = await enrich({ program, url, input, folder, ...overQueue(redis) });
  const second = await enrich({ program, url, input, folder, ...overQueue(redis) });
  await Promise.all(fleet.map((worker) => worker.stop()));
  return { coldMs: first.summary.lookupMs, warmMs: second.summary.lookupMs };
}

function overQueue({ url }: BenchRedis): { readonly flags: readonly string[] } {
  return { flags: ['--queue', url, '--workers', '0'] };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
