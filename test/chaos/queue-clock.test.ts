import { it } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { openFleet } from './support/fleet.ts';

const random = seededRandom('queue-clock.test.ts');
const BACK_MS = 300_000;

it("a worker is killed while Redis's clock goes back by minutes: others take its jobs at once", async () => {
  const fleet = await openFleet({ random, rows: 400 });
  const { client } = fleet.redis;
  const [victim] = await fleet.workers(2);
  const run = fleet.run();
  await fleet.calls(100);
  await victim?.stop('SIGKILL');
  // What is to go at a time then goes so much later.
  for (const key of await client.keys('*')) {
    const leftMs = await client.pttl(key);
    if (leftMs > 0) await client.pexpire(key, leftMs + BACK_MS);
  }
  await fleet.expectWhole(await run.ended);
});
