/**
 * Finds the records of a manifest by the identities of rows, in some 20 bytes of memory each.
 * Records of the same identity are returned one after the other, in their order.
 */
export interface RecordTable {
  /** The next record of this identity that was not yet returned; -1 when there is none. */
  take(low: number, high: number): number;
}

/**
 * Values in place of a next record: the record is the last of its identity, the only one, or was
 * already returned.
 */
const LAST = -1;
const ONLY = -2;
const GONE = -3;

/**
 * Creates the table. The order of a list is nearly the same from night to night, so the record
 * after the previous one is tried first. The table is searched only when that one has another
 * identity, or is not the only one of its identity.
 *
 * @param ids the identity of each record, two words each
 */
export function createRecordTable(ids: Uint32Array): RecordTable {
  const count = ids.length / 2;
  const mask = 2 ** Math.ceil(Math.log2(Math.max(2, count * 1.5))) - 1;
  /** The number of the first remaining record of an identity, plus 1; 0 for an empty slot. */
  const slots = new Uint32Array(mask + 1);
  /** For each record, the next one of its identity. */
  const next = new Int32Array(count).fill(ONLY);
  let expected = 0;

  const isAt = (record: number, low: number, high: number): boolean =>
    ids[2 * record] === low && ids[2 * record + 1] === high;

  /** The slot of an identity, or the empty slot for it. */
  function findSlot(low: number, high: number): number {
    let slot = low & mask;
    for (;;) {
      const record = (slots[slot] ?? 0) - 1;
      if (record === -1 || isAt(record, low, high)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  // From last to first, so that the first record of an identity is at the head.
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
