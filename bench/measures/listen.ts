import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import type { Child } from '../harness/child.ts';
import { readCpuMs } from '../harness/cpu-time.ts';
import { writeList } from '../harness/list.ts';
import type { BenchContext, Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROWS = 60_000;
const ROUNDS = 7;
const LANES = 64;
/** More often than any Prometheus scrapes. */
const SCRAPE_MS = 1_000;

/** The cost of a run while lookups were being made; starting and writing the files are left out. */
interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/**
 * What a run pays for metrics that are scraped each second, and for a dashboard that somebody
 * watches. Two runs go side by side, one with and one without: anything else that the machine does
 * slows both down alike. Yet on a busy machine two equal runs differ by some hundredths; look at
 * the spread.
 */
export const measureListen: Measure = async (context) => {
  const input = join(context.folder, 'listen.csv');
  await writeList(input, ROWS);
  const port = await freePort();
  let isOdd = false;
  const rounds = await inRounds(ROUNDS, async () => {
    isOdd = !isOdd;
    const runs = [
      { context, input, name: 'plain' },
      { context, input, name: 'seen', port },
    ];
    // The run that starts first is alone for a moment, so the two take turns.
    const costs = await Promise.all((isOdd ? runs : runs.toReversed()).map(costOf));
    const [plain, seen] = (isOdd ? costs : costs.toReversed()) as [Cost, Cost];
    context.say(`with --listen ${describe(seen)}; without ${describe(plain)}`);
    return { plain, seen };
  });
  return (['cpuMs', 'wallMs'] as const).map((key) =>
    ratioFinding({
      what: `lookups/s${key === 'cpuMs' ? ' of CPU time' : ''} with --listen, to without`,
      ours: perSecond(
        ROWS,
        medianOf(rounds, ({ seen }) => seen[key]),
      ),
      baseline: perSecond(
        ROWS,
        medianOf(rounds, ({ plain }) => plain[key]),
      ),
      ratios: rounds.map(({ plain, seen }) => plain[key] / seen[key]),
      atLeast: 0.97,
    }),
  );
};

interface Run {
  readonly context: BenchContext;
  readonly input: string;
  /** The name of its folder. */
  readonly name: string;
  /** The port on which it listens and is watched. @default none */
  readonly port?: number;
}

async function costOf({ context, input, name, port }: Run): Promise<Cost> {
  const { program } = context;
  const folder = join(context.folder, name);
  await mkdir(folder, { recursive: true });
  const server = await startServer(); // its own, so that it knows when the calls of this run came
  const cpuNotes = join(folder, 'cpu.json');
  const common = { program, url: server.url, input, folder, concurrency: LANES, cpuNotes };
  const watched =
    port === undefined ? {} : { flags: ['--listen', String(port)], onStart: watch(port) };
  const { summary } = await enrich({ ...common, ...watched });
  const { fromMs, toMs } = await server.busy();
  await server.close();
  return { wallMs: summary.lookupMs, cpuMs: await readCpuMs(cpuNotes, fromMs, toMs) };
}

function describe({ wallMs, cpuMs }: Cost): string {
  return `${perSecond(ROWS, wallMs)}, ${((cpuMs * 1_000) / ROWS).toFixed(1)} µs of CPU each`;
}

/**
 * Scrapes the metrics again and again, and keeps the dashboard open, for as long as a process runs.
 */
function watch(port: number): (child: Child) => void {
  return (child) => {
    let isOpen = false;
    const read = async (path: string): Promise<void> => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      for await (const _ of answer.body ?? []); // reads it to its end
    };
    const look = async (): Promise<void> => {
      await read('/metrics');
      if (isOpen) return;
      isOpen = true;
      await read('/events');
    };
    // The server is not up yet, or is gone.
    const timer = setInterval(() => void look().catch(() => {}), SCRAPE_MS);
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
