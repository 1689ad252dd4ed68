import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { enrich } from '../../src/index.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openFolder } from './support/folder.ts';
import { objectsOf, rowsOf } from './support/tables.ts';

describe('any merge', () => {
  const REPLIES: readonly SandboxReply[] = [
    { body: { name: 'A', tags: ['x', 'y'] } },
    { body: { name: '"q", z', tags: [] } },
    { status: 404 },
    { status: 500 },
  ];
  const domain = fc.nat(5);
  const reply = fc.array(fc.nat(3), { minLength: 6, maxLength: 6 });

  it('comes to what a run of the whole list comes to', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('csv', 'jsonl'),
        fc.array(fc.tuple(domain, fc.constantFrom('', ' n', 'a,"b"')), {
          minLength: 1,
          maxLength: 12,
        }),
        reply,
        reply,
        async (format, list, first, second) => {
          const folder = openFolder();
          let replies = first;
          const api = await startSandbox({
            respond: (name) => REPLIES[replies[Number(name[1])] ?? 0],
          });
          const own = list.map(([at, note]) => ({ domain: at === 5 ? '' : `d${at}.com`, note }));
          const quoted = (text: string): string => JSON.stringify(text).replaceAll('\\"', '""');
          folder.write(
            `list.${format}`,
            format === 'csv'
              ? `domain,note\n${own.map((row) => `${row.domain},${quoted(row.note)}\n`).join('')}`
              : own.map((row) => `${JSON.stringify(row)}\n`).join(''),
          );
          const options = {
            input: folder.at(`list.${format}`),
            baseUrl: api.url,
            store: folder.at('store'),
            fields: 'name=name,tags=tags',
            retries: 0,
            maxFailed: '100%',
            maxOutage: 0,
          };
          const parse = format === 'csv' ? rowsOf : objectsOf;
          try {
            await enrich(options);
            replies = second;
            const at = (name: string): string => folder.at(`list.${name}.${format}`);
            await enrich({ ...options, input: at('failures'), merge: at('enriched') });
            const merged = ['enriched', 'failures'].map((name) =>
              folder.read(`list.${name}.${format}`),
            );
            if (merged.some((text) => text.includes('skipped'))) return;
            const before = api.stats().calls;
            const last = await enrich({
              ...options,
              out: at('out'),
              failures: at('left'),
              maxCalls: 1_000,
            });
            const whole = ['out', 'left'].map((name) => folder.read(`list.${name}.${format}`));
            if (last.statuses.failed === 0) expect(api.stats().calls).toBe(before);
            const isSame = last.statuses.failed === 0 && last.statuses.skipped === 0;
            if (isSame) expect(merged).toEqual(whole);
            else
              expect(merged.map((text) => text && parse(text).length)).toEqual(
                whole.map((text) => text && parse(text).length),
              );
          } finally {
            await api.close();
          }
        },
      ),
      { numRuns: 8 },
    );
  });
});
