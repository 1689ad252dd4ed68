import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openServer } from './support/api.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { expectUsageError } from './support/usage-error.ts';

describe('the environment', () => {
  it('gives base URL, auth, credential and store where no flag does', async () => {
    const folder = openList();
    const server = await openServer();
    const ended = await runHere(['enrich', 'list.csv'], {
      cwd: folder.path,
      env: {
        BRANDFILL_BASE_URL: server.url,
        BRANDFILL_AUTH: 'bearer',
        BRANDFILL_API_KEY: ' k3y\n',
        BRANDFILL_STORE: 'from-env',
      },
    });
    expect(ended.code).toBe(0);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer k3y');
    expect(existsSync(folder.at('from-env'))).toBe(true);
  });

  it('yields to flags', async () => {
    const folder = openList();
    const server = await openServer();
    const ended = await runHere(
      ['enrich', 'list.csv', '--base-url', server.url, '--auth', 'none', '--store', 'from-flag'],
      {
        cwd: folder.path,
        env: {
          BRANDFILL_BASE_URL: 'http://127.0.0.1:9',
          BRANDFILL_AUTH: 'nonsense',
          BRANDFILL_STORE: 'from-env',
        },
      },
    );
    expect(ended.code).toBe(0);
    expect(existsSync(folder.at('from-flag'))).toBe(true);
    expect(existsSync(folder.at('from-env'))).toBe(false);
  });

  it('is named where what it says is wrong', async () => {
    const folder = openList();
    const ended = await runHere(['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9'], {
      cwd: folder.path,
      env: { BRANDFILL_AUTH: 'password' },
    });
    expectUsageError(ended, /BRANDFILL_AUTH/);
  });
});
