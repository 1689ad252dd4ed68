import type { Outcome, OutcomeStatus } from '../brand/outcome.ts';

/**
 * The layout of an outcome in the store. A fixed head can be read without decoding the rest,
 * because most readers only need the age of an outcome.
 *
 * | bytes | content |
 * |---|---|
 * | 1 | version of this layout |
 * | 1 | status, as its place in {@link STATUSES} |
 * | 2 | HTTP status, 0 for none |
 * | 2 | attempts |
 * | 8 | fetched at, milliseconds since 1970, as a double |
 * | 6 | shape of the answer, 0 for none |
 * | 2 | length of the reason |
 * | … | reason, then the answer's JSON, both UTF-8 |
 */
const LAYOUT_VERSION = 1;
const HEAD_BYTES = 22;
const AT = {
  status: 1,
  httpStatus: 2,
  attempts: 4,
  fetchedAt: 6,
  shape: 14,
  reasonLength: 20,
} as const;
const STATUSES: readonly OutcomeStatus[] = ['found', 'not_found', 'rejected', 'failed', 'pending'];
const MAX_U16 = 0xffff;
const NOTHING = Buffer.alloc(0);

/** The contents of an outcome's head. */
export interface OutcomeHead {
  readonly status: OutcomeStatus;
  readonly fetchedAtMs: number;
  /** The number of the answer's columns: see the store's shapes. 0 for none. */
  readonly shapeId: number;
}

/** Encodes an outcome. Its domain is the key, not part of the value. */
export function encodeOutcome(outcome: Outcome, shapeId: number): Buffer {
  // Most outcomes have no reason, and creating an empty buffer takes as long as creating another.
  const reason = outcome.reason === '' ? NOTHING : Buffer.from(outcome.reason).subarray(0, MAX_U16);
  const jsonBytes = Buffer.byteLength(outcome.json);
  const value = Buffer.allocUnsafe(HEAD_BYTES + reason.length + jsonBytes);
  value[0] = LAYOUT_VERSION;
  value[AT.status] = STATUSES.indexOf(outcome.status);
  value.writeUInt16LE(outcome.httpStatus ?? 0, AT.httpStatus);
  value.writeUInt16LE(Math.min(outcome.attempts, MAX_U16), AT.attempts);
  value.writeDoubleLE(outcome.fetchedAtMs, AT.fetchedAt);
  value.writeUIntLE(shapeId, AT.shape, 6);
  value.writeUInt16LE(reason.length, AT.reasonLength);
  reason.copy(value, HEAD_BYTES);
  value.write(outcome.json, HEAD_BYTES + reason.length);
  return value;
}

/** Reads the head of an encoded outcome; undefined when the value is not one. */
export function decodeHead(value: Buffer): OutcomeHead | undefined {
  const status = STATUSES[value[AT.status] ?? -1];
  if (value[0] !== LAYOUT_VERSION || value.length < HEAD_BYTES || !status) return undefined;
  return {
    status,
    fetchedAtMs: value.readDoubleLE(AT.fetchedAt),
    shapeId: value.readUIntLE(AT.shape, 6),
  };
}

/**
 * Reads an encoded outcome; undefined when the value is not one.
 *
 * @param value may be a view of a larger buffer with only its `length` set, as `getBinaryFast` of
 *   lmdb returns. Since version 24, Node.js reads beyond that length unless it is told the end.
 */
export function decodeOutcome(domain: string, value: Buffer): Outcome | undefined {
  const head = decodeHead(value);
  if (!head) return undefined;
  const jsonStart = HEAD_BYTES + value.readUInt16LE(AT.reasonLength);
  return {
    domain,
    status: head.status,
    fetchedAtMs: head.fetchedAtMs,
    httpStatus: value.readUInt16LE(AT.httpStatus) || undefined,
    attempts: value.readUInt16LE(AT.attempts),
    reason: value.toString('utf8', HEAD_BYTES, jsonStart),
    json: value.toString('utf8', jsonStart, value.length),
  };
}
