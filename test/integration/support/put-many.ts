import { openStore } from '../../../src/store/store.ts';
import { outcomeOf } from '../../store/outcomes.ts';

// A process of its own that writes outcomes: folder, name, how many. It says so when they are kept.
const [folder = '', name = '', count = '0'] = process.argv.slice(2);
const store = await openStore(folder, 'endpoint');
await Promise.all(
  Array.from({ length: Number(count) }, (_, index) =>
    store.put(outcomeOf(`${name}${index}.com`, { json: JSON.stringify({ [name]: index }) }), [
      [name],
    ]),
  ),
);
process.send?.('kept');
process.on('message', () => process.exit(0));
