import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseAuth } from '../brand/credential.ts';
import { BrandfillError, describeSystemError, EXIT, endSentence } from '../common/errors.ts';
import { aborted } from '../common/lifetime.ts';
import { integer, parseDuration, parseRate, SHARE } from '../options/kinds.ts';
import { createIssues, describeYamlError } from '../options/yaml-files.ts';
import type { Play } from '../profile/play.ts';
import type { SandboxAuth } from '../sandbox/auth.ts';
import { LIMIT_HEADERS, LIMIT_KINDS } from '../sandbox/limiter.ts';
import type { SandboxOptions } from '../sandbox/options.ts';
import type { SandboxRule } from '../sandbox/script-rule.ts';
import { type CliContext, onInterrupt } from './command.ts';

type Limit = NonNullable<SandboxOptions['limit']>;

/** What is typed, where it is not what the sandbox takes. */
interface SandboxFlags
  extends Required<Pick<SandboxOptions, 'host' | 'port' | 'limitKind' | 'limitHeaders' | 'seed'>>,
    Pick<SandboxOptions, 'errors' | 'notFound' | 'broken' | 'quota' | 'logos'> {
  readonly latency?: SandboxOptions['latencyMs'];
  /** A number without a unit is a number of open calls. */
  readonly limit?: Limit | number;
  readonly limitStatus: '429' | '503';
  readonly auth?: string;
  readonly key?: string;
  /** The path of a file. */
  readonly script?: string;
  /** The name of a profile, or the path of its file. */
  readonly api?: string;
}

/** Adds `brandfill sandbox`. */
export function addSandboxCommand(program: Command, context: CliContext): void {
  program
    .command('sandbox')
    .description('run a stand-in for the API on this machine, for rehearsal, tests and benchmarks')
    .option('--host <ADDRESS>', 'address to listen on', '127.0.0.1')
    .option('--port <N>', 'port to listen on; 0 takes any free one', count, 8080)
    .option(
      '--latency <TIME>',
      'time per call, such as 80ms, or a log-normal range such as 20ms-7s',
      latency,
    )
    .option(
      '--limit <RATE>',
      'calls allowed, such as 50/s; with --limit-kind concurrent, the number of open calls',
      limit,
    )
    .addOption(
      new Option('--limit-kind <KIND>', 'how calls count towards the limit')
        .choices(LIMIT_KINDS)
        .default('token-bucket'),
    )
    .addOption(
      new Option('--limit-headers <STYLE>', 'headers that report the limit')
        .choices(LIMIT_HEADERS)
        .default('retry-after'),
    )
    .addOption(
      new Option('--limit-status <STATUS>', 'status of the answer to a call beyond the limit')
        .choices(['429', '503'])
        .default('429'),
    )
    .option('--api <NAME or FILE>', 'play the API of a profile, by its samples')
    .option('--errors <SHARE>', 'share of the calls answered 5xx, such as 2%', share)
    .option('--not-found <SHARE>', 'share of the domains answered 404', share)
    .option(
      '--broken <SHARE>',
      'share of the calls with an unusable body or a reset connection',
      share,
    )
    .option('--auth <SPEC>', 'require a credential: bearer, basic, header:NAME or query:NAME')
    .option('--key <TEXT>', 'credential to require; do not use a real one')
    .option('--quota <N>', 'number of calls until the answer is 402', count)
    .option('--logos', 'also serve pictures, and have answers point to them')
    .option('--script <FILE>', 'answers to some of the calls: a list of rules, YAML or JSON')
    .option('--seed <N>', 'seed that determines answers and faults', count, 1)
    .action(async (flags: SandboxFlags) => {
      refuseUnlimited(flags);
      await serve(flags, context);
      context.finish(EXIT.ok);
    });
}

async function serve(flags: SandboxFlags, context: CliContext): Promise<void> {
  const { latency: latencyMs, limit, limitStatus, auth, key, script, api, ...others } = flags;
  const play = api === undefined ? undefined : await readPlay(api);
  if (key !== undefined && auth === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot ask for a --key without knowing where it is sent: give --auth too, such as --auth bearer.',
    );
  }
  const { startSandbox } = await import('../sandbox/server.ts');
  const interrupt = onInterrupt(context.endAtOnce);
  const sandbox = await startSandbox({
    ...others,
    latencyMs,
    limitStatus: limitStatus === '503' ? 503 : 429,
    script: script === undefined ? undefined : await readScript(script),
    limit: limit === undefined ? undefined : sandboxLimit(limit, flags.limitKind),
    auth: auth === undefined ? undefined : sandboxAuth(auth, key),
    api: play,
  });
  const path = play?.pathOf('example.com') ?? '/v1/brand?domain=example.com';
  process.stdout.write(
    `Sandbox API on ${sandbox.url}\n` +
      `  GET  ${sandbox.url}${path}\n` +
      `  GET  ${sandbox.url}/stats   what it has seen\n` +
      `Ctrl-C stops it.\n`,
  );
  await aborted(interrupt.signal);
  await sandbox.close();
  interrupt.dispose();
}

/** Plays a profile. @throws BrandfillError `INVALID_SETTING` with what is wrong in it, and where */
async function readPlay(api: string): Promise<Play> {
  const { readProfile } = await import('../profile/read-profile.ts');
  const { playProfile } = await import('../profile/play.ts');
  try {
    return playProfile(readProfile(api));
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    throw new BrandfillError('INVALID_SETTING', endSentence(`Cannot play ${error.message}`), {
      cause: error,
    });
  }
}

/** Refuses flags of a limit without a limit: such a rehearsal would show nothing. */
function refuseUnlimited(flags: SandboxFlags): void {
  const { limit, limitKind, limitHeaders, limitStatus } = flags;
  if (limit !== undefined) return;
  const areHeadersMeant = limitHeaders !== 'none' && limitHeaders !== 'retry-after';
  if (limitKind === 'token-bucket' && !areHeadersMeant && limitStatus === '429') return;
  throw new BrandfillError(
    'INVALID_SETTING',
    'Cannot use --limit-kind, --limit-headers or --limit-status without a limit: give --limit too, such as --limit 50/s.',
  );
}

function sandboxLimit(limit: Limit | number, kind: SandboxOptions['limitKind']): Limit {
  if (typeof limit === 'number') {
    if (kind === 'concurrent') return { count: limit, perMs: 1_000 };
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot use --limit ${limit}: give a rate such as ${limit}/s, or --limit-kind concurrent for so many open calls.`,
    );
  }
  if (kind !== 'concurrent') return limit;
  throw new BrandfillError(
    'INVALID_SETTING',
    'Cannot use a rate for --limit-kind concurrent: give the number of calls that may be open, such as --limit 10.',
  );
}

function sandboxAuth(spec: string, key: string | undefined): SandboxAuth {
  const scheme = parseAuth(spec);
  if (scheme.kind === 'none' || !key) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot use --auth: give bearer, basic, header:NAME or query:NAME, and a --key.',
    );
  }
  switch (scheme.kind) {
    case 'header':
      return { scheme: { header: scheme.name }, key };
    case 'query':
      return { scheme: { query: scheme.name }, key };
    default:
      return { scheme: scheme.kind, key };
  }
}

const count = (text: string): number =>
  readable(() => integer(0, Number.MAX_SAFE_INTEGER).parse(text));
const share = (text: string): number => readable(() => SHARE.parse(text));

function latency(text: string): NonNullable<SandboxOptions['latencyMs']> {
  return readable(() => {
    const [from = '', ...to] = text.split('-');
    const fromMs = parseDuration(from);
    return to.length === 0 ? fromMs : { fromMs, toMs: parseDuration(to.join('-')) };
  });
}

function limit(text: string): Limit | number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  return readable(() => {
    const rate = parseRate(text);
    if (rate === 'auto')
      throw new BrandfillError('INVALID_SETTING', 'expected a rate such as 50/s');
    return rate;
  });
}

/** Turns an error of one of our parsers into commander's kind of error. */
function readable<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : String(error));
  }
}

/**
 * Reads a script.
 *
 * @throws BrandfillError `INVALID_SETTING` with all that is wrong in it, and where
 */
async function readScript(file: string): Promise<readonly SandboxRule[]> {
  const { isMap, isNode, isSeq, LineCounter, parseDocument } = await import('yaml');
  const { findRuleProblems } = await import('../sandbox/script-rule.ts');
  const text = await readText(file);
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(file, lines);
  for (const { message, pos } of [...doc.errors, ...doc.warnings].slice(0, 3)) {
    issues.add(pos[0], describeYamlError(message, text.charAt(pos[0])));
  }
  const offsetOf = (node: unknown): number => (isNode(node) ? node.range?.[0] : undefined) ?? 0;
  const rules = isSeq(doc.contents) ? doc.contents.items : [];
  if (issues.count() === 0 && rules.length === 0) {
    issues.add(offsetOf(doc.contents), "expected a list of rules, such as '- status: 503'");
  }
  for (const rule of issues.count() === 0 ? rules : []) {
    const keys = isMap(rule) ? rule.items.map(({ key }) => key) : [];
    for (const { key, problem } of findRuleProblems(isNode(rule) ? rule.toJS(doc) : rule)) {
      const place = keys.find((one) => String(one) === key) ?? rule;
      issues.add(offsetOf(place), `${key === undefined ? 'a rule' : `'${key}'`} ${problem}`);
    }
  }
  const error = issues.toError();
  if (error) throw error;
  return doc.toJS() as readonly SandboxRule[];
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read the script ${file}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  }
}
