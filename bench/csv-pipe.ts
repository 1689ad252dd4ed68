/**
 * A CSV file through csv-parse and csv-stringify into another file, and nothing else. Arguments:
 * input, output. Prints its own time without its start, which is in its favour.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';

const [input = '', output = ''] = process.argv.slice(2);
const startMs = performance.now();
await pipeline(createReadStream(input), parse(), stringify(), createWriteStream(output));
console.log(JSON.stringify({ elapsedMs: performance.now() - startMs }));
