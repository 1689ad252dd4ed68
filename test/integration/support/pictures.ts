import { readdirSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import type { SandboxReply } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { useHttpServer } from '../../support/servers.ts';
import { openScripted, passOn } from './api.ts';
import type { Folder } from './folder.ts';

/**
 * An API that also has the pictures its answers point to: no other port of this machine is asked
 * for any.
 *
 * @param scriptOf the answers, by domain
 * @param pictures answers what is no call
 */
export async function openPictureApi(
  scriptOf: (url: string) => Readonly<Record<string, SandboxReply>>,
  pictures: RequestListener,
): Promise<{ readonly url: string; asked(): string[] }> {
  let api: Sandbox | undefined;
  const paths: string[] = [];
  const { url } = await useHttpServer((request, response) => {
    const { url: path = '' } = request;
    if (api && path.startsWith('/v1/')) return passOn(api, request, response);
    paths.push(path);
    pictures(request, response);
  });
  api = await openScripted(scriptOf(url));
  return { url, asked: () => paths.splice(0) };
}

/** Answers with these pages. */
export function pages(of: Readonly<Record<string, string | Buffer>>): RequestListener {
  return ({ url = '' }, response) => {
    response.writeHead(of[url] === undefined ? 404 : 200).end(of[url]);
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

export const FLAGS: readonly string[] =
  '--logos pictures --logo-field logo --fields name=name --json'.split(' ');

export function picturesIn(folder: Folder): string[] {
  return readdirSync(folder.at('pictures')).sort();
}
