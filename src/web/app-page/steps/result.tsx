import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type {
  AppRun,
  AppState,
  FileEntry,
  MendRequest,
  ResultRow,
  RowStatusName,
  RowsPage,
} from '../../app/contract.ts';
import { count } from '../../page/format.js';
import { post, read } from '../client.ts';
import { Button, Cell, Note, Progress, Step, Wide } from '../controls.tsx';
import { findRun } from '../live.ts';
import { goTo } from '../place.ts';
import { viewOrder } from '../view-order.ts';
import { counted, rowsOf, STATUSES, size, statusesOf, summaryOf } from '../words.ts';
import { announce, useWork } from '../work.ts';

/** The rows as they are now, to look at, to take away and to mend. */
export function ResultStep(props: { readonly id: string; readonly state: AppState }): JSX.Element {
  const { id } = props;
  const run = findRun(id);
  const loading = useWork();
  const mending = useWork();
  const status = useSignal<RowStatusName | undefined>(undefined);
  const offset = useSignal(0);
  const page = useSignal<RowsPage | undefined>(undefined);
  /** What was typed into cells, by row: it stays while somebody leafs and filters. */
  const mended = useSignal<ReadonlyMap<number, string>>(new Map());
  const asked = `runs/${id}/rows?${queryOf(status.value, offset.value)}`;
  const endedAtMs = run?.endedAtMs;
  useEffect(() => {
    let isWanted = true;
    const load = async (): Promise<void> => {
      const rows = await read<RowsPage>(asked);
      if (isWanted) page.value = rows;
    };
    loading.start(asked, load);
    return () => {
      isWanted = false;
    };
  }, [asked, endedAtMs]);
  const mend = (): void =>
    mending.start('mend', async () => {
      const cells = [...mended.value].map(([row, value]) => ({ row, value: value.trim() }));
      const next = await post<AppRun>(`runs/${id}/mend`, { cells } satisfies MendRequest);
      mended.value = new Map();
      goTo('run', next.id);
    });
  if (!run) {
    return (
      <Step
        title="This result is no longer here"
        lead="It was deleted, or is of another folder."
        actions={
          <Button kind="primary" onPress={() => goTo('again')}>
            Earlier runs
          </Button>
        }
      />
    );
  }
  const typed = [...mended.value.values()].filter((value) => value.trim() !== '').length;
  return (
    <Step
      title={`The result of ${run.list.name}`}
      lead={summaryOf(run)}
      fault={mending.fault.value ?? loading.fault.value}
      actions={
        <>
          {typed > 0 && run.canMend ? (
            <Button kind="primary" onPress={mend} isBusy={mending.isBusy()}>
              Ask about the {counted(typed, 'mended cell')}
            </Button>
          ) : null}
          {run.result ? (
            <Download
              id={id}
              what="result"
              file={run.result}
              isPrimary={typed === 0}
              text="Download the result"
            />
          ) : null}
          {run.failures ? (
            <Download id={id} what="failures" file={run.failures} text="Failures apart" />
          ) : null}
          <Button onPress={() => goTo('again', id)}>Again, or every night</Button>
        </>
      }
    >
      <Filter
        run={run}
        status={status.value}
        onChange={(next) => {
          status.value = next;
          offset.value = 0;
        }}
      />
      {run.canMend && page.value?.rows.some(({ canMend }) => canMend) ? (
        <Note kind="info">
          <p>
            Cells with a frame can be mended: type the right web address, then ask about those
            alone. The rest of the result stays.
          </p>
        </Note>
      ) : null}
      {page.value ? (
        <Rows
          page={page.value}
          mended={mended.value}
          canMend={run.canMend}
          onMend={(row, value) => {
            const after = new Map(mended.value);
            if (value === undefined) after.delete(row);
            else after.set(row, value);
            mended.value = after;
          }}
          isOld={loading.isBusy()}
        />
      ) : loading.fault.value ? null : (
        <Progress label="Reading" part={undefined} text="Reading the result…" />
      )}
      {page.value ? (
        <Pager
          page={page.value}
          onGo={(to) => {
            offset.value = to;
          }}
        />
      ) : null}
    </Step>
  );
}

const ROWS = 50;

function queryOf(status: RowStatusName | undefined, offset: number): string {
  const query = new URLSearchParams({ offset: String(offset), limit: String(ROWS) });
  if (status !== undefined) query.set('status', status);
  return query.toString();
}

function Download(props: {
  readonly id: string;
  readonly what: 'result' | 'failures';
  readonly file: FileEntry;
  readonly text: string;
  readonly isPrimary?: boolean;
}): JSX.Element {
  const { id, what, file, text, isPrimary = false } = props;
  return (
    <a
      class={`button ${isPrimary ? 'primary' : 'plain'}`}
      href={`api/runs/${encodeURIComponent(id)}/${what}`}
      download={file.name}
    >
      {text}
      <span class="hint">
        {file.name}, {size(file.sizeBytes)}
      </span>
    </a>
  );
}

function Filter(props: {
  readonly run: AppRun;
  readonly status: RowStatusName | undefined;
  readonly onChange: (status: RowStatusName | undefined) => void;
}): JSX.Element {
  const { run, status, onChange } = props;
  return (
    <fieldset class="filter">
      <legend class="unseen">Show rows</legend>
      <Button isPressed={status === undefined} onPress={() => onChange(undefined)}>
        All <span class="count">{count(rowsOf(run))}</span>
      </Button>
      {statusesOf(run).map(([name, rows]) => (
        <Button key={name} isPressed={status === name} onPress={() => onChange(name)}>
          <span class={`dot ${STATUSES[name].tone}`} aria-hidden="true" />
          {STATUSES[name].name} <span class="count">{count(rows)}</span>
        </Button>
      ))}
    </fieldset>
  );
}

function Rows(props: {
  readonly page: RowsPage;
  readonly mended: ReadonlyMap<number, string>;
  readonly canMend: boolean;
  readonly onMend: (row: number, value: string | undefined) => void;
  readonly isOld: boolean;
}): JSX.Element {
  const { page, mended, canMend, onMend, isOld } = props;
  const table = useRef<HTMLElement>(null);
  const order = viewOrder(page.columns, page.domainColumn);
  if (page.rows.length === 0) return <p class="empty">There is no such row.</p>;
  const goOn = (row: number): void => {
    const inputs = [...(table.current?.querySelectorAll('input') ?? [])];
    inputs[inputs.findIndex(({ dataset }) => dataset['row'] === String(row)) + 1]?.focus();
  };
  return (
    <Wide label="Rows" isOld={isOld} place={table}>
      <table class="sheet result">
        <caption class="unseen">Rows of the result</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col">What came</th>
            {order.map((at) => (
              <th key={at} scope="col" class={page.columns[at]?.kind}>
                {page.columns[at]?.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {page.rows.map((row) => (
            <tr key={row.row}>
              <th scope="row">{count(row.row)}</th>
              <td>
                <Mark row={row} />
              </td>
              {order.map((at) => (
                <td key={at} class={page.columns[at]?.kind}>
                  {at === page.domainColumn && row.canMend && canMend ? (
                    <input
                      class="mend"
                      data-row={row.row}
                      aria-label={`Web address in row ${row.row}`}
                      value={mended.get(row.row) ?? row.cells[at] ?? ''}
                      spellcheck={false}
                      autocomplete="off"
                      onInput={(event) => {
                        const { value } = event.currentTarget;
                        onMend(row.row, value === (row.cells[at] ?? '') ? undefined : value);
                      }}
                      onKeyDown={(event) => {
                        if (event.key !== 'Enter') return;
                        goOn(row.row);
                      }}
                    />
                  ) : (
                    <Cell text={row.cells[at]} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Mark({ row }: { readonly row: ResultRow }): JSX.Element {
  const { name, tone } = STATUSES[row.status];
  return (
    <>
      <span class={`badge ${tone}`}>{name}</span>
      {row.message === '' ? null : <span class="hint">{row.message}</span>}
    </>
  );
}

function Pager(props: {
  readonly page: RowsPage;
  readonly onGo: (offset: number) => void;
}): JSX.Element | null {
  const { page, onGo } = props;
  const { offset, total, rows } = page;
  if (total <= ROWS) return null;
  const last = Math.floor((total - 1) / ROWS) * ROWS;
  const go = (to: number): void => {
    onGo(to);
    announce(`Rows from ${count(to + 1)} of ${count(total)}.`);
  };
  return (
    <nav class="pager" aria-label="Pages">
      <Button isDisabled={offset === 0} onPress={() => go(0)}>
        First
      </Button>
      <Button isDisabled={offset === 0} onPress={() => go(Math.max(0, offset - ROWS))}>
        Previous
      </Button>
      <span>
        {count(offset + 1)}–{count(offset + rows.length)} of {count(total)}
      </span>
      <Button isDisabled={offset >= last} onPress={() => go(offset + ROWS)}>
        Next
      </Button>
      <Button isDisabled={offset >= last} onPress={() => go(last)}>
        Last
      </Button>
    </nav>
  );
}
