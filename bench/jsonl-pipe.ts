/**
 * A file of JSON lines, each parsed and written again into another file, and nothing else.
 * Arguments: input, output. Prints its own time without its start, which is in its favour.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

const [input = '', output = ''] = process.argv.slice(2);
const startMs = performance.now();
const file = createWriteStream(output);
for await (const line of createInterface({ input: createReadStream(input) })) {
  if (!file.write(`${JSON.stringify(JSON.parse(line))}\n`)) await once(file, 'drain');
}
file.end();
await once(file, 'close');
console.log(JSON.stringify({ elapsedMs: performance.now() - startMs }));
