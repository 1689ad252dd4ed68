import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { api, ask, upload } from '../api.ts';
import {
  Button,
  Choice,
  Note,
  NumberField,
  Progress,
  Select,
  Step,
  SureButton,
  Table,
} from '../components.tsx';
import { size, time } from '../format.ts';
import { type AppState, addressOf, announce, goTo, useWork } from '../state.ts';
import { type Plan, PlanFigures, planOf } from './plan.tsx';

async function listOf(id: string) {
  return await ask(api.lists[':id'].$get({ param: { id } }));
}

type ListView = Awaited<ReturnType<typeof listOf>>;

/** Which list, and how it is to be read. */
export function ListStep(props: {
  readonly id: string | undefined;
  readonly app: AppState;
}): JSX.Element {
  const { id, app } = props;
  return id === undefined ? <ChooseList app={app} /> : <ReadList id={id} app={app} />;
}

/** Files that can be read, for the file chooser. */
const KINDS = '.xlsx,.csv,.tsv,.txt,.jsonl,.ndjson';

function ChooseList({ app }: { readonly app: AppState }): JSX.Element {
  const work = useWork();
  const input = useId();
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (!file) return;
    if (files.length > 1) {
      work.fault.value = { message: 'One list at a time: choose one file.' };
      return;
    }
    work.start('upload', async () => {
      const { id, name } = await upload(file);
      announce(`${name} is read.`);
      goTo('list', id);
    });
  };
  return (
    <Step
      title="Your list"
      lead="A workbook or a table with one company in each row, and its web address in one of the columns. Your file stays as it is: the result is a new one."
      fault={work.fault.value}
    >
      <div
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          take(event.dataTransfer?.files);
        }}
      >
        {work.isBusy('upload') ? (
          <Progress label="Reading" text="Reading the file…" />
        ) : (
          <>
            <p>
              <strong>Drop your file here</strong>
            </p>
            <p class="hint">Excel (XLSX), CSV, TSV or JSONL, also with a million rows</p>
            <div class="actions">
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
              <Button
                isBusy={work.isBusy('sample')}
                onPress={() =>
                  work.start('sample', async () => {
                    goTo('list', (await ask(api.lists.sample.$post())).id);
                  })
                }
              >
                Try our sample workbook
              </Button>
            </div>
          </>
        )}
      </div>
      {app.lists.length > 0 ? (
        <Table
          caption="Lists from before"
          columns={['list', 'size#', 'from', '']}
          rows={app.lists.map(({ id, name, sizeBytes, uploadedAtMs }) => [
            <a key="list" href={addressOf({ step: 'list', id })}>
              {name}
            </a>,
            size(sizeBytes),
            time(uploadedAtMs),
            <SureButton
              key="delete"
              text="Delete"
              what={name}
              onSure={() =>
                work.start(id, () => ask(api.lists[':id'].delete.$post({ param: { id } })))
              }
            />,
          ])}
        />
      ) : null}
    </Step>
  );
}

function ReadList({ id, app }: { readonly id: string; readonly app: AppState }): JSX.Element {
  const work = useWork();
  const list = useSignal<ListView | undefined>(undefined);
  const plan = useSignal<Plan | undefined>(undefined);
  const use = (view: ListView): void => {
    list.value = view;
    plan.value = undefined;
    if (!view.column || !app.connection) return;
    work.start('count', async () => {
      plan.value = await planOf(id, {});
    });
  };
  useEffect(() => {
    work.start('read', async () => use(await listOf(id)));
  }, [id]);
  const readAs = (change: ListView['reading']): void =>
    work.start('read', async () => {
      const json = { ...list.value?.reading, ...change };
      use(await ask(api.lists[':id'].reading.$post({ param: { id }, json })));
      announce(`The addresses are in the column ${list.value?.column?.name ?? 'none'}.`);
    });
  const view = list.value;
  const { column } = view ?? {};
  return (
    <Step
      title={view?.name ?? 'Your list'}
      lead={view ? describe(view) : 'It is being read…'}
      fault={work.fault.value}
      actions={
        <>
          <Button
            kind="primary"
            isDisabled={!column}
            isBusy={work.isBusy('read')}
            onPress={() => goTo('columns', id)}
          >
            Go on to the columns
          </Button>
          <Button onPress={() => goTo('list')}>Another list</Button>
        </>
      }
    >
      {view?.problem === undefined ? null : <Note kind="bad">{view.problem}</Note>}
      {column ? (
        <Note kind={column.isDoubtful ? 'warning' : 'info'}>
          The addresses are taken from the column <strong>{column.name}</strong>. {column.why}
          {column.isDoubtful ? ' Its name speaks against it: is it right?' : ''} A click on the name
          of another column chooses that one.
        </Note>
      ) : null}
      {view?.notices.map((notice) => (
        <Note key={notice} kind="warning">
          {notice}
        </Note>
      ))}
      {view ? <FirstRows view={view} onChoose={(name) => readAs({ column: name })} /> : null}
      {view ? <ReadDifferently key={view.headerRow} view={view} onRead={readAs} /> : null}
      {plan.value ? <PlanFigures plan={plan.value} /> : null}
      {work.isBusy('count') ? <Progress label="Counting" text="Counting companies…" /> : null}
    </Step>
  );
}

function describe({ format, headerRow, kind }: ListView): string {
  if (kind === 'jsonl') return `${format}.`;
  const names =
    headerRow === undefined ? 'no row with names' : `names of the columns in row ${headerRow}`;
  return `${format}; ${names}.`;
}

/** The first rows, as the file has them; the name of a column is a button that chooses it. */
function FirstRows(props: {
  readonly view: ListView;
  readonly onChoose: (column: string) => void;
}): JSX.Element {
  const { view, onChoose } = props;
  const chosen = view.column?.index;
  return (
    <Table
      caption="The first rows"
      isSheet
      columns={[
        'row#',
        ...view.columns.map((name, at) => (
          <button
            key={at}
            type="button"
            class="link"
            aria-pressed={at === chosen}
            onClick={() => {
              if (at !== chosen) onChoose(name);
            }}
          >
            {name === '' ? 'no name' : name}
          </button>
        )),
      ]}
      rows={view.firstRows.map(({ number, cells }) => [
        number,
        ...view.columns.map((_, at) => cells[at]),
      ])}
    />
  );
}

function ReadDifferently(props: {
  readonly view: ListView;
  readonly onRead: (reading: ListView['reading']) => void;
}): JSX.Element {
  const { view, onRead } = props;
  const header = useSignal<number | undefined>(view.headerRow ?? 1);
  const row = header.value ?? 0;
  const takeHeader = (): void =>
    onRead({ skipLines: row - 1, noHeader: undefined, column: undefined });
  return (
    <>
      {view.sheets.length > 1 ? (
        <Select
          label="Sheet"
          value={view.sheets.find(({ isUsed }) => isUsed)?.name ?? ''}
          onChange={(sheet) => onRead({ sheet, column: undefined, skipLines: undefined })}
          options={view.sheets.map(({ name }) => [name, name])}
        />
      ) : null}
      {view.kind === 'csv' ? (
        <details>
          <summary>Does it look wrong? Read it differently</summary>
          <NumberField
            label="Row with the names of the columns"
            value={header.value}
            isWhole
            onChange={(row) => {
              header.value = row;
            }}
          />
          <Button onPress={takeHeader} isDisabled={row < 1}>
            Use this row
          </Button>
          <Choice
            type="checkbox"
            label="There is no row with names: the first row is a company"
            isChosen={view.headerRow === undefined}
            onChange={(noHeader) => onRead({ noHeader, column: undefined, skipLines: undefined })}
          />
        </details>
      ) : null}
    </>
  );
}
