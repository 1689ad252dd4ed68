import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openServer } from './support/api.ts';
import { runHere, summaryOf } from './support/command.ts';
import { type Folder, listOf, openList } from './support/folder.ts';

const KEY = { ACME_KEY: 's3cret-key-of-acme' };

/** A list of domains and a profile, `acme.yaml`, in one folder. */
function openProfile(profile: string, domains: readonly string[] = ['acme.com']): Folder {
  const folder = openList(listOf(domains));
  folder.write('acme.yaml', profile);
  return folder;
}

describe('the request of a profile', () => {
  it('puts the domain into the path, and sends its parameters, headers and credential', async () => {
    const { url, requests } = await openServer((_, response) => response.end('{"name":"Acme"}'));
    const folder = openProfile(`
title: Acme
request:
  baseUrl: ${url}/base
  path: /v2/brands/domain/{domain}
  params: { lang: de }
  headers: { x-client: crm }
  auth: header:X-Api-Key
  apiKeyEnv: ACME_KEY
`);
    const args = ['enrich', 'list.csv', '--api', 'acme.yaml', '--json'];
    const ended = await runHere(args, { cwd: folder.path, env: KEY });
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 1 }, calls: 1 });
    const headers = { 'x-client': 'crm', 'x-api-key': 's3cret-key-of-acme' };
    expect(requests).toMatchObject([{ url: '/base/v2/brands/domain/acme.com?lang=de', headers }]);
  });

  it('with a body is a POST of it, each time about its domain', async () => {
    const bodies: string[] = [];
    const { url, requests } = await openServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        response.end(`{"name":"${bodies.length}"}`);
      });
    });
    const folder = openProfile(
      `request: { baseUrl: "${url}", path: /find, body: { for: [{ site: '{domain}' }], all: true } }\n`,
      ['acme.com', 'bücher.de'],
    );
    const args = ['enrich', 'list.csv', '--api', 'acme.yaml', '--concurrency', '1'];
    const ended = await runHere(args, { cwd: folder.path });
    expect(ended.code, ended.stderr).toBe(0);
    const about = (site: string): string => `{"for":[{"site":"${site}"}],"all":true}`;
    expect(bodies.toSorted()).toEqual([about('acme.com'), about('xn--bcher-kva.de')]);
    const headers = { 'content-type': 'application/json' };
    expect(requests[0]).toMatchObject({ method: 'POST', url: '/find', headers });
  });

  it('that is typed beside a job file gets nothing of what the file has for its own API', async () => {
    const { url, requests } = await openServer((_, response) => response.end('{"name":"Acme"}'));
    const folder = openProfile(
      `title: Acme\nrequest: { baseUrl: "${url}", auth: bearer, apiKeyEnv: ACME_KEY }\n`,
    );
    folder.write(
      'job.yaml',
      'input: list.csv\nbaseUrl: http://127.0.0.1:9\nauth: header:X-Other\napiKeyEnv: OTHER_KEY\nparams: { a: b }\n',
    );
    const env = { ...KEY, OTHER_KEY: 'the-key-of-another-api' };
    const args = ['run', 'job.yaml', '--api', 'acme.yaml'];
    const ended = await runHere(args, { cwd: folder.path, env });
    expect(ended.code, ended.stderr).toBe(0);
    const headers = { authorization: 'Bearer s3cret-key-of-acme' };
    expect(requests).toMatchObject([{ url: '/v1/brand?domain=acme.com', headers }]);
    expect(JSON.stringify(requests[0]?.headers)).not.toContain('another-api');
  });
});

describe('a redirect to another host', () => {
  /** An API that sends each call to a signed address, which has a record at the second time. */
  async function openSigning(redirects: string) {
    let reads = 0;
    const files = await openServer((_, response) => {
      reads += 1;
      response.writeHead(reads === 1 ? 403 : 200).end('{"name":"Acme"}');
    });
    const api = await openServer((_, response) =>
      response.writeHead(302, { location: `${files.url}/acme.json?sign=a7` }).end(),
    );
    const folder = openProfile(
      `request: { baseUrl: "${api.url}", auth: bearer, apiKeyEnv: ACME_KEY, headers: { x-client: crm }${redirects} }`,
    );
    const args = ['try', 'acme.com', '--api', 'acme.yaml', '--explain'];
    const ended = await runHere(args, { cwd: folder.path, env: KEY });
    return { files, ended };
  }

  it('is read without the credential where the profile says that it is signed, and named anew when it is refused', async () => {
    const { files, ended } = await openSigning(', redirects: signed');
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toContain(`302 leads to ${files.url}, which is asked next.`);
    expect(ended.stdout + ended.stderr).not.toContain('sign=a7');
    expect(files.requests.map(({ url }) => url)).toEqual(Array(2).fill('/acme.json?sign=a7'));
    for (const { headers } of files.requests) {
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('x-client');
    }
  });

  it('is left alone without a word of the profile, and said', async () => {
    const { files, ended } = await openSigning('');
    expect([ended.code, files.requests.length]).toEqual([4, 0]);
    expect(ended.stdout + ended.stderr).toContain('The API sent the call to another server');
  });
});

const base = 'title: Acme\nrequest: { baseUrl: "http://127.0.0.1:9" }\n';

it('brandfill api check says what is right, and which rules no sample shows at work', async () => {
  const folder = openProfile(`${base}
rules:
  - { when: { status: 404, body: error }, means: pending }
  - { when: { status: 404 }, means: failed }
  - { when: { status: 403 }, means: throttled }
samples:
  - { status: 404, body: { error: x }, means: pending }
  - { status: 404, means: failed }
`);
  const ended = await runHere(['api', 'check', 'acme.yaml'], { cwd: folder.path });
  expect(ended).toMatchObject({
    code: 0,
    stdout:
      'acme.yaml is right: 3 rules, 2 samples that mean what they should.\nNo sample shows rule 3 at work.\n',
  });
});

it('brandfill try --explain says what each answer means, and which rule decided', async () => {
  let calls = 0;
  const { url } = await openServer((_, response) => {
    calls += 1;
    response.writeHead(calls === 1 ? 404 : 200, { 'x-error': 'crawl_queued' });
    response.end('{"name":"Acme"}');
  });
  const folder = openProfile(`
title: Acme
request: { baseUrl: "${url}" }
rules:
  - when: { status: 404, header: { name: x-error, pattern: ^crawl } }
    means: pending
    wait: 200ms
billing: { unit: credits, price: 10 }
`);
  const args = ['try', 'acme.com', '--api', 'acme.yaml'];
  const ended = await runHere([...args, '--explain'], { cwd: folder.path });
  expect(ended.code, ended.stderr).toBe(0);
  expect(ended.stderr).toBe(
    'Call 1: 404 means pending, again in 200 ms (rule 1: status 404, header x-error ~ ^crawl). Billed: 0 credits.\n' +
      'Call 2: 200 means found (no rule fits, as without a profile). Billed: 10 credits.\n',
  );
  const asJson = await runHere([...args, '--refresh', '--json'], { cwd: folder.path });
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    answers: [{ httpStatus: 200, means: 'found', bill: { units: 10, unit: 'credits' } }],
  });
});
