import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { tell } from '../../src/on-finish/tell.ts';
import { useHttpServer } from '../support/servers.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('takes the credential out of what is told, wherever it may be in it', async () => {
  const folder = useTempFolder();
  let posted = '';
  const server = await useHttpServer((request, response) => {
    void text(request).then((body) => {
      posted = body;
      response.end();
    });
  });
  const at = new Date(0);
  const run = {
    job: 'nightly',
    file: join(folder, 'nightly.yaml'),
    exitCode: 1,
    startedAt: at,
    finishedAt: at,
    error: 'Unexpected "s3cret" in the answer',
  };
  const notices: string[] = [];
  await tell({ command: 'cat > told.json; env > env.txt', url: server.url }, run, {
    env: { PATH: process.env['PATH'], CRM_KEY: 's3cret' },
    credentialNames: new Set(['CRM_KEY']),
    redact: (value) => value.replaceAll('s3cret', '[redacted]'),
    onNotice: (message) => notices.push(message),
  });
  const told = readFileSync(join(folder, 'told.json'), 'utf8');
  expect(JSON.parse(told)).toMatchObject({ error: 'Unexpected "[redacted]" in the answer' });
  expect(posted).toBe(told.trimEnd());
  expect(readFileSync(join(folder, 'env.txt'), 'utf8')).not.toContain('s3cret');
  expect(notices).toEqual([]);
});
