import { crc32 } from 'node:zlib';

/** A record that several domains have. */
export interface SameRecord {
  readonly rows: number;
  readonly domains: number;
  /** The first of the domains. */
  readonly example: string;
}

/** So many different records are kept apart; beyond it, those that came once are forgotten. */
const MOST_RECORDS = 4_096;
/** The part of a record that is compared, in characters: reading long ones whole costs too much. */
const COMPARED = 4_096;

/** A number by which a record is compared, of 53 bits: the checksums of two parts of it. */
export function recordKey(json: string): number {
  const text = json.slice(0, COMPARED);
  const half = text.length / 2;
  return crc32(text.slice(0, half), json.length) * 2 ** 21 + (crc32(text.slice(half)) >>> 11);
}

/**
 * Which record comes for most domains, in memory of a bounded size. Where records are many, the
 * counts may be short by a few.
 */
export class SameRecords {
  readonly #records = new Map<
    number,
    { rows: number; domains: number; readonly example: string }
  >();
  /**
   * @param key of `recordKey`
   * @param rows how many rows have the domain
   */
  add(key: number, domain: string, rows: number): void {
    const known = this.#records.get(key);
    if (known) {
      known.rows += rows;
      known.domains += 1;
      return;
    }
    if (this.#records.size >= MOST_RECORDS) this.#forgetSingle();
    if (this.#records.size < MOST_RECORDS) {
      this.#records.set(key, { rows, domains: 1, example: domain });
    }
  }

  #forgetSingle(): void {
    for (const [key, { domains }] of this.#records) if (domains === 1) this.#records.delete(key);
  }

  /** The record of most domains, where it has several. */
  most(): SameRecord | undefined {
    const several = [...this.#records.values()].filter(({ domains }) => domains > 1);
    return several.sort((one, other) => other.domains - one.domains)[0];
  }
}
