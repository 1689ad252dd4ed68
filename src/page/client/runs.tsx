import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Board } from '../board.ts';
import { api, ask } from './api.ts';
import { FaultNote, Note, Table } from './components.tsx';
import { count, time } from './format.ts';
import { RunCard } from './run-card.tsx';
import { useWork } from './state.ts';

/** All that goes on, and what went on lately: the dashboard, and the runs of the app. */
export function RunsPage({ board }: { readonly board: Board }): JSX.Element {
  const { runs, workers, schedules, trouble } = board;
  const work = useWork();
  useEffect(() => {
    document.title = 'Runs – Brandfill';
  }, []);
  return (
    <>
      <FaultNote fault={work.fault.value} />
      {trouble === undefined ? null : <Note kind="bad">{trouble}</Note>}
      <h2>Runs</h2>
      {runs.length === 0 ? <p>No run is going on.</p> : null}
      {runs.map((view) => (
        <RunCard
          key={view.runId}
          view={view}
          onAsk={(action) =>
            work.start(`${view.runId} ${action}`, () =>
              ask(api.runs[':id'].ask.$post({ param: { id: view.runId }, json: { action } })),
            )
          }
        />
      ))}
      <Workers workers={workers} />
      {schedules.length > 0 ? (
        <>
          <h2>Schedules</h2>
          <Table
            caption="Schedules"
            hasHeading
            columns={['job', 'when', 'next', 'state', 'last run']}
            rows={schedules.map((of) => [
              of.job,
              `${of.cron} (${of.timezone})`,
              time(of.nextAt),
              stateOf(of),
              lastOf(of),
            ])}
          />
        </>
      ) : null}
    </>
  );
}

type Schedule = Board['schedules'][number];

function lastOf({ results: [last] }: Schedule): string {
  if (!last) return 'none yet';
  return `${time(last.finishedAt)}: exit code ${last.exitCode}. ${last.headline}`;
}

function stateOf({ runningSince, isWaiting, isKept }: Schedule): string {
  if (runningSince !== undefined) return `running since ${time(runningSince)}`;
  if (!isKept) return 'no process is there to run it';
  return isWaiting ? 'about to run' : 'waits for its time';
}

function Workers({ workers }: Pick<Board, 'workers'>): JSX.Element | null {
  if (workers.length === 0) return null;
  return (
    <>
      <h2>Workers</h2>
      <Table
        caption="Workers"
        hasHeading
        columns={['worker', 'calls at once#', 'calls#', 'trouble']}
        rows={workers.map(({ host, pid, concurrency, calls, trouble = '' }) => [
          `process ${pid} on ${host}`,
          count(concurrency),
          calls > 0 ? count(calls) : '–', // that of a run does not say them
          trouble,
        ])}
      />
    </>
  );
}
