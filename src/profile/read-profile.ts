import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { domainToASCII, fileURLToPath } from 'node:url';
import type { Document, Node } from 'yaml';
import type { z } from 'zod';
import type { Answer } from '../brand/answer.ts';
import type {
  AnswerFacts,
  ApiProfile,
  BatchedAnswer,
  BatchProfile,
  Billing,
} from '../brand/api-profile.ts';
import { DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { fieldText } from '../brand/limit-headers/time.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { idOfParts } from '../common/hashes.ts';
import { describeKind, findNearest } from '../common/text.ts';
import { isProfileFile, parseRate } from '../options/kinds.ts';
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
  profileShape,
} from './profile-schema.ts';
import { compileLimits, compileRules, type ProfileProblem, tolerant } from './rules.ts';
import { findSampleProblem, meaningOfAnswer } from './samples.ts';

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
 *
 * @param findMore what else is refused. @default nothing
 */
export function readProfile(nameOrFile: string, findMore: FindProblems = () => []): Profile {
  const file = isProfileFile(nameOrFile) ? nameOrFile : shippedFile(nameOrFile);
  return parseProfile(file, readText(file), findMore);
}

/** Finds what is wrong with a profile that can be used nevertheless. */
type FindProblems = (profile: Profile) => readonly ProfileProblem[];

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
export function parseProfile(
  file: string,
  text: string,
  findMore: FindProblems = () => [],
): Profile {
  const { LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(file, lines);
  for (const { message, pos } of [...doc.errors, ...doc.warnings].slice(0, 3)) {
    issues.add(pos[0], describeYamlError(message, text.charAt(pos[0])));
  }
  throwIfAny(issues);
  const { data, error } = profileShape.safeParse(valueOf(doc, file));
  for (const issue of error?.issues ?? []) note(issue, { doc, issues, text });
  throwIfAny(issues);
  const content = data as ProfileFile;
  if (!hasDomain(content)) {
    issues.add(
      placeOf(['request', 'path'], doc),
      `expected ${DOMAIN} in 'path' or in the value of one of 'params': without it each call would ask the same`,
    );
  }
  if (content.batch && !hasDomains(content.batch)) {
    issues.add(
      placeOf(['batch'], doc),
      `expected ${DOMAINS} in 'path', 'params' or 'body', or ${DOMAIN} in the one entry of a list in 'body': without it no call would say what it asks about`,
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
  for (const { path, message } of findMore(profile)) issues.add(placeOf(path, doc), message);
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

function hasDomains({ method, path, params = {}, body }: BatchFile): boolean {
  const isInUrl = [path, ...Object.values(params)].some((text) => text.includes(DOMAINS));
  return isInUrl || (method !== 'GET' && (holds(body, DOMAINS) || holds(body, DOMAIN)));
}

function compile(name: string, content: ProfileFile): ApiProfile {
  const { request, rules = [], data, limits, billing, batch } = content;
  const params = Object.entries(request.params ?? {});
  const path = request.path ?? '/v1/brand';
  return {
    name,
    path,
    params: params.filter(([, value]) => value.includes(DOMAIN)),
    meaningId: idOfParts([
      rules.map(({ note: _, ...rule }) => rule),
      data ?? '',
      billing ?? '',
      ...(batch ? [batch] : []),
    ]),
    data,
    meaningOf: compileRules(rules),
    batch: batch && compileBatch(batch),
    findLimits: limits?.windows && compileLimits(limits.windows),
    billing: billing && compileBilling(billing),
    startRate: limits?.rate === undefined ? undefined : rateOf(limits.rate),
    recordOf: data === undefined ? (answer) => answer : tolerant(compileExpression(data)),
  };
}

function rateOf(text: string): ApiProfile['startRate'] {
  const rate = parseRate(text);
  return rate === 'auto' ? undefined : rate;
}

interface Reading {
  readonly doc: Document;
  readonly issues: JobFileIssues;
  readonly text: string;
}

/** Notes a mistake at the place that it is about. */
function note(issue: z.core.$ZodIssue, { doc, issues, text }: Reading): void {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      issues.add(keyPlace(path, key, doc), `there is no key '${shorten(key)}'${hintOf(path, key)}`);
    }
    return;
  }
  if (issue.code === 'invalid_key') {
    const [inner] = issue.issues;
    const key = path.at(-1);
    issues.add(keyPlace(path.slice(0, -1), String(key), doc), (inner ?? issue).message);
    return;
  }
  const meant = issue.code === 'invalid_union' ? issue.errors.find(isMeant) : undefined;
  if (meant && meant.length > 0) {
    for (const inner of meant) {
      note({ ...inner, path: [...path, ...inner.path] }, { doc, issues, text });
    }
    return;
  }
  const at = placeOf(path, doc) + placeWithin(issue, path, { doc, issues, text });
  issues.add(at, messageOf(issue, path, doc));
}

/**
 * Whether a form of a value was meant: the value is of its kind, and what is wrong is in it. That says
 * more than that no form fits.
 */
function isMeant(mistakes: readonly z.core.$ZodIssue[]): boolean {
  return (
    mistakes.every(({ path }) => path.length > 0) ||
    mistakes.every(({ code }) => code === 'custom' || code === 'unrecognized_keys')
  );
}

function messageOf(
  issue: z.core.$ZodIssue,
  path: readonly (string | number)[],
  doc?: Document,
): string {
  const key = path.findLast((step) => typeof step === 'string');
  const value: unknown = doc?.getIn(path);
  if (issue.code === 'invalid_type' && value === undefined) return `expected '${key}'`;
  const message = describe(issue, value);
  return key === undefined ? message : `${key}: ${message}`;
}

function describe(issue: z.core.$ZodIssue, value: unknown): string {
  const { isMap, isSeq } = loadYaml();
  switch (issue.code) {
    case 'invalid_type': {
      const received = isMap(value) ? 'a map' : isSeq(value) ? 'a list' : describeKind(value);
      return `expected ${TYPES[issue.expected] ?? issue.expected}, received ${received}`;
    }
    case 'invalid_value':
      return `expected ${issue.values.map(String).join(', ')}, received ${shown(value)}`;
    default:
      return issue.message;
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${shorten(value)}'` : describeKind(value);
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  object: 'a map',
  record: 'a map',
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
};

/** The keys that a map may have, found in the shape. */
function hintOf(path: readonly (string | number)[], key: string): string {
  const known = keysAt(path);
  const meant = findNearest(key, known);
  if (meant !== undefined) return `; did you mean '${meant}'?`;
  return known.length === 0 ? '' : `; expected ${known.join(', ')}`;
}

function keysAt(path: readonly (string | number)[]): readonly string[] {
  let shape: unknown = profileShape;
  for (const step of path) shape = innerOf(shape, step);
  const found = unwrap(shape);
  return isObjectShape(found) ? Object.keys(found.shape) : [];
}

function innerOf(shape: unknown, step: string | number): unknown {
  const inner = unwrap(shape);
  if (typeof step === 'number') return (inner as { element?: unknown }).element;
  return isObjectShape(inner) ? inner.shape[step] : undefined;
}

function unwrap(shape: unknown): unknown {
  const inner = (shape as { def?: { innerType?: unknown } } | undefined)?.def?.innerType;
  return inner === undefined ? shape : unwrap(inner);
}

function isObjectShape(
  shape: unknown,
): shape is { readonly shape: Readonly<Record<string, unknown>> } {
  return typeof shape === 'object' && shape !== null && 'shape' in shape;
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

function keyPlace(path: readonly (string | number)[], key: string, doc: Document): number {
  const { isMap, isScalar } = loadYaml();
  const map: unknown = path.length === 0 ? doc.contents : doc.getIn(path, true);
  const pair = isMap(map)
    ? map.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
    : undefined;
  const range = (pair?.key as Partial<Node> | undefined)?.range;
  return range?.[0] ?? placeOf(path, doc);
}

/** How far within a text the mistake is, where the text stands in the file as it is. */
function placeWithin(
  issue: z.core.$ZodIssue,
  path: readonly (string | number)[],
  { doc, text }: Reading,
): number {
  const at: unknown = issue.code === 'custom' ? issue.params?.['at'] : undefined;
  const value: unknown = doc.getIn(path);
  if (typeof at !== 'number' || typeof value !== 'string') return 0;
  const from = placeOf(path, doc);
  const written = text.slice(from, from + value.length + 2).indexOf(value);
  return written === -1 ? 0 : written + at;
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

const MICROS = 1_000_000;

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
    costOf(answer: Pick<Answer, 'kind'>, facts: AnswerFacts) {
      const stated = findStated(facts);
      if (stated !== undefined) return stated;
      return billed.has(meaningOfAnswer(answer)) ? priceMicros : 0;
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
  const { method = 'POST', path, params = {}, body, size, separator = ',' } = file;
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
      const joined = domains.map(encodeURIComponent).join(encodeURIComponent(separator));
      const query = Object.entries(params).map(
        ([name, value]) =>
          `${encodeURIComponent(name)}=${value.split(DOMAINS).map(encodeURIComponent).join(joined)}`,
      );
      const asked = path.replaceAll(DOMAINS, joined);
      if (query.length === 0) return asked;
      return `${asked}${asked.includes('?') ? '&' : '?'}${query.join('&')}`;
    },
    bodyOf: (domains) =>
      body === undefined || method === 'GET'
        ? undefined
        : JSON.stringify(fill(body, domains, separator)),
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
function fill(template: unknown, domains: readonly string[], separator: string): unknown {
  if (template === DOMAINS) return domains;
  if (typeof template === 'string') return template.replaceAll(DOMAINS, domains.join(separator));
  if (Array.isArray(template)) {
    const [entry] = template;
    return template.length === 1 && holds(entry, DOMAIN)
      ? domains.map((domain) => withDomain(entry, domain))
      : template.map((part) => fill(part, domains, separator));
  }
  if (!isJsonObject(template)) return template;
  const filled = Object.entries(template).map(([name, part]) => [
    name,
    fill(part, domains, separator),
  ]);
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
