/**
 * The API that the measures call, in a process of its own: the sandbox with the options given as
 * JSON in the first argument. Its first line of output is its base URL.
 */
import type { SandboxOptions } from '../src/sandbox/options.ts';
import { startSandbox } from '../src/sandbox/server.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as SandboxOptions;
// Counting per domain would make the server slower with every domain it sees.
const sandbox = await startSandbox({ ...options, countPerDomain: false });
console.log(sandbox.url);
