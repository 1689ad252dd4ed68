import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { ENDINGS, FORMAT_NAMES, READING_OPTIONS } from '../../../rows/list-formats.ts';
import { api, ask, type List, listOf, upload } from '../api.ts';
import { Button, Choice, Note, Progress, Select, Step, SureButton, Table } from '../components.tsx';
import { size, time } from '../format.ts';
import { type AppState, addressOf, announce, goTo, useAsked, useWork } from '../state.ts';

/** Which list, and how it is to be read. */
export function ListStep(props: {
  readonly id: string | undefined;
  readonly app: AppState;
}): JSX.Element {
  const { id, app } = props;
  return id === undefined ? <ChooseList app={app} /> : <ReadList id={id} />;
}

/** Files that can be read, for the file chooser. */
const KINDS = [...ENDINGS, '.txt'].join(',');

function ChooseList({ app }: { readonly app: AppState }): JSX.Element {
  const work = useWork();
  const input = useId();
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (!file) return;
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
            <p class="hint">{`${FORMAT_NAMES}, also with a million rows`}</p>
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
              {/* It opens the file chooser like a button; the keyboard has the input before. */}
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
      <ListsFromBefore app={app} work={work} />
    </Step>
  );
}

function ListsFromBefore(props: {
  readonly app: AppState;
  readonly work: ReturnType<typeof useWork>;
}): JSX.Element {
  const { app, work } = props;
  return (
    <Table
      caption="Lists from before"
      columns={['list', 'size#', 'from', 'last run', 'delete']}
      rows={app.lists.map(({ id, name, sizeBytes, uploadedAtMs, lastRun }) => [
        <a key="list" href={addressOf({ step: 'list', id })}>
          {name}
        </a>,
        size(sizeBytes),
        time(uploadedAtMs),
        lastRun === undefined ? (
          'none'
        ) : (
          <a key="run" href={addressOf({ step: 'run', id })}>
            {lastRun}
          </a>
        ),
        <SureButton
          key="delete"
          text="Delete"
          what={`${name} and its result`}
          onSure={() => work.start(id, () => ask(api.lists[':id'].delete.$post({ param: { id } })))}
        />,
      ])}
    />
  );
}

function ReadList({ id }: { readonly id: string }): JSX.Element {
  const work = useWork();
  const list = useAsked(work, () => listOf(id), [id]);
  const readAs = (change: List['reading']): void =>
    work.start('read', async () => {
      const json = { ...list.value?.reading, ...change };
      await ask(api.lists[':id'].reading.$post({ param: { id }, json }));
      list.value = await listOf(id);
      announce(`The addresses are in the column ${list.value.column?.name ?? 'none'}.`);
    });
  const view = list.value;
  const { column } = view ?? {};
  return (
    <Step
      title={view?.name ?? 'Your list'}
      lead={view ? `${view.format}.` : work.fault.value ? '' : 'It is being read…'}
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
        <Note kind="info">
          The addresses are in {column.words}. A click on the name of another column chooses that
          one.
        </Note>
      ) : null}
      {view ? <FirstRows view={view} onChoose={(name) => readAs({ column: name })} /> : null}
      {view && view.sheets.length > 1 ? (
        <Select
          label="Sheet"
          value={view.sheet ?? ''}
          onChange={(sheet) => readAs({ sheet, column: undefined })}
          options={view.sheets.map((name) => [name, name])}
        />
      ) : null}
      {view && READING_OPTIONS.noHeader.includes(view.kind) ? (
        <Choice
          label="There is no row with names: the first row is a company"
          isChosen={view.reading.noHeader === true}
          onChange={(noHeader) => readAs({ noHeader, column: undefined })}
        />
      ) : null}
    </Step>
  );
}

/** On a phone the chosen column may be beyond the edge. */
function show(name: HTMLElement | null): void {
  const left = name?.closest('th')?.offsetLeft ?? 0;
  name?.closest('.wide')?.scrollTo({ left: left - 100 });
}

/** The first rows, as the file has them; the name of a column is a button that chooses it. */
function FirstRows(props: {
  readonly view: List;
  readonly onChoose: (column: string) => void;
}): JSX.Element {
  const { columns, column, firstRows } = props.view;
  return (
    <Table
      caption="The first rows"
      isSheet
      columns={[
        'row#',
        ...columns.map((name, at) => (
          <button
            key={at}
            type="button"
            class="link"
            aria-pressed={at === column?.index}
            ref={at === column?.index ? show : null}
            onClick={() => props.onChoose(name)}
          >
            {name === '' ? 'no name' : name}
          </button>
        )),
      ]}
      rows={firstRows.map(({ number, cells }) => [number, ...columns.map((_, at) => cells[at])])}
    />
  );
}
