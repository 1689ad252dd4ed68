import { createServer } from 'node:net';
import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import type { Child } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROWS = 60_000;
const ROUNDS = 5;
const LANES = 64;
/** More often than any Prometheus does. */
const SCRAPE_MS = 1_000;

/** Lookups per second with metrics that are looked at each second, against those of a run without. */
export const measureListen: Measure = async ({ program, folder, say }) => {
  const input = join(folder, 'listen.csv');
  await writeList(input, ROWS);
  const server = await startServer();
  const port = await freePort();
  const common = { program, url: server.url, input, folder, concurrency: LANES };

  async function withoutMs(): Promise<number> {
    return (await enrich(common)).summary.lookupMs;
  }

  async function withMs(): Promise<number> {
    const flags = ['--listen', String(port)];
    return (await enrich({ ...common, flags, onStart: scrape(port) })).summary.lookupMs;
  }

  let isOdd = false;
  const rounds = await inRounds(ROUNDS, async () => {
    isOdd = !isOdd;
    // Whoever goes first is not always the same: the machine warms up, or is busy for a while.
    const firstMs = await (isOdd ? withoutMs() : withMs());
    const secondMs = await (isOdd ? withMs() : withoutMs());
    const [plainMs, seenMs] = isOdd ? [firstMs, secondMs] : [secondMs, firstMs];
    say(`${perSecond(ROWS, seenMs)} with --listen, ${perSecond(ROWS, plainMs)} without`);
    return { plainMs, seenMs };
  });
  await server.close();
  return [
    ratioFinding({
      what: 'lookups/s with --listen, to without',
      ours: perSecond(
        ROWS,
        medianOf(rounds, ({ seenMs }) => seenMs),
      ),
      baseline: perSecond(
        ROWS,
        medianOf(rounds, ({ plainMs }) => plainMs),
      ),
      ratios: rounds.map(({ plainMs, seenMs }) => plainMs / seenMs),
      atLeast: 0.97,
    }),
  ];
};

/** Looks at the metrics for as long as a process runs. */
function scrape(port: number): (child: Child) => void {
  return (child) => {
    const timer = setInterval(() => {
      fetch(`http://127.0.0.1:${port}/metrics`).then(
        (answer) => answer.text(),
        () => {}, // it is not there yet, or no more
      );
    }, SCRAPE_MS);
    child.once('exit', () => clearInterval(timer));
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}
