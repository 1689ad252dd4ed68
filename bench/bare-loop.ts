/**
 * The least that looking up domains can cost: lanes over one undici pool that call and parse. No
 * list, no retries, no store. Arguments: base URL, calls, lanes. Prints its own time without its
 * start, which is in its favour.
 */
import { Pool } from 'undici';
import { domainOf } from './harness/list.ts';

const [baseUrl = '', calls = '0', lanes = '1'] = process.argv.slice(2);
const pool = new Pool(baseUrl, { connections: Number(lanes) });
// The same headers as Brandfill sends, since they are part of the call.
const headers = {
  accept: 'application/json',
  'accept-encoding': 'gzip, br',
  'user-agent': 'bare-loop',
};
let started = 0;

async function runLane(): Promise<void> {
  while (started < Number(calls)) {
    const path = `/v1/brand?domain=${domainOf(started)}`;
    started += 1;
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    const answer: unknown = JSON.parse(await body.text());
    if (statusCode !== 200 || typeof answer !== 'object') throw new Error(`Got ${statusCode}`);
  }
}

const startMs = performance.now();
await Promise.all(Array.from({ length: Number(lanes) }, runLane));
console.log(JSON.stringify({ elapsedMs: performance.now() - startMs }));
await pool.close();
