import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunAction, RunView } from '../../../watch/run-view.ts';
import type { ListRun } from '../../app/lists.ts';
import { isOver } from '../../board.ts';
import { api, ask, listOf } from '../api.ts';
import { Button, Choice, FaultNote, Progress, Step, Table } from '../components.tsx';
import { count, time } from '../format.ts';
import { canGoOn, closing, phaseOf } from '../moment.ts';
import { Run } from '../run-card.tsx';
import { announce, findView, goTo, link, useAsked, useWork } from '../state.ts';

/** The run of a list while it goes on, and its result. */
export function RunStep({ id }: { readonly id: string }): JSX.Element {
  const work = useWork();
  const live = findView(id);
  const list = useAsked(work, () => listOf(id), [id, live === undefined]);
  const { run, hasResult, hasFailures } = list.value ?? {};
  // What is kept while a run goes on is from its beginning.
  const kept = run?.view as RunView | undefined;
  const view = live ?? (kept && isOver(kept) ? kept : undefined);
  const name = view?.list ?? 'Your list';
  const title = view ? (view.headline ?? phaseOf(view)) : 'One moment…';
  useAnnounced(title, name);
  const again = (): void =>
    work.start('again', () =>
      ask(api.lists[':id'].run.$post({ param: { id }, json: { goesOn: true } })),
    );
  const onAsk = (action: RunAction): void =>
    work.start(action, () => ask(api.runs[':id'].ask.$post({ param: { id }, json: { action } })));
  const isFirst = view !== undefined && !canGoOn(view);
  return (
    <Step title={title} lead={leadOf(name, run?.connection)}>
      {view ? (
        <Run view={view} onAsk={live && onAsk} isOpen={live !== undefined}>
          <FaultNote fault={work.fault.value} />
          {live ? (
            <p class="quiet">{closing(live, link.value)}</p>
          ) : (
            <>
              {/* The first button is what most would do now. */}
              <div class="actions">
                {hasResult ? (
                  <a
                    class={`button ${isFirst ? 'primary' : ''}`}
                    href={`api/lists/${id}/files/out`}
                    download
                  >
                    Download the result
                  </a>
                ) : null}
                {isFirst ? null : (
                  <Button kind="primary" isBusy={work.isBusy()} onPress={again}>
                    Go on
                  </Button>
                )}
                {hasFailures ? (
                  <a class="button" href={`api/lists/${id}/files/failures`} download>
                    Failures apart
                  </a>
                ) : null}
                <Button onPress={() => goTo('list')}>Another list</Button>
              </div>
              {hasResult ? <Result key={view.startedAt} id={id} name={name} /> : null}
            </>
          )}
        </Run>
      ) : work.fault.value ? (
        <>
          <FaultNote fault={work.fault.value} />
          <Button onPress={() => goTo('list')}>Another list</Button>
        </>
      ) : (
        <>
          <Progress label="Reading" text="It is being read…" />
          {/* A run that was killed while it read its list has left nothing. */}
          <Button onPress={() => goTo('plan', id)}>Back to the plan</Button>
        </>
      )}
    </Step>
  );
}

function leadOf(name: string, of: ListRun['connection'] | undefined): string {
  return of ? `${name}, with ${of.isRehearsal ? 'made-up answers' : of.title}.` : name;
}

/** Says what it does now: those who hear the page do not see the title change. */
function useAnnounced(title: string, name: string): void {
  const before = useRef(title);
  useEffect(() => {
    if (before.current !== title) announce(`${name}: ${title.replace(/\.$/, '')}.`);
    before.current = title;
  }, [title]);
}

async function resultOf(id: string) {
  return await ask(api.lists[':id'].result.$get({ param: { id } }));
}

/** The first rows, as the file has them, and the command that does the same. */
function Result({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const work = useWork();
  const isWhole = useSignal(false);
  const result = useAsked(work, () => resultOf(id), [id]);
  if (work.fault.value) return <FaultNote fault={work.fault.value} />;
  if (!result.value) return <Progress label="Reading" text="Reading the result…" />;
  const { rows, columns, ...rest } = result.value;
  const shown = isWhole.value ? columns.map((_, at) => at) : rest.first;
  return (
    <>
      <Table
        caption={`The first ${count(rows.length)} rows of the result`}
        isSheet
        columns={['row#', ...shown.map((at) => columns[at])]}
        rows={rows.map(({ number, cells }) => [
          count(number),
          ...shown.map((at) => cellOf(cells[at])),
        ])}
      />
      {rest.first.length < columns.length ? (
        <Choice
          label={`All ${columns.length} columns`}
          isChosen={isWhole.value}
          onChange={(is) => {
            isWhole.value = is;
          }}
        />
      ) : null}
      {'command' in rest ? (
        <details>
          <summary>The same as a command, for a terminal or every night</summary>
          <p>
            Put the path of your own file in place of <code>/path/to/{name}</code>
            {rest.keyVariable === undefined ? null : (
              <>
                , and the key into the variable <code>{rest.keyVariable}</code>
              </>
            )}
            . The result is written beside it. Companies that were asked about lately are not paid
            for again.
          </p>
          <pre
            // What scrolls must be reachable by keyboard.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
          >
            {rest.command}
          </pre>
        </details>
      ) : null}
    </>
  );
}

/** A cell as a person reads it: a time as here, the address of a picture as a link. */
function cellOf(text = ''): ComponentChildren {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return time(text);
  const [picture] = /https:\/\/[^\s"\\]+\.(?:png|jpe?g|svg|webp)\b[^\s"\\]*/i.exec(text) ?? [];
  if (picture === undefined) return text;
  return (
    <a href={picture} target="_blank" rel="noreferrer">
      picture
    </a>
  );
}
