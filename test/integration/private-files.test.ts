import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PNG } from '../run/logos/pictures.ts';
import { homeOf } from '../store/homes.ts';
import { openStore, outcomeOf } from '../store/outcomes.ts';
import { isLeftOut } from '../support/left-out.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openApi, openScripted } from './support/api.ts';
import { enrichHere, runHere } from './support/command.ts';
import { openFolder, openList } from './support/folder.ts';
import { answers, FLAGS, openPictureApi, pages } from './support/pictures.ts';

const STRANGER = 4711;
const needsRoot = isLeftOut(process.getuid?.() !== 0 && 'files of other users, which take root');

beforeEach(() => {
  const umask = process.umask(0o022);
  onTestFinished(() => void process.umask(umask));
});

const LIST = 'domain\na.com\nnone.com\n';

async function openRuns() {
  const folder = openFolder();
  const api = await openPictureApi(
    (url) => ({ ...answers({ 'a.com': `${url}/a.png` }), 'none.com': { status: 404 } }),
    pages({ '/a.png': PNG }),
  );
  const flags = ['--base-url', api.url, ...FLAGS];
  return {
    folder,
    /** A run that writes every kind of file there is. */
    enrich: async (input: string, ...more: readonly string[]) => {
      const ended = await runHere(['enrich', input, ...flags, ...more], { cwd: folder.path });
      expect(ended).toMatchObject({ code: 0 });
    },
  };
}

/** The permissions of all that lies in a folder, by its path. */
function modesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(names.sort().map((name) => [name, modeOf(join(folder, name))]));
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe('what a run makes from a list', () => {
  const MORE = ['--changes', 'changes.csv', '--report', 'report.html', '--report', 'report.json'];

  it.each([
    [0o600, '600', '700'],
    [0o440, '640', '750'],
    [0o666, '644', '755'],
  ])('is as open as that: %o', async (mode, files, folders) => {
    const { folder, enrich } = await openRuns();
    chmodSync(folder.write('list.csv', LIST), mode);
    await enrich('list.csv', ...MORE, '--store', 'kept');
    const { 'list.csv': list, kept, ...made } = modesIn(folder.path);
    expect(list).toBe(mode.toString(8));
    const ofStore = Object.keys(made).filter((name) => name.startsWith('kept'));
    for (const name of ofStore) delete made[name];
    expect(made).toEqual({
      'changes.csv': files,
      'list.enriched.csv': files,
      'list.failures.csv': files,
      pictures: folders,
      'pictures/a.com.png': files,
      'report.html': files,
      'report.json': files,
    });
  });

  it.skipIf(needsRoot)('is not for a group that the list is not for', async () => {
    const { folder, enrich } = await openRuns();
    chmodSync(folder.write('list.csv', LIST), 0o640);
    chownSync(folder.at('list.csv'), 0, STRANGER);
    await enrich('list.csv', ...MORE);
    const { 'list.enriched.csv': out, 'pictures/a.com.png': logo } = modesIn(folder.path);
    expect([out, logo]).toEqual(['600', '600']);
  });
});

describe('a store', () => {
  async function store(folder: string): Promise<void> {
    const opened = await openStore(folder, 'endpoint');
    await opened.put(outcomeOf('a.com'));
    await opened.close();
  }

  it('is for nobody else while a run has it either', async () => {
    process.umask(0);
    const folder = openList(LIST);
    let stored: Record<string, string> = {};
    const api = await openApi({
      respond: () => {
        stored = modesIn(folder.at('kept'));
        return undefined;
      },
    });
    await enrichHere(folder, api.url, '--changes', 'changes.csv', '--store', 'kept');
    expect(Object.keys(stored)).not.toEqual([]);
    expect(Object.entries(stored).filter(([, mode]) => !/^[67]00$/.test(mode))).toEqual([]);
  });

  it('that is there and more open is closed to others', async () => {
    const folder = useTempFolder();
    await store(folder);
    for (const path of [
      folder,
      ...['', 'data.mdb', 'lock.mdb'].map((name) => join(homeOf(folder), name)),
    ])
      chmodSync(path, 0o775);
    await store(folder);
    expect(modeOf(folder)).toBe('775');
    expect(modeOf(homeOf(folder))).toBe('700');
    const opened = { 'data.mdb': '700', 'lock.mdb': '700' };
    expect(modesIn(homeOf(folder))).toEqual({ 'BRANDFILL.TAG': '600', closed: '600', ...opened });
  });
});

describe.skipIf(needsRoot)('a link in a folder where everybody may write', () => {
  /** A folder like `/tmp`, a link in it, and what that leads to. */
  function plant(name: string, target: string, owner: number): string {
    const folder = useTempFolder();
    chmodSync(folder, 0o1777);
    symlinkSync(target, join(folder, name));
    lchownSync(join(folder, name), owner, owner);
    return folder;
  }

  it.each([
    ['--out', 'file.csv', 'Cannot write'],
    ['--failures', 'file.csv', 'Cannot write'],
    ['--changes', 'file.csv', 'Cannot write'],
    ['--report', 'file.html', 'Cannot write'],
    ['--logos', 'folder', 'Cannot write logos to'],
    ['--store', 'folder', 'Cannot open the store'],
  ])('that another user has put there is not followed by %s', async (flag, name, refusal) => {
    const folder = openList(LIST);
    folder.write('file.csv', 'precious');
    folder.write('file.html', 'precious');
    mkdirSync(folder.at('folder'));
    const link = join(plant(name, folder.at(name), STRANGER), name);
    const { url } = await openScripted({});
    const more = flag === '--logos' ? ['--logo-field', 'logo'] : [];
    const ended = await enrichHere(folder, url, flag, link, ...more);
    expect(ended.stderr).toContain(
      `${refusal} ${link}: ${link} is a link that another user (with the number ${STRANGER}) has put there`,
    );
    expect(ended.code).toBe(2);
    expect(readdirSync(folder.at('folder'))).toEqual([]);
    for (const file of ['file.csv', 'file.html']) expect(folder.read(file)).toBe('precious');
  });

  it('is followed and kept where it is our own', async () => {
    const { folder, enrich } = await openRuns();
    folder.write('list.csv', LIST);
    const shared = plant('out.csv', folder.at('real.csv'), 0);
    await enrich('list.csv', '--out', join(shared, 'out.csv'));
    expect(lstatSync(join(shared, 'out.csv')).isSymbolicLink()).toBe(true);
    expect(readFileSync(folder.at('real.csv'), 'utf8')).toContain('a.com');
  });
});
