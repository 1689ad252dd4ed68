import { onTestFinished, vi } from 'vitest';
import { type BrandClient, createBrandClient } from '../../../src/brand/client.ts';
import { type Credential, createCredential } from '../../../src/brand/credential.ts';
import { createEndpoint, type NameValue } from '../../../src/brand/endpoint.ts';
import type { Meaning } from '../../../src/brand/meaning.ts';
import { ClosedConnectionError } from '../../../src/brand/transport.ts';

export interface ClientOptions {
  readonly credential?: Credential;
  readonly params?: readonly NameValue[];
  readonly headers?: readonly NameValue[];
  readonly connections?: number;
  readonly timeoutMs?: number;
  readonly maxBodyBytes?: number;
  readonly now?: () => number;
  /** Variables that name a proxy. @default none, whatever the machine has */
  readonly proxies?: Readonly<Record<string, string>>;
}

/** A client with what tests do with it. */
export interface TestClient {
  readonly client: BrandClient;
  /** Asks about a domain, as a lookup does: once more where a kept connection was closed. */
  ask(domain?: string, signal?: AbortSignal): Promise<Meaning>;
}

const PROXY_NAMES = 'http_proxy HTTP_PROXY https_proxy HTTPS_PROXY no_proxy NO_PROXY'.split(' ');

/** Opens a client that is closed when the test ends. */
export function useClient(baseUrl: string, options: ClientOptions = {}): TestClient {
  const { params = [], proxies = {}, ...others } = options;
  const credential = options.credential ?? createCredential({ kind: 'none' }, undefined);
  const endpoint = createEndpoint({ baseUrl, params, secretParam: credential.queryParam });
  for (const name of PROXY_NAMES) vi.stubEnv(name, proxies[name]);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const bounds = { connections: 1, timeoutMs: 5_000, ...others };
  const client = createBrandClient({ ...bounds, endpoint, credential });
  onTestFinished(() => client.close());
  const ask: TestClient['ask'] = async (
    domain = 'acme.com',
    signal = new AbortController().signal,
  ) => {
    try {
      return await client.call(endpoint.path(domain), signal, domain);
    } catch (error) {
      if (error instanceof ClosedConnectionError) return await ask(domain, signal);
      throw error;
    }
  };
  return { client, ask };
}
