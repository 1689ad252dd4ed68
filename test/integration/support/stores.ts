import { open } from 'lmdb';
import { openScripted } from './api.ts';
import { type Ended, runHere } from './command.ts';
import { enrichIn } from './enrich.ts';
import { type Folder, openList } from './folder.ts';

/** Runs `brandfill store …` in a folder, in this process. */
export function inStore(folder: Folder, ...args: readonly string[]): Promise<Ended> {
  return runHere(['store', ...args], { cwd: folder.path });
}

/** Opens the database of the store of a folder, to look at what is in it beside a run. */
export function lookIntoStore(folder: Folder) {
  const path = folder.at('.brandfill/brandfill-store');
  return open({ path, noSubdir: false, maxDbs: 8, readOnly: true });
}

/** A folder whose store has outcomes of three kinds, from one API. */
export async function openEnriched() {
  const folder = openList('domain\nacme.com\nbolt.com\ncrow.com\n');
  const script = {
    'acme.com': { body: '{"id": 12345678901234567890,\n "name": "Acme"}' },
    'bolt.com': { status: 404 },
    'crow.com': { status: 500 },
  };
  const api = await openScripted(script);
  const settings = { input: 'list.csv', baseUrl: api.url, retries: 0 };
  await enrichIn(folder, settings);
  return { folder, api, settings };
}
