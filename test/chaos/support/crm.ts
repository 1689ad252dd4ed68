import type { SandboxAnswer } from '../../../src/sandbox/options.ts';
import type { SeededRandom } from '../../support/random.ts';

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
