import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { AuthScheme } from '../../brand/credential.ts';
import { endSentence, refusal } from '../../common/errors.ts';
import { openToRead } from '../../common/files.ts';
import { aborted } from '../../common/lifetime.ts';
import * as kinds from '../../options/kinds.ts';
import { kind, option, refusing, under } from '../../options/option.ts';
import { playProfile } from '../../profile/play.ts';
import { readProfile } from '../../profile/read-profile.ts';
import type { SandboxAuth } from '../../sandbox/auth.ts';
import { LIMIT_HEADERS } from '../../sandbox/limiter.ts';
import type { SandboxOptions } from '../../sandbox/options.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { defineCommand, print, untilInterrupted } from './command.ts';

const latency = kind(
  z.string(),
  (given): number | { readonly fromMs: number; readonly toMs: number } => {
    const [from = '', ...to] = given.split('-');
    const fromMs = kinds.parseDuration(from);
    return to.length === 0 ? fromMs : { fromMs, toMs: kinds.parseDuration(to.join('-')) };
  },
  { placeholder: 'TIME' },
);

const SANDBOX_OPTIONS = under('The stand-in', {
  host: option(kinds.text('ADDRESS'), { default: '127.0.0.1', help: 'address to listen on' }),
  port: option(kinds.integer(0, 65_535), {
    default: '8080',
    help: 'port to listen on; 0 takes any free one',
  }),
  latency: option(latency, {
    help: 'time per call, such as 80ms, or a log-normal range such as 20ms-7s',
  }),
  limit: option(kinds.fixedRate(), { help: 'calls allowed, such as 50/s' }),
  limitKind: option(kinds.oneOf('token-bucket', 'fixed-window', 'sliding-window'), {
    placeholder: 'KIND',
    help: 'how calls count towards the limit: token-bucket, fixed-window or sliding-window (default: token-bucket)',
  }),
  limitHeaders: option(kinds.oneOf(...LIMIT_HEADERS), {
    placeholder: 'STYLE',
    help: `headers that report the limit: ${LIMIT_HEADERS.join(', ')} (default: retry-after)`,
  }),
  api: option(kinds.profile(), { help: 'play the API of a profile, by its samples' }),
  errors: option(kinds.share(), { help: 'share of the calls answered 5xx, such as 2%' }),
  notFound: option(kinds.share(), { help: 'share of the domains answered 404' }),
  auth: option(kinds.auth(), {
    help: 'require a credential: bearer, basic, header:NAME or query:NAME',
  }),
  key: option(kinds.text('TEXT'), { help: 'credential to require; do not use a real one' }),
  quota: option(kinds.integer(0), { help: 'number of calls until the answer is 402' }),
  logos: option(kinds.flag(), { help: 'also serve pictures, and have answers point to them' }),
  respond: option(kinds.file(), {
    help: 'module (.mjs) whose function respond(domain, call) answers some of the calls',
  }),
  seed: option(kinds.integer(0), { default: '1', help: 'seed that determines answers and faults' }),
});

/** `brandfill sandbox` */
export const sandbox = defineCommand(SANDBOX_OPTIONS, async ({ settings, context }) => {
  const { latency: latencyMs, respond, api, key: _, ...others } = settings;
  if (settings.limit === undefined && (settings.limitKind ?? settings.limitHeaders) !== undefined) {
    // Such a rehearsal would show nothing.
    throw refusal(
      'Cannot use --limit-kind or --limit-headers without a limit: give --limit too, such as --limit 50/s.',
    );
  }
  const play =
    api === undefined
      ? undefined
      : refusing('Cannot play the profile:', () => playProfile(readProfile(api)));
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const started = await startSandbox({
      ...others,
      latencyMs,
      respond: respond === undefined ? undefined : await loadRespond(respond),
      auth: authOf(settings.auth, settings.key),
      api: play,
    });
    const path = play?.pathOf('example.com') ?? '/v1/brand?domain=example.com';
    print(
      `Sandbox API on ${started.url}`,
      `  GET  ${started.url}${path}`,
      `  GET  ${started.url}/stats   what it has seen`,
      'Ctrl-C stops it.',
    );
    await aborted(signal);
    await started.close();
  });
});

/** @throws BrandfillError `INVALID_SETTING` for one of the two alone */
function authOf(scheme: AuthScheme | undefined, key: string | undefined): SandboxAuth | undefined {
  if (scheme === undefined && key === undefined) return undefined;
  if (scheme !== undefined && scheme.kind !== 'none' && key !== undefined)
    return { scheme: 'name' in scheme ? scheme : { kind: scheme.kind }, key };
  throw refusal(
    'Cannot ask for a credential with one option of two: give --auth (bearer, basic, header:NAME or query:NAME) and a --key.',
  );
}

/** @throws BrandfillError `INVALID_SETTING` for what is no module with such a function */
async function loadRespond(file: string): Promise<SandboxOptions['respond']> {
  let reason = 'it exports no function respond(domain, call)';
  try {
    await (await openToRead(file)).close();
    const module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
    const { respond } = module;
    if (typeof respond === 'function') return respond as SandboxOptions['respond'];
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw refusal(endSentence(`Cannot use ${file} to answer calls: ${reason}`));
}
