import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { domainToASCII, fileURLToPath } from 'node:url';
import type { Document, Node } from 'yaml';
import type { z } from 'zod';
import type {
  AnswerFacts,
  ApiProfile,
  BatchedAnswer,
  BatchProfile,
  Billing,
} from '../brand/api-profile.ts';
import { DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { fieldText } from '../brand/limits.ts';
import type { Meaning } from '../brand/meaning.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { MICROS } from '../common/format.ts';
import { idOfParts } from '../common/hashes.ts';
import { findNearest } from '../common/text.ts';
import { isProfileFile, parseRate } from '../options/types.ts';
import {
  createIssues,
  describeYamlError,
  findTooLong,
  type JobFileIssues,
  loadYaml,
} from '../options/yaml-files.ts';
import { shorten } from '../rows/columns/names.ts';
import {
  type BatchFile,
  type BillingFile,
  type ProfileFile,
  profileSchema,
  profileShape,
} from './profile-schema.ts';
import { compileLimits, compileRules, tolerant } from './rules.ts';
import { findSampleProblem, wordOf } from './samples.ts';

/** A profile, read and checked. */
export interface Profile {
  /** The name that it is shipped under, or that of its file without folder and ending. */
  readonly name: string;
  /** What people call the API. */
  readonly title: string;
  /** Where it was read from. */
  readonly file: string;
  /** What stands in it. */
  readonly content: ProfileFile;
  /** The same, ready for calls. */
  readonly api: ApiProfile;
}

/**
 * Reads a profile: one that is shipped, by its name, or a file.
 *
 * @throws BrandfillError `INVALID_SETTING` with the place of everything that is wrong in it. The
 *   message follows the name of the setting that named it
 */
export function readProfile(nameOrFile: string): Profile {
  const file = isProfileFile(nameOrFile) ? nameOrFile : shippedFile(nameOrFile);
  return parseProfile(file, readText(file));
}

/**
 * The text of a profile as it stands in its file; of a shipped one, with the way to its schema from the
 * present folder, where a copy of it will be kept.
 *
 * @throws BrandfillError as `readProfile`
 */
export function readProfileText(nameOrFile: string): string {
  if (isProfileFile(nameOrFile)) return readText(nameOrFile);
  const toSchema = `$schema=${relative('', join(shippedFolder(), SCHEMA))}`;
  return readText(shippedFile(nameOrFile)).replace(`$schema=${SCHEMA}`, () => toSchema);
}

const SCHEMA = 'profile.schema.json';

/** The names of the profiles that come with Brandfill, in the order of the alphabet. */
export function shippedProfiles(): readonly string[] {
  return readdirSync(shippedFolder())
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => basename(name, '.yaml'))
    .sort();
}

/** `apis` of the package: beside `dist`, or beside `src` when run from the sources. */
function shippedFolder(): string {
  const beside = ['../apis', '../../apis'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return beside.find((path) => existsSync(path)) ?? 'apis';
}

function shippedFile(name: string): string {
  const names = shippedProfiles();
  if (names.includes(name)) return join(shippedFolder(), `${name}.yaml`);
  const meant = findNearest(name, names);
  const hint = meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`;
  throw refusal(
    `there is no profile '${shorten(name)}'; ${hint}\n  A file of your own is named with its ending or a folder, such as ./${shorten(name)}.yaml`,
  );
}

/** Reads the text of a profile. @throws BrandfillError as `readProfile` */
export function parseProfile(file: string, text: string): Profile {
  const { LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(file, lines);
  for (const { message, pos } of [...doc.errors, ...doc.warnings].slice(0, 3)) {
    issues.add(pos[0], describeYamlError(message, text.charAt(pos[0])));
  }
  throwIfAny(issues);
  const { data, error } = profileShape.safeParse(valueOf(doc, file));
  for (const issue of error?.issues ?? []) note(issue, doc, issues);
  throwIfAny(issues);
  if (!data) throw refusal(`${file}: no profile`);
  const content = data;
  if (!hasDomain(content)) {
    issues.add(
      placeOf(['request', 'path'], doc),
      `expected ${DOMAIN} in 'path' or in the value of one of 'params': without it each call would ask the same`,
    );
  }
  if (content.batch && !hasDomains(content.batch)) {
    issues.add(
      placeOf(['batch'], doc),
      `expected ${DOMAINS} in 'path' or 'body', or ${DOMAIN} in the one entry of a list in 'body': without it no call would say what it asks about`,
    );
  }
  throwIfAny(issues);
  const name = basename(file, extname(file));
  const { title = name } = content;
  const profile = { name, title, file, content, api: compile(name, content) };
  for (const [at, sample] of (content.samples ?? []).entries()) {
    const problem = findSampleProblem(sample, profile);
    if (problem !== undefined) issues.add(placeOf(['samples', at], doc), problem);
  }
  throwIfAny(issues);
  return profile;
}

/** @throws BrandfillError for anchors that lead nowhere, or to so much that nobody wrote it */
function valueOf(doc: Document, file: string): unknown {
  try {
    return doc.toJS();
  } catch (error) {
    throw refusal(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Without a path of its own, the standard one has the domain. */
function hasDomain({ request: { path, params = {} } }: ProfileFile): boolean {
  return (
    path === undefined || [path, ...Object.values(params)].some((text) => text.includes(DOMAIN))
  );
}

function hasDomains({ method, path, body }: BatchFile): boolean {
  return (
    path.includes(DOMAINS) || (method !== 'GET' && (holds(body, DOMAINS) || holds(body, DOMAIN)))
  );
}

function compile(name: string, content: ProfileFile): ApiProfile {
  const { request, rules = [], data, limits, billing, batch } = content;
  const params = Object.entries(request.params ?? {});
  const path = request.path ?? '/v1/brand';
  return {
    name,
    path,
    params: params.filter(([, value]) => value.includes(DOMAIN)),
    meaningId:
      rules.length === 0 && data === undefined && !billing && !batch
        ? undefined
        : idOfParts([rules.map(({ note: _, ...rule }) => rule), data, billing, batch]),
    data,
    meaningOf: compileRules(rules),
    batch: batch && compileBatch(batch),
    findLimits: limits?.windows && compileLimits(limits.windows),
    billing: billing && compileBilling(billing),
    startRate: limits?.rate === undefined ? undefined : rateOf(limits.rate),
    recordOf: data === undefined ? undefined : tolerant(compileExpression(data)),
  };
}

function rateOf(text: string): ApiProfile['startRate'] {
  const rate = parseRate(text);
  return rate === 'auto' ? undefined : rate;
}

/** Notes a mistake at the place that it is about. No value is shown: it may be a credential. */
function note(issue: z.core.$ZodIssue, doc: Document, issues: JobFileIssues): void {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const meant = findNearest(key, keysIn(profileSchema()));
      const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
      issues.add(placeOf([...path, key], doc), `there is no key '${shorten(key)}'${hint}`);
    }
    return;
  }
  if (issue.code === 'invalid_key') {
    const message = issue.issues[0]?.message ?? issue.message;
    issues.add(placeOf(path, doc), message);
    return;
  }
  const key = path.findLast((step) => typeof step === 'string');
  const message = issue.message.replace(/^Invalid (?:input|option): /, '');
  issues.add(placeOf(path, doc), key === undefined ? message : `${key}: ${message}`);
}

/** The keys of all maps in a JSON Schema. */
function keysIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, inner]: readonly [string, unknown]) =>
    name === 'properties' && isJsonObject(inner)
      ? Object.keys(inner).concat(keysIn(inner))
      : keysIn(inner),
  );
}

/** Where a value begins; of one that is not there, the map that it belongs in. */
function placeOf(path: readonly (string | number)[], doc: Document): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = length === 0 ? doc.contents : doc.getIn(path.slice(0, length), true);
    const range = (node as Partial<Node> | undefined)?.range;
    if (range) return range[0];
  }
  return 0;
}

function throwIfAny(issues: JobFileIssues): void {
  const message = issues.toError()?.message;
  if (message !== undefined) throw refusal(message.replace(/^Cannot use /, ''));
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}

function readText(file: string): string {
  try {
    const tooLong = findTooLong(statSync(file).size);
    if (tooLong !== undefined) throw new Error(tooLong);
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `cannot read the profile ${file}: ${describeSystemError(error)}`,
      { cause: error },
    );
  }
}

/**
 * What an API bills for its answers. Where an answer says itself what it cost, that counts; else the
 * price, for answers that mean what is billed.
 */
export function compileBilling({ unit, price = 1, bills = ['found'], cost }: BillingFile): Billing {
  const priceMicros = Math.round(price * MICROS);
  const billed: ReadonlySet<string> = new Set(bills);
  const findStated = cost === undefined ? () => undefined : compileCost(cost);
  return {
    unit,
    priceMicros,
    statedIn: findStated,
    costOf(meaning: Pick<Meaning, 'kind'>, facts: AnswerFacts) {
      const stated = findStated(facts);
      if (stated !== undefined) return stated;
      return billed.has(wordOf(meaning)) ? priceMicros : 0;
    },
  };
}

function compileCost(
  cost: NonNullable<BillingFile['cost']>,
): (facts: AnswerFacts) => number | undefined {
  if ('header' in cost) {
    const key = cost.header.toLowerCase();
    return ({ headers }) => {
      const value = headers[key];
      return value === undefined ? undefined : microsOf(fieldText(value));
    };
  }
  const find = tolerant(compileExpression(cost.body));
  return ({ json }) => microsOf(find(json()));
}

/** Undefined for anything but a number from 0 on, so that a malformed field bills as documented. */
function microsOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const number = value === '' ? Number.NaN : Number(value);
  const micros = Math.round(number * MICROS);
  return micros >= 0 && Number.isSafeInteger(micros) ? micros : undefined;
}

/** How an API is asked about several domains at once, and where their answers are in its reply. */
function compileBatch(file: BatchFile): BatchProfile {
  const { method = 'POST', path, body, size } = file;
  const find = (expression: string | undefined): ((value: unknown) => unknown) =>
    expression === undefined ? () => undefined : tolerant(compileExpression(expression));
  const findRecords = tolerant(compileExpression(file.records ?? '@'));
  const findDomain = find(file.domain);
  const findStatus = find(file.status);
  const findAnswer = file.answer === undefined ? (item: unknown) => item : find(file.answer);

  const answerOf = (item: unknown): BatchedAnswer => ({
    httpStatus: statusOf(findStatus(item)),
    body: findAnswer(item),
  });

  return {
    size,
    method,
    pathOf: (domains) => {
      const joined = domains.map(encodeURIComponent).join(',');
      return path.replaceAll(DOMAINS, joined);
    },
    bodyOf: (domains) =>
      body === undefined || method === 'GET' ? undefined : JSON.stringify(fill(body, domains)),
    answersIn: (reply, domains) => {
      const records = findRecords(reply);
      const found = new Map<string, BatchedAnswer>();
      if (isJsonObject(records) && file.domain === undefined) {
        const items = new Map(
          Object.entries(records).map(([name, item]) => [nameOf(name), item] as const),
        );
        for (const domain of domains) {
          if (items.has(domain)) found.set(domain, answerOf(items.get(domain)));
        }
        return found;
      }
      if (!Array.isArray(records)) return undefined;
      if (file.domain === undefined) {
        // In the order in which they were asked. With one too few, nobody knows whose is missing.
        if (records.length !== domains.length) return undefined;
        for (const [at, domain] of domains.entries()) found.set(domain, answerOf(records[at]));
        return found;
      }
      const asked = new Set(domains);
      for (const item of records) {
        const domain = nameOf(findDomain(item));
        if (asked.has(domain) && !found.has(domain)) found.set(domain, answerOf(item));
      }
      return found;
    },
  };
}

/** A domain as it is asked about: in lower case and Punycode. */
function nameOf(value: unknown): string {
  return typeof value === 'string' ? domainToASCII(value.trim()) || value.trim() : '';
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  const isStatus = typeof status === 'number' && status >= 100 && status <= 599;
  return isStatus && Number.isInteger(status) ? status : undefined;
}

/**
 * Puts the domains into the body: `{domains}` becomes their list, or part of a text, and a list with one
 * entry that holds `{domain}` gets such an entry for each.
 */
function fill(template: unknown, domains: readonly string[]): unknown {
  if (template === DOMAINS) return domains;
  if (typeof template === 'string') return template.replaceAll(DOMAINS, domains.join(','));
  if (Array.isArray(template)) {
    const [entry] = template;
    return template.length === 1 && holds(entry, DOMAIN)
      ? domains.map((domain) => withDomain(entry, domain))
      : template.map((part) => fill(part, domains));
  }
  if (!isJsonObject(template)) return template;
  const filled = Object.entries(template).map(([name, part]) => [name, fill(part, domains)]);
  return Object.fromEntries(filled);
}

/** Whether a text stands anywhere in a value. */
function holds(value: unknown, text: string): boolean {
  return value !== undefined && JSON.stringify(value).includes(text);
}

function withDomain(template: unknown, domain: string): unknown {
  return JSON.parse(JSON.stringify(template), (_, part: unknown) =>
    typeof part === 'string' ? part.replaceAll(DOMAIN, domain) : part,
  );
}
