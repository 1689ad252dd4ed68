import type { SandboxReply } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { openApi } from '../../integration/support/api.ts';

/** A sandbox that always says the same. */
export async function sandboxThatSays(reply: SandboxReply): Promise<Sandbox> {
  return await openApi({ respond: () => reply });
}
