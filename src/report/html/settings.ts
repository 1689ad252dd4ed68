import { formatSize } from '../../common/format.ts';
import type { RunReport } from '../run-report.ts';
import { count, type Html, html, number, table } from './html.ts';

/** The notices of the run. */
export function noticesSection({ run: { notices } }: RunReport): Html | false {
  return (
    notices.length > 0 &&
    html`<section><h2>Remarks</h2>${notices.map((notice) => html`<p>${notice}</p>`)}</section>`
  );
}

/** Where the files are. */
export function filesSection({ files, run }: RunReport): Html {
  const { changes, logos, storeBytes } = files;
  const rows: readonly (readonly [string, string])[] = [
    ['list', `${run.input}${run.format === '' ? '' : ` (${run.format})`}`],
    ...(run.domainColumn === null ? [] : ([['domains in column', run.domainColumn]] as const)),
    ...(files.out === null ? [] : ([['rows', place(files.out)]] as const)),
    ...(files.failures === null ? [] : ([['failures', placeOfFailures(files)]] as const)),
    ...(changes === null
      ? []
      : ([
          [
            'changes',
            `${changes.file} (${number(changes.new)} new, ${number(changes.changed)} changed)`,
          ],
        ] as const)),
    ...(logos === null
      ? []
      : ([
          [
            'logos',
            `${logos.folder} (${number(logos.saved)} saved, ${number(logos.kept)} kept, ${number(logos.missing)} missing)`,
          ],
        ] as const)),
    ['store', `${files.store}${storeBytes === null ? '' : ` (${formatSize(storeBytes)})`}`],
  ];
  return html`<section><h2>Files</h2>${table('Files', rows, [
    { name: 'what', isHead: true, cellOf: ([what]) => what },
    { name: 'where', isCode: true, isWide: true, cellOf: ([, where]) => where },
  ])}</section>`;
}

/** The settings of the run. */
export function settingsSection({ settings }: RunReport): Html {
  const given = settings.filter(({ isDefault }) => !isDefault);
  const defaults = settings.filter(({ isDefault }) => isDefault);
  const tableOf = (some: typeof settings): Html =>
    table('Settings', some, [
      { name: 'setting', isHead: true, isCode: true, cellOf: ({ name }) => name },
      { name: 'value', isCode: true, isWide: true, cellOf: ({ value }) => value },
    ]);
  return html`<section><h2>Settings</h2>
${given.length > 0 && tableOf(given)}
${defaults.length > 0 && html`<details><summary>${count(defaults.length, 'setting')} left at the default</summary>${tableOf(defaults)}</details>`}
</section>`;
}

function placeOfFailures({ failuresSheet, failures }: RunReport['files']): string {
  const file = place(failures ?? '');
  return failuresSheet === null ? file : `sheet '${failuresSheet}' of ${file}`;
}

function place(path: string): string {
  return path === '-' ? 'standard output' : path;
}
