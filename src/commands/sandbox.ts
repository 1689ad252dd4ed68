import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BrandfillError, EXIT, endSentence } from '../common/errors.ts';
import { aborted } from '../common/lifetime.ts';
import type { SANDBOX_FLAGS } from '../options/command-options.ts';
import { refusal, type SettingsOf } from '../options/option.ts';
import { type Play, playProfile } from '../profile/play.ts';
import { readProfile } from '../profile/read-profile.ts';
import type { SandboxAuth } from '../sandbox/auth.ts';
import type { SandboxOptions } from '../sandbox/options.ts';
import { startSandbox } from '../sandbox/server.ts';
import { print, type RunCommand, untilInterrupted } from './command.ts';

type Flags = SettingsOf<typeof SANDBOX_FLAGS>;

/** `brandfill sandbox` */
export const runSandbox: RunCommand<typeof SANDBOX_FLAGS> = async ({ flags, context }) => {
  const { latency: latencyMs, respond, api, key: _, ...others } = flags;
  if (flags.limit === undefined && (flags.limitKind ?? flags.limitHeaders) !== undefined) {
    // Such a rehearsal would show nothing.
    throw refusal(
      'Cannot use --limit-kind or --limit-headers without a limit: give --limit too, such as --limit 50/s.',
    );
  }
  const auth = authOf(flags);
  const play = api === undefined ? undefined : readPlay(api);
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const sandbox = await startSandbox({
      ...others,
      latencyMs,
      respond: respond === undefined ? undefined : await loadRespond(respond),
      auth,
      api: play,
    });
    const path = play?.pathOf('example.com') ?? '/v1/brand?domain=example.com';
    print(
      `Sandbox API on ${sandbox.url}`,
      `  GET  ${sandbox.url}${path}`,
      `  GET  ${sandbox.url}/stats   what it has seen`,
      'Ctrl-C stops it.',
    );
    await aborted(signal);
    await sandbox.close();
    return EXIT.ok;
  });
};

/** Plays a profile. @throws BrandfillError `INVALID_SETTING` with what is wrong in it, and where */
function readPlay(api: string): Play {
  try {
    return playProfile(readProfile(api));
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    throw new BrandfillError('INVALID_SETTING', endSentence(`Cannot play ${error.message}`), {
      cause: error,
    });
  }
}

function authOf({ auth: scheme, key }: Flags): SandboxAuth | undefined {
  if (scheme === undefined) {
    if (key === undefined) return undefined;
    throw refusal(
      'Cannot ask for a --key without knowing where it is sent: give --auth too, such as --auth bearer.',
    );
  }
  if (scheme.kind === 'none' || key === undefined) {
    throw refusal('Cannot use --auth: give bearer, basic, header:NAME or query:NAME, and a --key.');
  }
  if (scheme.kind === 'header') return { scheme: { header: scheme.name }, key };
  if (scheme.kind === 'query') return { scheme: { query: scheme.name }, key };
  return { scheme: scheme.kind, key };
}

/** @throws BrandfillError `INVALID_SETTING` for what is no module with such a function */
async function loadRespond(file: string): Promise<SandboxOptions['respond']> {
  let reason = 'it exports no function respond(domain, call)';
  try {
    const module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
    const { respond } = module;
    if (typeof respond === 'function') return respond as SandboxOptions['respond'];
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    endSentence(`Cannot use ${file} to answer calls: ${reason}`),
  );
}
