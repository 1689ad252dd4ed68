import { nameOptions } from '../../options/option.ts';

/** What is said of commands, as the page of `brandfill app` says it. */
const ON_PAGE: Readonly<Record<string, string>> = {
  'run the same command again': 'press Go on',
  'Run the same command again': 'Press Go on',
  'Stopped on request': 'Stopped by you',
  ' to go on': '',
  'brandfill try DOMAIN': 'ask about three companies, under Columns',
  "option 'auth' and BRANDFILL_API_KEY": 'the key, under Connect',
};

/** Options as that page calls them. @default the words of their keys */
const FIELDS: Readonly<Record<string, string>> = {
  auth: 'how the key is sent',
  baseUrl: 'the address of the API',
  domainColumn: 'the column with the addresses',
  maxCalls: '“Calls, at most”',
  maxFailed: 'the bound on failures',
  maxOutage: 'the longest wait',
  maxWait: 'the longest wait',
  params: 'the parameters',
};

/** A text in the terms of the page of `brandfill app`, where nobody can type an option. */
export function onPage(text: string): string {
  const said = text
    .replaceAll(/ \(option '\w+'[^()]*\)/g, '')
    .replaceAll(
      /run the same command again|stopped on request| to go on\b|brandfill try DOMAIN|option 'auth' and BRANDFILL_API_KEY/gi,
      (phrase) => ON_PAGE[phrase] ?? phrase,
    );
  const wordsOf = (key: string): string =>
    `the ${key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
  return nameOptions(said, (key) => FIELDS[key] ?? wordsOf(key));
}
