import { openStore } from '../../../src/store/store.ts';
import type { CallsPer } from '../../../src/worker/budget.ts';

// A process of its own that opens a store, takes so many blocks of calls and closes it again, so many
// times: folder, limit, blocks, times. It says how many calls these were.
const [folder = '', limit = '', blocks = '0', times = '1'] = process.argv.slice(2);
const { signal } = new AbortController();
let taken = 0;
for (let time = 0; time < Number(times); time += 1) {
  const store = await openStore(folder, 'endpoint', { waitMs: Number.POSITIVE_INFINITY });
  const ledger = store.openCallLedger({ id: 'credential', ...(JSON.parse(limit) as CallsPer) });
  for (let block = 0; block < Number(blocks); block += 1) {
    taken += (await ledger.take(50, signal)).calls;
  }
  await store.close();
}
process.send?.(taken);
process.disconnect?.();
