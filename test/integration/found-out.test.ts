import { expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { enrichHere, summaryOf } from './support/command.ts';
import { domains, listOf, openList } from './support/folder.ts';

const MANY = domains(600);
const placeOf = (domain: string): number => MANY.indexOf(domain);

it('says at the end what it found out about the API: its refusals, its faults, its record for all', async () => {
  const folder = openList(listOf(MANY));
  let calls = 0;
  const api = await openApi({
    latencyMs: 2,
    respond: (domain) => {
      calls += 1;
      if (calls % 10 === 9) return { status: calls % 20 === 9 ? 503 : 500 };
      const place = placeOf(domain);
      if (place % 20 === 7) return { status: 403, body: `{"error":"${domain} is not for you"}` };
      if (place % 4 === 0) return { status: 200, body: '{"name":"Somebody"}' };
      return { status: 200, body: `{"name":"Company ${place} of many"}` };
    },
  });
  const ended = await enrichHere(folder, api.url, '--json');
  expect(ended.code, ended.stderr).toBe(0);
  const { findings, statuses } = summaryOf(ended);
  expect(statuses).toMatchObject({ found: 570, rejected: 30 });
  expect(findings).toContain('403 is how this API refuses a domain: 30 rows.');
  expect(findings).toContainEqual(
    expect.stringMatching(/^About one call in (9|1[0-3]) gets 50[03], 50[03] by chance/),
  );
  expect(findings).toContainEqual(
    expect.stringMatching(/^150 rows have one and the same record, such as that of /),
  );
});

it.each([503, 302])('says nothing of %i in an outage', async (status) => {
  const folder = openList(listOf(MANY));
  let calls = 0;
  let untilMs = 0;
  const api = await openApi({
    latencyMs: 2,
    respond: () => {
      calls += 1;
      if (calls === 200) untilMs = performance.now() + 1_500;
      return calls >= 200 && performance.now() < untilMs
        ? { status, headers: { location: '/login' } }
        : undefined;
    },
  });
  const ended = await enrichHere(folder, api.url, '--json');
  expect(summaryOf(ended)).toMatchObject({ statuses: { found: 600 }, findings: [] });
});

it('says nothing of an API that does what is expected', async () => {
  const folder = openList(listOf(MANY.slice(0, 60)));
  const api = await openApi();
  const ended = await enrichHere(folder, api.url, '--json');
  expect(summaryOf(ended).findings).toEqual([]);
});
