import { z } from 'zod';
import { isCredentialName } from '../brand/credential.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import { refusal } from '../common/errors.ts';
import { HEADER_NAME, parseDuration } from '../options/kinds.ts';
import { kind } from '../options/option.ts';

// The kinds of texts in a profile: what is wrong with one is said in the words of what reads it.

/** A text that a parser reads; what the parser says of it is the mistake. */
export const parsed = <T>(help: string, parse: (text: string) => T) =>
  kind(z.string(), parse).describe(help);

/** Where an answer has not the form that an expression looks for, it finds nothing. */
export type Find = (answer: unknown) => unknown;
export const expression = (help: string) =>
  parsed(`${help}, as JMESPath`, (text): Find => {
    const find = compileExpression(text);
    return (answer) => {
      try {
        return answer === undefined ? undefined : find(answer);
      } catch {
        return undefined;
      }
    };
  });

export const duration = (help: string) => parsed(`${help}, such as 90s or 2min`, parseDuration);

/** The name of a header, in lower case as answers have it. */
export const headerName = (help: string) =>
  parsed(help, (name) => {
    if (HEADER_NAME.test(name)) return name.toLowerCase();
    throw refusal('expected the name of a header, such as x-credits');
  });

/** A path with its query in which `{…}` stands for what is asked about. */
export const path = (help: string, placeholder: string) =>
  parsed(help, (text) => {
    if (!/^\/[\x21-\x7e]*$/.test(text) || text.includes('#')) {
      throw refusal('expected a path that begins with /, such as /v2/brands/{domain}');
    }
    const query = new URLSearchParams(text.split('?')[1]);
    const credential = [...query.keys()].map(findCredential).find((problem) => problem);
    const stray = text.match(/\{[^}]*\}?/g)?.find((name) => name !== placeholder);
    const unknown = stray && `there is no '${stray}'; ${placeholder} is what can stand there`;
    const problem = credential ?? unknown;
    if (problem !== undefined) throw refusal(problem);
    return text;
  });

/** Says that a parameter or header is a credential, which does not belong in a profile. */
export function findCredential(name: string): string | undefined {
  return isCredentialName(name)
    ? `'${name}' is a credential; say in 'auth' how it is sent, and name the variable that holds it in 'apiKeyEnv'`
    : undefined;
}
