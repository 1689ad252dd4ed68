import { refusal } from '../common/errors.ts';
import { type Options, refusing, type Sources } from '../options/option.ts';
import { API_OPTIONS } from '../options/options.ts';

// Several APIs that are asked in turn: `--api first,second`, or `sources` of a job file and of the
// library. Each is read as if it were the only one, from what is said of it alone and from all that
// is said of the run.

/**
 * What says who is asked, and with which credential, is never said of several at once; nor is what
 * units cost.
 */
const OF_ONE = [...Object.keys(API_OPTIONS), 'apiKey', 'apiKeyEnv', 'maxCost'];

/** Variables that are about the API of whoever names none. */
const QUIET = {
  BRANDFILL_API: undefined,
  BRANDFILL_BASE_URL: undefined,
  BRANDFILL_AUTH: undefined,
};

/**
 * The options of each API in turn; undefined where options name one in the plain way.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function splitSources(
  declared: Options,
  { given, env = process.env }: Sources,
): readonly Sources[] | undefined {
  const { sources: listed, ...all } = Object(given) as Readonly<Record<string, unknown>>;
  const { api = env['BRANDFILL_API'] } = all;
  const names = typeof api === 'string' && api.includes(',') ? api.split(',') : undefined;
  // Other commands are about one API.
  if (!declared['fields'] || (listed === undefined && !names)) return undefined;
  const each = listed ?? names?.map((name) => ({ api: name.trim() }));
  if (!Array.isArray(each) || each.length === 0) {
    throw refusal(
      "Cannot use option 'sources': expected a list of APIs, each with 'api' or 'baseUrl'.",
    );
  }
  const isSaid = (key: string): boolean => all[key] !== undefined;
  const stray = OF_ONE.find((key) => isSaid(key) && !(listed === undefined && key === 'api'));
  if (stray !== undefined) {
    throw refusal(
      `Cannot use option '${stray}' for several APIs at once: say it of each, in option 'sources' of a job file.`,
    );
  }
  const { api: _, maxCalls, ...common } = all;
  const bound = each.length === 1 ? { maxCalls } : {};
  return each.map((one) => ({
    given: { ...common, ...bound, ...Object(one) },
    env: { ...env, ...QUIET },
  }));
}

/** Says which of several APIs it is about that something is wrong. */
export function inSource<T>(at: number, read: () => T): T {
  return refusing(`Source ${at + 1}:`, read);
}
