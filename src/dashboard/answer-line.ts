import { findJsonObject, type JsonObject } from '../brand/json-object.ts';

const LONGEST = 120;

/**
 * An answer in a line, for people: its `name` if it has one, else its first text, else its
 * beginning. The text comes from somebody else and may hold anything.
 */
export function describeAnswer(json: string): string {
  const answer = findJsonObject(json) ?? {};
  return cut(findName(answer) ?? json);
}

function findName(answer: JsonObject): string | undefined {
  const texts = [answer['name'], ...Object.values(answer)];
  return texts.find((value): value is string => typeof value === 'string' && value !== '');
}

function cut(text: string): string {
  const characters = Array.from(text.slice(0, 2 * LONGEST));
  if (characters.length <= LONGEST && text.length <= 2 * LONGEST) return text;
  return `${characters.slice(0, LONGEST).join('')}…`;
}
