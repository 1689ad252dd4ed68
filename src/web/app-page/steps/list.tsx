import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { AppState, ListEntry, ListView, PlanView, Reading } from '../../app/contract.ts';
import { percent } from '../../page/format.js';
import { post, read, type Upload, upload } from '../client.ts';
import {
  Button,
  Cell,
  Check,
  DeleteButton,
  FaultNote,
  Field,
  Note,
  Progress,
  Select,
  Step,
  Wide,
} from '../controls.tsx';
import { goTo } from '../place.ts';
import { PlanFigures, WithoutAddress } from '../plan-figures.tsx';
import { readNumber } from '../read-number.ts';
import { dayAndTime, size } from '../words.ts';
import { announce, useWork } from '../work.ts';

/** Which list, and how it is to be read. */
export function ListStep(props: {
  readonly id: string | undefined;
  readonly state: AppState;
}): JSX.Element {
  const { id, state } = props;
  return id === undefined ? <ChooseList state={state} /> : <ReadList id={id} />;
}

/** Files that can be read, for the file chooser. */
const KINDS = '.xlsx,.csv,.tsv,.txt,.jsonl,.ndjson';

function ChooseList({ state }: { readonly state: AppState }): JSX.Element {
  const work = useWork();
  const sent = useSignal<{ readonly name: string; readonly part: number; readonly text: string }>(
    NOTHING,
  );
  const running = useSignal<Upload<ListView> | undefined>(undefined);
  const isOver = useSignal(false);
  const input = useId();
  // Somebody who goes elsewhere does not want it any more; who closes the page is asked.
  useEffect(() => {
    const warn = (event: Event): void => {
      if (running.value) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      window.removeEventListener('beforeunload', warn);
      running.value?.cancel();
    };
  }, []);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (!file) return;
    if (files.length > 1) {
      work.fault.value = { code: 'NOT_NOW', message: 'One list at a time: choose one file.' };
      return;
    }
    work.start('upload', async () => {
      const show = (done: number, all: number): void => {
        const text =
          done < all
            ? `${percent(done, all)}: ${size(done)} of ${size(all)}`
            : 'It is there; now it is read…';
        sent.value = { name: file.name, part: all === 0 ? 1 : done / all, text };
      };
      show(0, file.size);
      running.value = upload<ListView>(`lists?name=${encodeURIComponent(file.name)}`, file, show);
      try {
        const list = await running.value.done;
        announce(`${list.name} is read.`);
        goTo('list', list.id);
      } finally {
        running.value = undefined;
      }
    });
  };
  const trySample = (): void =>
    work.start('sample', async () => {
      const list = await post<ListView>('lists/sample');
      goTo('list', list.id);
    });
  return (
    <Step
      title="Your list"
      lead="A workbook or a table with one company in each row, and its web address in one of the columns. Your file stays as it is: the result is a new one."
      fault={work.fault.value}
    >
      <div
        class={`drop ${isOver.value ? 'over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          isOver.value = true;
        }}
        onDragLeave={() => {
          isOver.value = false;
        }}
        onDrop={(event) => {
          event.preventDefault();
          isOver.value = false;
          take(event.dataTransfer?.files);
        }}
      >
        {work.isBusy('upload') ? (
          <>
            <p>
              <strong>{sent.value.name}</strong>
            </p>
            <Progress
              label={`${sent.value.name} on its way`}
              part={sent.value.part < 1 ? sent.value.part : undefined}
              text={sent.value.text}
            />
            <Button kind="quiet" onPress={() => running.value?.cancel()}>
              Stop
            </Button>
          </>
        ) : (
          <>
            <p class="big">Drop your file here</p>
            <p class="hint">Excel (XLSX), CSV, TSV or JSONL, also with a million rows</p>
            <div class="actions center">
              <input
                id={input}
                class="unseen"
                type="file"
                accept={KINDS}
                onChange={(event) => {
                  take(event.currentTarget.files);
                  event.currentTarget.value = '';
                }}
              />
              {/* It opens the file chooser, as a button would; the keyboard has the input before it. */}
              <label class="button primary" htmlFor={input}>
                Choose a file
              </label>
              <Button onPress={trySample} isBusy={work.isBusy('sample')}>
                Try our sample workbook
              </Button>
            </div>
          </>
        )}
      </div>
      <EarlierLists lists={state.lists} />
    </Step>
  );
}

const NOTHING = { name: '', part: 0, text: '' };

function EarlierLists({ lists }: { readonly lists: readonly ListEntry[] }): JSX.Element | null {
  const work = useWork();
  if (lists.length === 0) return null;
  const remove = (list: ListEntry): void =>
    work.start(list.id, async () => {
      await post(`lists/${list.id}/delete`);
      announce(`${list.name} is deleted.`);
    });
  return (
    <section class="earlier" aria-label="Lists from before">
      <h3>Lists from before</h3>
      <ul class="rows">
        {lists.map((list) => (
          <li key={list.id}>
            <a href={`#/list/${list.id}`}>{list.name}</a>
            <span class="hint">
              {size(list.sizeBytes)}, {dayAndTime(list.uploadedAtMs)}
            </span>
            <DeleteButton
              what={list.name}
              onDelete={() => remove(list)}
              isBusy={work.isBusy(list.id)}
            />
          </li>
        ))}
      </ul>
      <FaultNote fault={work.fault.value} />
    </section>
  );
}

function ReadList({ id }: { readonly id: string }): JSX.Element {
  const work = useWork();
  const counting = useWork();
  const list = useSignal<ListView | undefined>(undefined);
  const plan = useSignal<PlanView | undefined>(undefined);
  const use = (view: ListView): void => {
    list.value = view;
    plan.value = undefined;
    if (!view.column) return;
    counting.start('count', async () => {
      plan.value = await post<PlanView>(`lists/${id}/plan`);
    });
  };
  useEffect(() => work.start('read', async () => use(await read<ListView>(`lists/${id}`))), [id]);
  const latest = useRef<Reading | undefined>(undefined);
  const readAs = (reading: Reading): void =>
    work.start(JSON.stringify(reading), async () => {
      latest.current = reading;
      const whole = { ...list.value?.reading, ...reading };
      const view = await post<ListView>(`lists/${id}/reading`, whole);
      if (latest.current !== reading) return; // somebody has chosen again meanwhile
      use(view);
      const { column } = list.value ?? {};
      if (column) announce(`The addresses are in the column ${column.name}.`);
    });
  const view = list.value;
  return (
    <Step
      title={view ? view.name : 'Your list'}
      lead={view ? describe(view) : 'It is being read…'}
      fault={work.fault.value ?? counting.fault.value}
      actions={
        view ? (
          <>
            <Button
              kind="primary"
              isDisabled={!view.column}
              isBusy={work.isBusy()}
              onPress={() => goTo('columns', id)}
            >
              Go on to the columns
            </Button>
            <Button onPress={() => goTo('list')}>Another list</Button>
          </>
        ) : (
          <Button onPress={() => goTo('list')}>Another list</Button>
        )
      }
    >
      {view ? (
        <>
          {view.problem ? (
            <Note kind="bad">
              <p>{view.problem}</p>
              {view.columns.length > 0 ? (
                <p>Choose the column with the addresses in the table below.</p>
              ) : null}
            </Note>
          ) : null}
          {view.column ? (
            <Note kind={view.column.isDoubtful ? 'warning' : 'info'}>
              <p>
                The addresses are taken from the column <strong>{view.column.name}</strong>.{' '}
                {view.column.why}
                {view.column.isDoubtful ? ' Is it right?' : ''} A click on the name of another
                column chooses that one.
              </p>
            </Note>
          ) : null}
          {view.notices.map((notice) => (
            <Note key={notice} kind="warning">
              <p>{notice}</p>
            </Note>
          ))}
          <FirstRows view={view} onChoose={(column) => readAs({ column })} />
          <ReadDifferently view={view} onRead={readAs} />
          {plan.value ? (
            <section aria-label="What is in it">
              <h3>What is in it</h3>
              <PlanFigures plan={plan.value} />
              <WithoutAddress plan={plan.value} />
            </section>
          ) : !counting.isBusy() ? null : (
            <Progress label="Counting" part={undefined} text="Counting companies…" />
          )}
        </>
      ) : null}
    </Step>
  );
}

function describe({ format, headerRow, kind, sheets }: ListView): string {
  const sheet = sheets.find(({ isUsed }) => isUsed)?.name;
  // What is known of a workbook's format is its sheet and its row of names, told below.
  const parts = [kind === 'xlsx' ? 'Excel workbook' : format];
  if (sheet !== undefined && sheets.length > 1) parts.push(`sheet “${sheet}”`);
  if (kind !== 'jsonl') {
    parts.push(
      headerRow === undefined ? 'no row with names' : `names of the columns in row ${headerRow}`,
    );
  }
  return `${parts.join(' · ')}.`;
}

/** The first rows; the name of a column is a button that chooses it. */
function FirstRows(props: {
  readonly view: ListView;
  readonly onChoose: (column: string) => void;
}): JSX.Element {
  const { view, onChoose } = props;
  const chosen = view.column?.index;
  const head = useRef<HTMLTableCellElement>(null);
  // It may be the last of many.
  useEffect(() => {
    head.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [view.id, chosen]);
  return (
    <Wide label="The first rows">
      <table class="sheet">
        <caption>The first rows</caption>
        <thead>
          <tr>
            {view.columns.map((name, at) => (
              <th
                key={at}
                scope="col"
                class={at === chosen ? 'chosen' : undefined}
                ref={at === chosen ? head : null}
              >
                <button
                  type="button"
                  aria-pressed={at === chosen}
                  title={at === chosen ? undefined : 'Take the addresses from this column'}
                  onClick={() => {
                    if (at !== chosen) onChoose(name);
                  }}
                >
                  {name === '' ? 'no name' : name}
                  {at === chosen ? <span class="badge good">addresses</span> : null}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {view.firstRows.map((row, line) => (
            <tr key={line}>
              {view.columns.map((_, at) => (
                <td key={at} class={at === chosen ? 'chosen' : undefined}>
                  <Cell text={row[at]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

/** Encodings that tables come in, by the names that people know. */
const ENCODINGS = [
  { value: 'utf-8', text: 'Unicode (UTF-8)' },
  { value: 'windows-1252', text: 'Western European (Windows-1252)' },
  { value: 'windows-1250', text: 'Central European (Windows-1250)' },
  { value: 'windows-1251', text: 'Cyrillic (Windows-1251)' },
  { value: 'macintosh', text: 'Western European (Mac)' },
  { value: 'utf-16le', text: 'Unicode (UTF-16)' },
  { value: 'shift_jis', text: 'Japanese (Shift JIS)' },
  { value: 'gb18030', text: 'Chinese (GB 18030)' },
];

function ReadDifferently(props: {
  readonly view: ListView;
  readonly onRead: (reading: Reading) => void;
}): JSX.Element {
  const { view, onRead } = props;
  const header = useSignal(String(view.headerRow ?? 1));
  const used = view.sheets.find(({ isUsed }) => isUsed)?.name ?? '';
  const headerRow = readNumber(header.value);
  const takeHeader = (): void => {
    if (headerRow !== undefined && headerRow >= 1) {
      onRead({ skipLines: headerRow - 1, noHeader: undefined, column: undefined });
    }
  };
  return (
    <>
      {view.sheets.length > 1 ? (
        <Select
          label="Sheet"
          value={used}
          onChange={(sheet) => onRead({ sheet, column: undefined, skipLines: undefined })}
          options={view.sheets.map(({ name }) => ({ value: name, text: name }))}
        />
      ) : null}
      {view.kind === 'csv' ? (
        <details>
          <summary>Does it look wrong? Read it differently</summary>
          <div class="pair">
            <div class="line">
              <Field
                label="Row with the names of the columns"
                type="number"
                min={1}
                value={header.value}
                isDisabled={view.headerRow === undefined}
                onInput={(text) => {
                  header.value = text;
                }}
                onEnter={takeHeader}
              />
              <Button onPress={takeHeader} isDisabled={view.headerRow === undefined}>
                Use
              </Button>
            </div>
            <Select
              label="Letters look strange? Encoding"
              value={view.reading.encoding ?? ''}
              onChange={(encoding) => onRead({ encoding: encoding || undefined })}
              options={[{ value: '', text: `As found: ${view.encoding}` }, ...ENCODINGS]}
            />
          </div>
          <Check
            label="There is no row with names: the first row is a company"
            isChecked={view.headerRow === undefined}
            onChange={(noHeader) => onRead({ noHeader, column: undefined, skipLines: undefined })}
          />
        </details>
      ) : null}
    </>
  );
}
