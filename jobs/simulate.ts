/**
 * Shows how fast `--rate auto` goes against servers of all kinds, and how many calls it wastes. It
 * is simulated in virtual time, so no server and no account is needed.
 *
 * Run it with `npm run simulate`, or for some servers only with `npm run simulate -- window`.
 */
import { runCell, SERVERS, WORKERS } from '../test/simulation/cells.ts';
import {
  FEW_WORKERS,
  FIRST_MINUTE_SEEDS,
  FIRST_MINUTE_SERVERS,
  meanFirstMinute,
  SERVICE_MS,
} from '../test/simulation/first-minute.ts';
import { SEEDS, summarize } from '../test/simulation/summary.ts';
import { missedTargets } from '../test/simulation/targets.ts';

const [wanted = ''] = process.argv.slice(2);
const percent = (share: number, digits: number): string =>
  (share * 100).toFixed(digits).padStart(6);

console.log(`Means of ${SEEDS} runs, in %: what was accepted of what the server allows once warm,
and calls answered 429: once warm / in the whole run / in the worst of the runs.\n`);
console.log(`${'server'.padEnd(40)} workers  allowed      429`);
for (const server of SERVERS.filter(({ name }) => name.includes(wanted))) {
  for (const workers of WORKERS) {
    const summary = summarize((seed) => runCell(server, workers, seed));
    const { warmEfficiency, warmThrottled, throttled, mostThrottled } = summary;
    console.log(
      server.name.padEnd(40),
      String(workers).padStart(7),
      percent(warmEfficiency, 1),
      [warmThrottled, throttled, mostThrottled].map((share) => percent(share, 2)).join(' /'),
      missedTargets(summary).join('; '),
    );
  }
}

console.log(`\nThe first 45 s of a cold start, means of ${FIRST_MINUTE_SEEDS} runs (seeds 1 to ${FIRST_MINUTE_SEEDS}), in %: what was accepted of
what the server allows from the second window on, and calls answered 429; at 100 ms and at 5 ms a call.\n`);
for (const server of FIRST_MINUTE_SERVERS.filter(({ name }) => name.includes(wanted))) {
  for (const workers of FEW_WORKERS) {
    const cells = SERVICE_MS.map((serviceMs) => meanFirstMinute(server, { workers, serviceMs }));
    console.log(
      server.name.padEnd(40),
      String(workers).padStart(7),
      cells
        .map(({ used, throttled }) => `${percent(used, 1)} ${percent(throttled, 2)}`)
        .join('   '),
    );
  }
}
