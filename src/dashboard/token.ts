import { BrandfillError } from '../common/errors.ts';
import { keepSecret } from '../common/secrets.ts';
import { isLocalAddress } from '../http/request-origin.ts';
import { readSecret } from '../job/job.ts';
import type { ListenAddress } from '../job/values/listen-address.ts';

/** The places where the token may come from. */
export interface TokenSources {
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: 'token' | 'tokenFile' | 'listen') => string;
}

/** An attacker could guess a shorter token in the long run. */
const SHORTEST = 16;

/**
 * Reads the token of the dashboard, and insists on one if other machines can reach it.
 *
 * @returns undefined when there is none, and none is needed
 * @throws BrandfillError `INVALID_SETTING`; it never repeats the token
 */
export function readToken(sources: TokenSources, listen: ListenAddress): string | undefined {
  const { tokenFile, env, describe } = sources;
  const token = sources.token ?? readSecret(tokenFile, env['BRANDFILL_DASHBOARD_TOKEN']);
  if (token === undefined) {
    if (isLocalAddress(listen.host)) return undefined;
    throw refusal(
      `Cannot show the dashboard on ${listen.host}, where others can reach it, without a token: set BRANDFILL_DASHBOARD_TOKEN, or give ${describe('tokenFile')}; or give ${describe('listen')} a port alone, for this machine only.`,
    );
  }
  if (token.length < SHORTEST || !/^[\x21-\x7e]+$/.test(token)) {
    throw refusal(
      `Cannot use the token of the dashboard: expected at least ${SHORTEST} letters, digits or signs, such as \`openssl rand -hex 16\` gives.`,
    );
  }
  keepSecret(token);
  return token;
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}
