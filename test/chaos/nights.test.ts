import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { SandboxAnswer, SandboxReply } from '../../src/sandbox/options.ts';
import { openApi } from '../integration/support/api.ts';
import { type Ended, type Started, start, startHere } from '../integration/support/command.ts';
import { openFolder, rowsOf } from '../integration/support/folder.ts';
import { type SeededRandom, seededRandom } from '../support/random.ts';

const NIGHTS = 8;
const DAY_MS = 24 * 60 * 60_000;
/**
 * Each night begins a little later, so that what is due after three days is due in the third night.
 */
const LATER_MS = 60_000;
const DUE_AFTER = { found: 3, notFound: 2 };
const FLAGS = [
  '--fields name=name,staff=staff --changes changes.csv --key id',
  '--fresh 3d --fresh-not-found 2d',
  '--max-outage 500ms --retries 1 --concurrency 4',
].flatMap((flags) => flags.split(' '));
const OUTAGE_NIGHT = 2;
const QUOTA_NIGHT = 4;
const CRASH_NIGHT = 5;
const OVERLAP_NIGHT = 7;
const SHIFT = `--import ${pathToFileURL(`${import.meta.dirname}/support/shift-date.mjs`).href}`;
/** With a time, or it might be about the domain. */
const USED_UP = { status: 402, headers: { 'retry-after': '3600' } };
/** Until another run has come. */
const BUSY = { status: 429, headers: { 'retry-after': '0.2' } };

const random = seededRandom('nights.test.ts');

it('nights cost what is due, and tell the CRM all that it has to know', async () => {
  const crm = createCrm(random);
  const folder = openFolder();
  let trouble: () => SandboxReply | undefined = () => undefined;
  const asked: string[] = [];
  const api = await openApi({
    latencyMs: 2,
    respond: (domain) => {
      const reply = trouble() ?? answerOf(crm.brandOf(domain));
      const isAnswer = typeof reply === 'object' && (reply.status ?? 200) <= 404;
      if (isAnswer && reply.status !== 402) asked.push(domain);
      return reply;
    },
  });
  /** When each domain was answered last, in nights, as far as this test knows. */
  const answeredIn = new Map<string, number>();
  /** What the CRM knows, told by nothing but the changes files. */
  const told = new Map<string, Record<string, string>>();

  const argsOf = (more: readonly string[]) => ['enrich', 'accounts.csv', ...FLAGS, ...more];
  const env = { BRANDFILL_BASE_URL: api.url };
  /** Starts a run in this process, as of tonight. */
  const begin = (...more: readonly string[]): Started =>
    startHere(argsOf(more), { cwd: folder.path, env });
  const enrich = async (...more: readonly string[]): Promise<Ended> => await begin(...more).ended;
  const startedMs = Date.now();
  onTestFinished(() => void vi.useRealTimers());

  /** The domains that have to be asked tonight. */
  function dueIn(night: number): string[] {
    const due = [...new Set(crm.accounts.map(domainOf))].filter((domain) => {
      const lastNight = answeredIn.get(domain);
      if (lastNight === undefined) return true;
      return night - lastNight >= (crm.brandOf(domain) ? DUE_AFTER.found : DUE_AFTER.notFound);
    });
    return due.sort();
  }

  /** Takes note of what was asked tonight; each domain once. */
  function settle(night: number): string[] {
    const domains = asked.splice(0).sort();
    expect(new Set(domains).size, 'a domain was asked twice').toBe(domains.length);
    for (const domain of domains) answeredIn.set(domain, night);
    return domains;
  }

  /** Tells the CRM what is in the changes file, and compares the output with the export. */
  function deliver(): void {
    const rows = rowsOf(folder.read('accounts.enriched.csv'));
    expect(rows.map(({ id, website, note }) => ({ id, website, note }))).toEqual(crm.accounts);
    for (const { id = '', ...row } of rowsOf(folder.read('changes.csv'))) told.set(id, row);
  }

  for (let night = 0; night <= NIGHTS; night += 1) {
    if (night > 0) crm.passDay();
    const shiftMs = night * (DAY_MS + LATER_MS);
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: startedMs + shiftMs });
    folder.write('accounts.csv', crm.toCsv());
    const due = dueIn(night);
    const callsBefore = api.stats().calls;
    switch (night) {
      case OUTAGE_NIGHT: {
        trouble = () => ({ status: 503 });
        const ended = await enrich();
        trouble = () => undefined;
        expect([3, 4], ended.stderr).toContain(ended.code);
        expect(settle(night)).toEqual([]);
        break;
      }
      case QUOTA_NIGHT: {
        let left = 3;
        trouble = () => {
          left -= 1;
          return left < 0 ? USED_UP : undefined;
        };
        const ended = await enrich('--max-wait', '2s');
        trouble = () => undefined;
        expect(ended.code, ended.stderr).toBe(due.length > 3 ? 4 : 0);
        expect(settle(night).length).toBeLessThanOrEqual(3);
        break;
      }
      case CRASH_NIGHT: {
        let hanging = 0;
        trouble = () => {
          if (asked.length < Math.min(2, due.length - 1)) return undefined;
          hanging += 1;
          return 'hang';
        };
        const killed = await start(argsOf([]), {
          cwd: folder.path,
          env: { ...env, NODE_OPTIONS: SHIFT, BRANDFILL_TEST_SHIFT_MS: String(shiftMs) },
        });
        while (hanging === 0 && killed.process.exitCode === null) await delay(5);
        await killed.stop('SIGKILL');
        trouble = () => undefined;
        const atCrash = asked.splice(0);
        expect((await enrich()).code).toBe(0);
        // What was being stored at that moment may be asked again, and what waited for others to be
        // well.
        const again = asked.filter((domain) => atCrash.includes(domain)).length;
        expect(again).toBeLessThanOrEqual(6);
        const all = [...new Set([...atCrash, ...asked.splice(0)])].sort();
        expect(all).toEqual(due);
        for (const domain of all) answeredIn.set(domain, night);
        break;
      }
      case OVERLAP_NIGHT: {
        trouble = () => BUSY;
        const first = begin();
        while (api.stats().calls === callsBefore) await delay(5);
        const second = begin('--out', 'second.csv', '--changes', 'told.csv');
        await second.shows('is in use by process');
        trouble = () => undefined;
        expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0]);
        expect(settle(night)).toEqual(due);
        break;
      }
      default: {
        const ended = await enrich();
        expect(ended.code, ended.stderr).toBe(0);
        expect(settle(night), `night ${night}`).toEqual(due);
      }
    }
    deliver();
  }

  const last = rowsOf(folder.read('accounts.enriched.csv'));
  expect(new Set(last.map((row) => row['brand_status']))).toEqual(new Set(['found', 'not_found']));
  for (const { id = '', ...row } of last) {
    const known = told.get(id);
    const enriched = ['brand_domain', 'brand_status', 'brand_name', 'brand_staff'];
    expect(enriched.map((name) => known?.[name])).toEqual(enriched.map((name) => row[name]));
  }
}, 240_000);

/** A row of the export. */
export interface Account {
  readonly id: string;
  readonly website: string;
  readonly note: string;
}

/** A CRM whose export changes a little every night, and what is true of its companies. */
export interface Crm {
  readonly accounts: readonly Account[];
  /** What the API knows of a domain tonight. */
  brandOf(domain: string): { readonly name: string; readonly staff: number } | undefined;
  /** A few rows come, go and are edited; a few brands change. */
  passDay(): void;
  /** The export as CSV. */
  toCsv(): string;
}

const ROWS_AT_FIRST = 120;
/** Nobody knows every ninth domain. */
const UNKNOWN_EVERY = 9;

export function createCrm(random: SeededRandom): Crm {
  const versions = new Map<string, number>();
  let lastId = 0;
  let accounts: Account[] = [];

  const domainAt = (number: number): string => `company-${number}.com`;
  const newAccount = (isNewCompany = random.next() < 0.5): Account => {
    lastId += 1;
    const domain = domainAt(isNewCompany ? lastId : random.between(1, lastId));
    const website = random.next() < 0.5 ? domain : `https://www.${domain}/about`;
    return { id: String(lastId), website, note: random.next() < 0.2 ? 'a "note", with more' : '' };
  };
  const place = (): number => random.between(0, accounts.length - 1);

  accounts = Array.from({ length: ROWS_AT_FIRST }, () => newAccount());
  return {
    get accounts() {
      return accounts;
    },
    brandOf: (domain) => {
      const number = Number(/\d+/.exec(domain)?.[0]);
      if (number % UNKNOWN_EVERY === 0) return undefined;
      return { name: `Company ${number}`, staff: 10 + (versions.get(domain) ?? 0) };
    },
    passDay: () => {
      accounts.splice(place(), 1);
      accounts.splice(place(), 0, newAccount());
      accounts.push(newAccount(true));
      const edited = place();
      accounts = accounts.map((account, at) =>
        at === edited ? { ...account, note: `edited ${random.between(1, 99)}` } : account,
      );
      for (let change = 0; change < 4; change += 1) {
        const domain = domainAt(random.between(1, lastId));
        versions.set(domain, (versions.get(domain) ?? 0) + 1);
      }
    },
    toCsv: () =>
      `id,website,note\n${accounts
        .map(({ id, website, note }) => `${id},${website},"${note.replaceAll('"', '""')}"\n`)
        .join('')}`,
  };
}

/** The domain of an account, as the API is asked for it. */
export function domainOf({ website }: Account): string {
  return /company-\d+\.com/.exec(website)?.[0] ?? '';
}

export function answerOf(brand: ReturnType<Crm['brandOf']>): SandboxAnswer {
  return brand ? { body: brand } : { status: 404, body: { error: 'unknown' } };
}
