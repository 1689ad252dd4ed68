import { readdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { openScripted, openServer } from './api.ts';
import type { Folder } from './folder.ts';
import { listOf } from './tables.ts';

/** A host of pictures on this machine, and what it was asked. */
export async function openPictures(pages: Record<string, string | Buffer>): Promise<{
  readonly url: string;
  /** What has to be allowed. */
  readonly host: string;
  readonly requests: readonly IncomingMessage[];
  /** The paths that were asked for since the last time. */
  asked(): string[];
}> {
  const { url, requests } = await openServer((request, response) => {
    const page = pages[request.url ?? ''];
    response.writeHead(page === undefined ? 404 : 200).end(page);
  });
  let told = 0;
  return {
    url,
    host: new URL(url).host,
    requests,
    asked: () => {
      const paths = requests.slice(told).map((request) => request.url ?? '');
      told = requests.length;
      return paths.sort();
    },
  };
}

/** Answers with a logo for each domain. */
export function answers(
  logos: Readonly<Record<string, unknown>>,
): Record<string, { body: object }> {
  return Object.fromEntries(
    Object.entries(logos).map(([domain, logo]) => [domain, { body: { name: 'N', logo } }]),
  );
}

export const FLAGS: readonly string[] = [
  '--logos',
  'pictures',
  '--logo-field',
  'logo',
  '--fields',
  'name=name',
  '--json',
];

export function picturesIn(folder: Folder): string[] {
  return readdirSync(folder.at('pictures')).sort();
}

/** Writes a list of these domains, each with a logo at `url`, and gives what to run it with. */
export async function writeLogoList(
  folder: Folder,
  domains: readonly string[],
  url: string,
): Promise<readonly string[]> {
  const logos = domains.map((domain) => [domain, `${url}/${domain}`]);
  const api = await openScripted(answers(Object.fromEntries(logos)));
  folder.write('list.csv', listOf(domains));
  return ['enrich', 'list.csv', '--base-url', api.url, ...FLAGS];
}
