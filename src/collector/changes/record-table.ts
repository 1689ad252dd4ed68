/**
 * Finds the records of a manifest by the identities of rows, in some 20 bytes of memory each.
 * Records of the same identity are given out one after the other, in their order.
 */
export interface RecordTable {
  /** The next record of this identity that was not given out yet; -1 when there is none. */
  take(low: number, high: number): number;
}

/** Instead of a next record: this one is the last of its identity, the only one, or given out already. */
const LAST = -1;
const ONLY = -2;
const GONE = -3;

/**
 * Makes the table. The order of a list is nearly the same from night to night, so the record behind
 * the one before is tried first; only when that is another one, or not the only one of its identity, the
 * table is asked.
 *
 * @param ids two words for each record: its identity
 */
export function createRecordTable(ids: Uint32Array): RecordTable {
  const count = ids.length / 2;
  const mask = 2 ** Math.ceil(Math.log2(Math.max(2, count * 1.5))) - 1;
  /** Number of the first record that is left of an identity, plus 1; 0 for an empty slot. */
  const slots = new Uint32Array(mask + 1);
  /** For each record, the next one of its identity. */
  const next = new Int32Array(count).fill(ONLY);
  let expected = 0;

  const isAt = (record: number, low: number, high: number): boolean =>
    ids[2 * record] === low && ids[2 * record + 1] === high;

  /** Where an identity is, or the empty slot where it would be. */
  function findSlot(low: number, high: number): number {
    let slot = low & mask;
    for (;;) {
      const record = (slots[slot] ?? 0) - 1;
      if (record === -1 || isAt(record, low, high)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  // From the last to the first, so that the first one is at the head.
  for (let record = count - 1; record >= 0; record -= 1) {
    const slot = findSlot(ids[2 * record] ?? 0, ids[2 * record + 1] ?? 0);
    const following = (slots[slot] ?? 0) - 1;
    slots[slot] = record + 1;
    if (following === -1) continue;
    next[record] = following;
    if (next[following] === ONLY) next[following] = LAST;
  }

  function takeFromTable(low: number, high: number): number {
    const slot = findSlot(low, high);
    const record = (slots[slot] ?? 0) - 1;
    if (record === -1 || next[record] === GONE) return -1;
    const following = next[record] ?? LAST;
    if (following < 0) next[record] = GONE;
    else slots[slot] = following + 1;
    return record;
  }

  return {
    take: (low, high) => {
      let record = expected;
      if (record < count && next[record] === ONLY && isAt(record, low, high)) next[record] = GONE;
      else record = takeFromTable(low, high);
      if (record !== -1) expected = record + 1;
      return record;
    },
  };
}
