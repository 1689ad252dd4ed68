import { findJsonObject, type JsonObject } from '../brand/json-object.ts';
import { createCutter, type Source } from '../rows/source.ts';
import type { RowAnswers } from './asked-apis.ts';
import { otherDomainIn } from './fields/answered-domain.ts';
import type { Field } from './fields/fields.ts';
import type { Fill } from './fill.ts';
import type { JoinedRow, OutputRow } from './joined-row.ts';
import type { IndexedRow, RowIndex } from './row-index.ts';

export interface JoinOptions {
  readonly source: Pick<Source, 'read' | 'assertUnchanged'>;
  /** How many bytes of the source precede the first row. */
  readonly headBytes: number;
  readonly index: Pick<RowIndex, 'read'>;
  readonly answers: RowAnswers;
  /** By the place of each API; mostly there is one. */
  readonly apis: readonly JoinedApi[];
  /** Fills blank cells of the list's own columns. */
  readonly fill?: Fill | undefined;
}

/** An API, as far as rows need it. */
export interface JoinedApi {
  readonly name: string;
  /** The enriched columns, in one order for all APIs. */
  readonly fields: readonly Field[];
  /** Why rows without an outcome were not asked. */
  readonly skipReason: string;
}

/**
 * What `fill` and the like find a value in: the answer, and of several APIs the columns as well,
 * because their answers have nothing else in common.
 */
export function recordOf(
  answer: JsonObject,
  fields: readonly Field[],
  isSeveral: boolean,
): JsonObject {
  if (!isSeveral) return answer;
  const values = fields.map((field) => [field.name, field.valueOf(answer)] as const);
  return { ...answer, ...Object.fromEntries(values) };
}

/**
 * Rows may be of any length, and so may what is made of them. So much is held at a time, or a
 * single row.
 */
const BATCH_BYTES = 2 * 1024 * 1024;
const NOTHING: ReturnType<RowAnswers> = { at: 0, said: '' };

/**
 * Reads the input again, in its own order, cuts it as the index says, and joins each row with its
 * outcome. Empty lines are left out.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` at the end, when the list was changed in the meantime
 */
export async function* join(options: JoinOptions): AsyncGenerator<readonly OutputRow[]> {
  const { source, headBytes, index, answers, apis, fill } = options;
  const isSeveral = apis.length > 1;
  const nothing = apis[0]?.fields.map(() => undefined) ?? [];
  let number = 0;
  let sizeBytes = 0;

  // Objects are written out in full: a spread with more members added costs several times as much.
  function joinRow(row: IndexedRow, raw: string): JoinedRow {
    number += 1;
    const { text, fields, key = '' } = row;
    const isInvalid = row.kind === 'invalid';
    const { outcome, older, at, said } = isInvalid ? NOTHING : answers(text);
    const { name, fields: columns = [], skipReason = '' } = apis[at] ?? {};
    const answered = older ?? outcome;
    const json = answered?.status === 'found' ? answered.json : undefined;
    sizeBytes += json?.length ?? 0; // its values may be most of it
    const answer = json === undefined ? undefined : findJsonObject(json);
    const own = answer && fill?.apply({ raw, fields }, recordOf(answer, columns, isSeveral));
    const unasked = isInvalid ? 'invalid' : 'skipped';
    return {
      raw: own?.raw ?? raw,
      fields: own?.fields ?? fields,
      number,
      domain: isInvalid ? '' : text,
      status: older ? 'stale' : (answered?.status ?? unasked),
      reason: isInvalid ? text : (outcome?.reason ?? skipReason),
      outcome,
      fetchedAtMs: answered?.fetchedAtMs ?? 0,
      key,
      api: at,
      source: isSeveral && answer ? name : undefined,
      sources: isSeveral ? said : undefined,
      answeredDomain: answer && otherDomainIn(answer, text),
      values: answer ? columns.map((field) => field.valueOf(answer)) : nothing,
      fills: own?.fills,
    };
  }

  const cut = createCutter(source.read(headBytes));
  for await (const rows of index.read()) {
    let made: OutputRow[] = [];
    for (const row of rows) {
      const taken = cut(row.sizeBytes);
      // Nearly all rows are buffered already, and need no turn of the event loop.
      const bytes = Buffer.isBuffer(taken) ? taken : await taken;
      sizeBytes += row.sizeBytes;
      const { kind, fields, text, key = '' } = row;
      if (kind === 'blank') continue;
      const raw = bytes.toString('utf8');
      made.push(
        kind === 'passed' ? { raw, fields, status: kind, domain: text, key } : joinRow(row, raw),
      );
      if (sizeBytes < BATCH_BYTES) continue;
      yield made;
      made = [];
      sizeBytes = 0;
    }
    yield made;
    sizeBytes = 0;
  }
  await source.assertUnchanged();
}
