import type { AnswerFacts, BatchProfile } from './api-profile.ts';
import { Body, type Mended } from './body.ts';
import type { Credential } from './credential.ts';
import { DOMAIN, type Endpoint, type NameValue } from './endpoint.ts';
import { findLimits } from './limits.ts';
import { found, judge, judgeNoAnswer, type Meaning, meaningOf } from './meaning.ts';
import {
  ACCEPTED_ENCODINGS,
  ClosedConnectionError,
  type Exchanged,
  type ExchangeRequest,
  GivenUpError,
  openTransport,
  type ResponseHeaders,
  type Transport,
} from './transport.ts';

/** Makes calls to the API. It neither retries nor paces. */
export interface BrandClient {
  /**
   * Makes one call and says what its answer means. Network errors and timeouts are answers too.
   *
   * @param path as `Endpoint.path` or a redirect gives it: a whole URL gets no credential and no
   *   headers of the user's
   * @param signal gives the call up at once
   * @param domain the domain that the path asks about
   * @param isApart whether it goes over a connection of its own. @default where the same call went
   *   wrong before
   * @throws the signal's reason; ClosedConnectionError
   */
  call(path: string, signal: AbortSignal, domain: string, isApart?: boolean): Promise<Meaning>;
  /**
   * Makes one call about several domains.
   *
   * @param batch how the API is asked about them
   * @throws the signal's reason; ClosedConnectionError
   */
  callBatch(
    batch: BatchProfile,
    domains: readonly string[],
    signal: AbortSignal,
  ): Promise<BatchReply>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** What one call about several domains brought. */
export interface BatchReply {
  /** The reply as a whole, for the pace; about no domain when there are `meanings`. */
  readonly meaning: Meaning;
  /** What it says of each domain; a domain that it is silent about is not in it. */
  readonly meanings: ReadonlyMap<string, Meaning> | undefined;
}

export interface BrandClientOptions {
  readonly endpoint: Endpoint;
  readonly credential: Credential;
  /** Extra headers for every call. */
  readonly headers?: readonly NameValue[];
  /** How many connections are kept. */
  readonly connections: number;
  /** The longest that one call may take, from its start to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The largest body, after decompression. @default 10 MiB */
  readonly maxBodyBytes?: number;
  /** @default Date.now */
  readonly now?: () => number;
  /**
   * Called once for each oddity of the API's JSON that is read all the same.
   *
   * @default nobody is told
   */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** Carries the calls. @default connections of its own */
  readonly transport?: Transport;
}

/** What is said of JSON that was mended, once each. */
const MENDED: Readonly<Record<Mended, string>> = {
  nan: 'The API writes NaN or Infinity, for which JSON has no number: they are read as null.',
  quoted: 'The API puts its JSON into a text within JSON: it is read as if it stood there itself.',
  latin1: 'The API names no charset and does not write UTF-8: its answers are read as Latin-1.',
};

const OUR_HEADERS = {
  accept: 'application/json',
  'accept-encoding': ACCEPTED_ENCODINGS,
  'user-agent': 'brandfill',
};

/** A store has a host or two. */
const MOST_OTHER_HOSTS = 8;

const TEN_MIB = 10 * 1024 * 1024;

/**
 * Opens a keep-alive pool to the endpoint, through the proxy that the environment names, if any.
 */
export function createBrandClient(options: BrandClientOptions): BrandClient {
  const { endpoint, credential, connections, timeoutMs } = options;
  const { maxBodyBytes = TEN_MIB } = options;
  const { origin, profile } = endpoint;
  const { transport = openTransport({ origin, connections, timeoutMs }) } = options;
  const given = [...(profile?.headers ?? []), ...(options.headers ?? [])];
  const headers: Record<string, string> = {
    ...OUR_HEADERS,
    ...Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value])),
    ...Object.fromEntries(credential.headers),
  };

  const ofBody = { 'content-type': 'application/json', ...headers };
  const others = openOthers((other) => openTransport({ origin: other, connections, timeoutMs }));
  const { interpret, interpretBatch } = createInterpreter(options);

  function mostBytes(_: number, sent: ResponseHeaders): number {
    return Number(sent['content-length'] ?? 0) > maxBodyBytes ? 0 : maxBodyBytes;
  }

  /** Written out: a spread takes as long as parsing an answer does. */
  function requestOf(
    path: string,
    {
      body,
      method = body === undefined ? 'GET' : 'POST',
      isApart,
    }: Pick<ExchangeRequest, 'method' | 'body' | 'isApart'>,
  ): ExchangeRequest {
    const sent = body === undefined ? headers : ofBody;
    return { method, origin, path, headers: sent, body, mostBytes, isApart };
  }

  async function call(
    path: string,
    signal: AbortSignal,
    domain: string,
    isApart?: boolean,
  ): Promise<Meaning> {
    try {
      if (!path.startsWith('/')) return await callElsewhere(new URL(path), signal, domain);
      // A domain has no character that JSON would write otherwise.
      const body = profile?.body?.replaceAll(DOMAIN, domain);
      const asked = requestOf(path, { body, isApart });
      return interpret(await transport.exchange(asked, signal), path, domain);
    } catch (error) {
      return noAnswer(error, signal);
    }
  }

  function noAnswer(error: unknown, signal: AbortSignal): Meaning {
    signal.throwIfAborted();
    if (error instanceof ClosedConnectionError) throw error;
    return judgeNoAnswer(error);
  }

  /** Reads a signed address once. Where it has no record, the API is to name another. */
  async function callElsewhere(url: URL, signal: AbortSignal, domain: string): Promise<Meaning> {
    const path = url.pathname + url.search;
    const request = { origin: url.origin, path, headers: OUR_HEADERS, mostBytes };
    const response = await others.at(url.origin).exchange(request, signal);
    const meaning = interpret(response, path, domain);
    const { httpStatus, form, fingerprint } = meaning;
    if (meaningOf(response.httpStatus) === 'found') return meaning;
    return { kind: 'away', reason: `http_${response.httpStatus}`, httpStatus, form, fingerprint };
  }

  async function callBatch(
    batch: BatchProfile,
    domains: readonly string[],
    signal: AbortSignal,
  ): Promise<BatchReply> {
    const path = endpoint.batchPath(batch, domains);
    const asked = requestOf(path, { body: batch.bodyOf(domains), method: batch.method });
    try {
      return interpretBatch(await transport.exchange(asked, signal), batch, domains, path);
    } catch (error) {
      return { meaning: noAnswer(error, signal), meanings: undefined };
    }
  }

  async function close(): Promise<void> {
    await Promise.all([transport.close(), others.close()]);
  }

  return { call, callBatch, close };
}

/** The connections to other hosts that redirects led to. */
function openOthers(open: (origin: string) => Transport) {
  const all = new Map<string, Transport>();

  function at(origin: string): Transport {
    const known = all.get(origin);
    if (known) return known;
    const [[oldest, first] = []] = all;
    if (oldest !== undefined && all.size >= MOST_OTHER_HOSTS) {
      all.delete(oldest);
      void first?.close();
    }
    const opened = open(origin);
    all.set(origin, opened);
    return opened;
  }

  async function close(): Promise<void> {
    await Promise.all([...all.values()].map((one) => one.close()));
  }

  return { at, close };
}

/** What answers mean, and what they cost. */
function createInterpreter({ endpoint, credential, now = Date.now, onNotice }: BrandClientOptions) {
  const { origin, profile } = endpoint;
  const mendedBefore = new Set<Mended>();

  function interpret(response: Exchanged, path: string, domain: string): Meaning {
    const { httpStatus, headers: sent, bodyError } = response;
    if (bodyError instanceof GivenUpError && meaningOf(httpStatus) === 'found') throw bodyError;
    const nowMs = now();
    const body = new Body(response, credential.redactor);
    const stated = (profile?.findLimits ?? findLimits)(sent, nowMs);
    const facts: AnswerFacts = { httpStatus, headers: sent, json: () => body.json, nowMs };
    const meaning = judge({
      response,
      domain,
      origin,
      path,
      stated,
      nowMs,
      body,
      recordOf: profile?.recordOf,
      followsSigned: profile?.followsSigned,
      rule: profile?.meaningOf(facts),
    });
    if (meaning.kind === 'found') noteMended(body);
    const billing = profile?.billing;
    if (!billing) return meaning;
    return Object.assign(meaning, { costMicros: billing.costOf(meaning, facts) });
  }

  function noteMended({ mended }: Body): void {
    if (mended === undefined || mendedBefore.has(mended)) return;
    mendedBefore.add(mended);
    onNotice?.(MENDED[mended]);
  }

  /**
   * Each answer in a reply is judged as if it had come alone, without the headers, which are all's.
   */
  function interpretBatch(
    response: Exchanged,
    batch: BatchProfile,
    domains: readonly string[],
    path: string,
  ): BatchReply {
    const { httpStatus, headers: sent } = response;
    const isGood = httpStatus >= 200 && httpStatus < 300;
    const json = isGood ? new Body(response, credential.redactor).json : undefined;
    const answers = json === undefined ? undefined : batch.answersIn(json, domains);
    if (!answers)
      return { meaning: interpret(response, path, domains.join(',')), meanings: undefined };
    const nowMs = now();
    const facts: AnswerFacts = { httpStatus, headers: sent, json: () => json, nowMs };
    // A cost in the headers of a reply is that of all its answers.
    let costLeft = profile?.billing?.statedIn(facts);
    let costMicros = costLeft ?? 0;
    const meanings = new Map<string, Meaning>();
    for (const [domain, one] of answers) {
      const hasBody = one.body !== undefined && one.body !== null;
      const alone: Exchanged = {
        httpStatus: one.httpStatus ?? (hasBody ? httpStatus : 404),
        headers: { 'content-type': 'application/json' },
        bytes: Buffer.from(hasBody ? JSON.stringify(one.body) : ''),
        isCut: false,
        bodyError: undefined,
      };
      const meaning = interpret(alone, path, domain);
      if (costLeft === undefined) {
        costMicros += meaning.costMicros ?? 0;
        meanings.set(domain, meaning);
      } else {
        meanings.set(domain, Object.assign(meaning, { costMicros: costLeft }));
        costLeft = 0;
      }
    }
    const limits = (profile?.findLimits ?? findLimits)(sent, nowMs)?.limits;
    const meaning = { ...found('', httpStatus), costMicros, limits };
    return { meaning, meanings };
  }

  return { interpret, interpretBatch };
}
