/**
 * The API that the measures call, in a process of its own: the sandbox with the options given as
 * JSON in the first argument. Its first line of output is its base URL.
 */
import type { SandboxAnswer } from '../src/sandbox/options.ts';
import { startSandbox } from '../src/sandbox/server.ts';
import type { ServerOptions } from './harness/server.ts';

const { fewFields, ...options } = JSON.parse(process.argv[2] ?? '{}') as ServerOptions;
// Counting per domain would make the server slower with every domain it sees.
const sandbox = await startSandbox({
  ...options,
  ...(fewFields ? { respond: respondWithFewFields } : {}),
});
console.log(sandbox.url);

function respondWithFewFields(domain: string): SandboxAnswer {
  const body = { name: `The makers of ${domain}`, industry: 'Machine tools', country: 'PT' };
  return { body: { ...body, employees: 120, founded: 1987 } };
}
