import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { shippedFolder } from './support/build.ts';
import { openSmallDisk } from './support/small-disk.ts';

const runFile = promisify(execFile);

/** Runs a program that has all of the library as `brandfill`, and gives what it prints. */
async function runProgram(code: string, env: Readonly<Record<string, string>>): Promise<string> {
  const library = pathToFileURL(join(shippedFolder(), 'index.js')).href;
  const whole = `import * as brandfill from '${library}';\n${code}`;
  const args = ['--input-type=module', '-e', whole];
  return (await runFile(process.execPath, args, { env: { ...process.env, ...env } })).stdout;
}

describe('a program that uses the library', () => {
  it('goes on when the disk of the store fills up', async ({ skip }) => {
    const disk = openSmallDisk(6 * 1024 * 1024);
    if (!disk) return skip('a full disk, because no small disk can be mounted');
    const api = await openApi({
      respond: (domain) => ({ body: { domain, text: 'x'.repeat(20_000) } }),
    });
    const printed = await runProgram(
      `const { API: baseUrl, STORE: store } = process.env;
       const input = Array.from({ length: 1000 }, (_, at) => ({ domain: \`company-\${at}.com\` }));
       const counts = { found: 0, unusable_store: 0 };
       for await (const row of brandfill.enrichRows({ input, baseUrl, store })) {
         counts[row.brand_status === 'found' ? 'found' : row.brand_reason] += 1;
       }
       console.log(counts.found + counts.unusable_store, counts.found > 0, counts.unusable_store > 0);
       await new Promise((resolve) => setTimeout(resolve, 100));
       console.log('goes on');`,
      { API: api.url, STORE: disk.at('store') },
    );
    expect(printed).toBe('1000 true true\ngoes on\n');
  });
});
