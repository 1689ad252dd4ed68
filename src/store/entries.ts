import { crc32 } from 'node:zlib';
import {
  DETAILS,
  type Details,
  detailsOf,
  OUTCOME_STATUSES,
  type Outcome,
  splitReason,
} from '../calls/outcome.ts';
import type { Table } from './engine.ts';

/**
 * The layout of an outcome in the store. A fixed head can be read without decoding the rest,
 * because most readers only need the age of an outcome.
 *
 * | bytes | content |
 * |---|---|
 * | 1 | version of this layout |
 * | 1 | status, as its place in {@link OUTCOME_STATUSES} |
 * | 4 | details, where {@link DETAILS} says; 0 for none |
 * | 8 | fetched at, milliseconds since 1970, as a double |
 * | 8 | further details |
 * | 4 | checksum of the key and of all of this but these four bytes |
 * | … | details that are texts, then the answer's JSON, all UTF-8 |
 *
 * Layout 1, of 0.1.0, has no checksum, and is read too: what was paid for stays. So are entries in
 * which what the API wrote is the reason.
 */
const LAYOUT_VERSION = 2;
const HEAD_BYTES = 26;
const HEAD_BYTES_OF_1 = 22;
const AT = { status: 1, fetchedAt: 6, checksum: 22 };
const IN_LAYOUT_1: ReadonlySet<keyof Details> = new Set(['reason', 'httpStatus', 'attempts']);
const MAX_U16 = 0xffff;
const NOTHING = Buffer.alloc(0);
const TEXTS = DETAILS.filter(({ isText }) => isText);
const NUMBERS = DETAILS.filter(({ isText }) => !isText);

/** The contents of an outcome's head. */
export type OutcomeHead = Pick<Outcome, 'status' | 'fetchedAtMs'>;

/** The key of a domain's outcome. */
export function keyOf(endpointId: string, domain: string): string {
  return `${endpointId}:${domain}`;
}

/** Splits a key into endpoint and domain. */
export function splitKey(key: string): { readonly endpointId: string; readonly domain: string } {
  const at = key.indexOf(':');
  return { endpointId: key.slice(0, at), domain: key.slice(at + 1) };
}

/** Encodes an outcome for a key. Its domain is in the key, not part of the value. */
export function encodeOutcome(key: string, outcome: Outcome): Buffer {
  const texts = TEXTS.map(({ member, at }) => ({ at, bytes: bytesOf(outcome[member]) }));
  const jsonStart = texts.reduce((sum, { bytes }) => sum + bytes.length, HEAD_BYTES);
  const value = Buffer.allocUnsafe(jsonStart + Buffer.byteLength(outcome.json));
  value.fill(0, 0, HEAD_BYTES);
  value[0] = LAYOUT_VERSION;
  value[AT.status] = OUTCOME_STATUSES.indexOf(outcome.status);
  value.writeDoubleLE(outcome.fetchedAtMs, AT.fetchedAt);
  for (const { member, at } of NUMBERS) {
    value.writeUInt16LE(Math.min(Number(outcome[member] ?? 0), MAX_U16), at);
  }
  let end = HEAD_BYTES;
  for (const { at, bytes } of texts) {
    value.writeUInt16LE(bytes.length, at);
    end += bytes.copy(value, end);
  }
  value.write(outcome.json, jsonStart);
  value.writeUInt32LE(checksumOf(key, value), AT.checksum);
  return value;
}

/**
 * Most outcomes have no such text, and creating an empty buffer takes as long as creating another.
 */
function bytesOf(text: string | number = ''): Buffer {
  return text === '' ? NOTHING : Buffer.from(String(text)).subarray(0, MAX_U16);
}

function checksumOf(key: string, value: Buffer): number {
  const head = crc32(value.subarray(0, AT.checksum), crc32(key));
  return crc32(value.subarray(HEAD_BYTES, value.length), head);
}

/** The bytes before the reason; undefined when it is no outcome of that key, or no longer whole. */
function headBytesOf(key: string, value: Buffer): number | undefined {
  if (value[0] === 1 && value.length >= HEAD_BYTES_OF_1) return HEAD_BYTES_OF_1;
  if (value[0] !== LAYOUT_VERSION || value.length < HEAD_BYTES) return undefined;
  return value.readUInt32LE(AT.checksum) === checksumOf(key, value) ? HEAD_BYTES : undefined;
}

/**
 * Reads the head of an encoded outcome; undefined when the value is not one of that key, or is no
 * longer whole: it is then asked again.
 */
export function decodeHead(key: string, value: Buffer): OutcomeHead | undefined {
  const status = OUTCOME_STATUSES[value[AT.status] ?? -1];
  if (!status || headBytesOf(key, value) === undefined) return undefined;
  return { status, fetchedAtMs: value.readDoubleLE(AT.fetchedAt) };
}

/**
 * Reads an encoded outcome; undefined when the value is not one, or was damaged.
 *
 * @param value may be a view of a larger buffer with only its `length` set, as `getBinaryFast` of
 *   lmdb returns. Since version 24, Node.js reads beyond that length unless it is told the end.
 */
export function decodeOutcome(key: string, value: Buffer): Outcome | undefined {
  const head = decodeHead(key, value);
  if (!head) return undefined;
  const isOld = value[0] === 1;
  let end = isOld ? HEAD_BYTES_OF_1 : HEAD_BYTES;
  const details = detailsOf(({ member, isText, at }) => {
    const number = isOld && !IN_LAYOUT_1.has(member) ? 0 : value.readUInt16LE(at);
    if (!isText || number === 0) return number || undefined;
    const start = end;
    end += number;
    return value.toString('utf8', start, end);
  });
  return {
    domain: splitKey(key).domain,
    ...head,
    ...splitReason(details),
    json: value.toString('utf8', end, value.length),
  };
}

/** When an outcome was fetched; undefined when there is none. */
export function timeIn(table: Table<Buffer>, key: string): number | undefined {
  const value = table.getBinaryFast(key);
  return value && decodeHead(key, value)?.fetchedAtMs;
}
