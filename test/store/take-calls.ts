import type { CallsPer } from '../../src/guard/calendar-window.ts';
import { openStore } from '../../src/store/store.ts';

// A process of its own that takes so many blocks of calls: folder, limit, blocks. It says how many
// calls these were.
const [folder = '', limit = '', blocks = '0'] = process.argv.slice(2);
const store = openStore(folder, 'endpoint');
const ledger = store.openCallLedger('credential', JSON.parse(limit) as CallsPer);
const { signal } = new AbortController();
let taken = 0;
for (let block = 0; block < Number(blocks); block += 1) taken += (await ledger.take(signal)).calls;
process.send?.(taken);
await store.close();
process.disconnect?.();
