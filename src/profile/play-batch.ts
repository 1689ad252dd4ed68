import { domainToASCII } from 'node:url';
import { DOMAIN, DOMAINS } from '../brand/endpoint.ts';
import { isJsonObject } from '../brand/json-object.ts';
import { BrandfillError } from '../common/errors.ts';
import type { BatchFile } from './profile-schema.ts';

export interface PlayedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What it costs, in the units that the profile bills. @default nothing */
  readonly charge?: number;
}

/** How the batches of an API are answered that is played by the sandbox. */
export interface PlayedBatch {
  readonly method: 'GET' | 'POST';
  /** The domains that a request asks about; undefined for one that is no batch. */
  domainsOf(target: string, body: string): readonly string[] | undefined;
  /** One reply, of what each domain would be answered alone. */
  replyOf(answers: ReadonlyMap<string, PlayedAnswer>): PlayedAnswer;
  /** Whether a request is one about a batch, as its path shows. */
  isAskedAt(target: string): boolean;
}

/**
 * Plays the batches of a profile, as far as its expressions are names with dots between them: from such a
 * one can be told where in a reply something belongs.
 *
 * @throws BrandfillError `INVALID_SETTING` for an expression that is more than that
 */
export function playBatch(batch: BatchFile): PlayedBatch {
  const { method = 'POST', path, params = {}, separator = ',' } = batch;
  const [records, domain, status, answer] = (
    ['records', 'domain', 'status', 'answer'] as const
  ).map((key) => stepsOf(key, batch[key]));
  const [askedPath = '', query = ''] = path.split('?');
  const inQuery = { ...Object.fromEntries(new URLSearchParams(query)), ...params };

  return {
    method,
    isAskedAt: (target) => new URL(target, 'http://sandbox').pathname.endsWith(askedPath),
    domainsOf: (target, body) => {
      const given = new URL(target, 'http://sandbox').searchParams;
      const found = Object.entries(inQuery).flatMap(([name, template]) =>
        domainsIn(template, given.get(name) ?? '', separator),
      );
      if (found.length > 0) return found.map(nameOf);
      try {
        return domainsIn(batch.body, JSON.parse(body), separator).map(nameOf);
      } catch {
        return undefined;
      }
    },
    replyOf: (answers) => {
      const entries = [...answers].map(([name, alone]) => {
        const said = tryParse(alone.body);
        let entry: unknown = answer ? setAt({}, answer, alone.status < 400 ? said : null) : said;
        if (domain) entry = setAt(entry, domain, name);
        return status ? setAt(entry, status, alone.status) : entry;
      });
      const reply = records ? setAt({}, records, entries) : entries;
      return { status: 200, headers: {}, body: JSON.stringify(reply) };
    },
  };
}

/** The names along an expression; undefined for none, and for the whole. */
function stepsOf(key: string, expression: string | undefined): readonly string[] | undefined {
  if (expression === undefined || expression === '@') return undefined;
  if (/^[a-z_]\w*(\.[a-z_]\w*)*$/i.test(expression)) return expression.split('.');
  throw new BrandfillError(
    'INVALID_SETTING',
    `cannot play its batches: '${key}' is '${expression}', and only names with dots between them say where something belongs in a reply; leave 'batch' out of a copy of the profile`,
  );
}

function setAt(target: unknown, [step, ...more]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const object = isJsonObject(target) ? target : {};
  return { ...object, [step]: setAt(object[step], more, value) };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? null : text;
  }
}

/** The domains that stand in a value where its template has them. */
function domainsIn(template: unknown, value: unknown, separator: string): readonly string[] {
  if (template === DOMAINS && Array.isArray(value)) return value.map(String);
  if (typeof template === 'string') {
    const mark = template.includes(DOMAINS) ? DOMAINS : DOMAIN;
    if (!template.includes(mark) || typeof value !== 'string') return [];
    const [before = '', after = ''] = template.split(mark);
    const inner = value.slice(before.length, value.length - after.length);
    return inner === '' ? [] : mark === DOMAINS ? inner.split(separator) : [inner];
  }
  if (Array.isArray(template)) {
    const [entry] = template;
    if (!Array.isArray(value)) return [];
    return value.flatMap((one, at) =>
      domainsIn(template.length === 1 ? entry : template[at], one, separator),
    );
  }
  if (!isJsonObject(template) || !isJsonObject(value)) return [];
  return Object.entries(template).flatMap(([name, part]) =>
    domainsIn(part, value[name], separator),
  );
}

function nameOf(domain: string): string {
  return domainToASCII(domain) || domain;
}
