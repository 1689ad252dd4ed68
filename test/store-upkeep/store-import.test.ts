import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { importStore } from '../../src/commands/store-import.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('a file that is one line of many megabytes is refused in time', async () => {
  const folder = useTempFolder();
  const input = join(folder, 'wrong.jsonl.gz');
  writeFileSync(input, gzipSync(Buffer.alloc(64_000_000, 'x')));
  await expect(importStore({ input, store: join(folder, 'store') })).rejects.toThrow(
    'none of its lines is an outcome (the first: it is no JSON object)',
  );
});
