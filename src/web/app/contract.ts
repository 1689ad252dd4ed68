import type { Board, BoardChange, RunAction } from '../board.ts';

/**
 * What the page of `brandfill app` and its server say to each other. All of it is JSON, apart from
 * files that go up or down. Paths begin at the address of the page.
 *
 * Reading is `GET`; whatever changes something is `POST` with `content-type: application/json`,
 * answered only to the page itself. An answer that is not 2xx is a `Refusal`. Texts that come from
 * lists and answers are text, never markup.
 *
 * | route | takes | gives |
 * |---|---|---|
 * | `GET api/state` | | `AppState` |
 * | `GET api/events` | | server-sent events, see `AppEvents` |
 * | `POST api/connection` | `ConnectionRequest` | `Connection` |
 * | `POST api/connection/rehearse` | | `Connection`, of the sandbox that was started |
 * | `POST api/connection/forget` | | `204`; the key is forgotten, also where it was kept |
 * | `POST api/connection/test` | `TestRequest` | `TestResult` |
 * | `POST api/lists?name=NAME` | the bytes of the file, as `application/octet-stream` | `ListView` |
 * | `GET api/lists/ID` | | `ListView` |
 * | `POST api/lists/ID/reading` | `Reading` | `ListView` |
 * | `POST api/lists/ID/plan` | `RunRequest` | `PlanView`; reads the whole list, so it may take a while |
 * | `POST api/lists/ID/samples` | `SamplesRequest` | `Samples`; makes calls |
 * | `POST api/lists/ID/preview` | `ColumnChoice` | `Preview`; keeps the choice for next time |
 * | `POST api/lists/ID/delete` | | `204`; refused while a run needs it |
 * | `POST api/lists/ID/runs` | `RunRequest` | `AppRun`; starts it |
 * | `GET api/runs/ID` | | `AppRun` |
 * | `POST api/runs/ID/ACTION` | | `204`; ACTION is a `RunStep` |
 * | `GET api/runs/ID/rows?status=…&offset=0&limit=50` | | `RowsPage`; without `status` all rows |
 * | `POST api/runs/ID/mend` | `MendRequest` | `AppRun`, asking about these alone |
 * | `GET api/runs/ID/result` | | the file, to download |
 * | `GET api/runs/ID/failures` | | the file, to download |
 * | `GET api/runs/ID/again` | | `Again` |
 * | `POST api/runs/ID/job` | `JobRequest` | `Again`, with the file written |
 * | `POST api/runs/ID/delete` | | `204`; the run and its files |
 */
export interface AppState {
  readonly version: string;
  /** The folder where lists, results and answers are. */
  readonly folder: string;
  /** Null until there is one. */
  readonly connection: Connection | null;
  /** APIs to choose from. */
  readonly profiles: readonly ProfileChoice[];
  /** The latest first. */
  readonly lists: readonly ListEntry[];
  /** The latest first. */
  readonly runs: readonly AppRun[];
}

/** The events of `api/events`, by name, with their data. */
export interface AppEvents {
  /** The first one, and again whenever something but a run's progress has changed. */
  readonly state: AppState;
  /** As on the dashboard: all live runs, by the ids of `AppRun`. */
  readonly board: Board;
  /** As on the dashboard: what changed of the board. */
  readonly change: BoardChange;
  /** Nothing changed; sent so that the connection stays open. */
  readonly alive: '';
}

/** The body of every answer that is not 2xx. */
export interface Refusal {
  readonly error: {
    /** Of a `BrandfillError`, or one of the server's own. */
    readonly code: RefusalCode;
    /** Whole sentences for people: what happened, and what to do. */
    readonly message: string;
  };
}

export type RefusalCode =
  | 'INVALID_SETTING'
  | 'UNREADABLE_INPUT'
  | 'UNWRITABLE_OUTPUT'
  | 'OUTPUT_IN_USE'
  | 'NO_COLUMN'
  | 'NO_CONNECTION'
  | 'NO_SPACE'
  | 'NOT_FOUND'
  | 'NOT_NOW'
  | 'NOT_SIGNED_IN'
  | 'NOT_OUR_PAGE'
  | 'UNEXPECTED';

// Connect.

/** An API with a profile. */
export interface ProfileChoice {
  readonly name: string;
  readonly title: string;
  /** Where the API is described. */
  readonly docs?: string | undefined;
  readonly needsKey: boolean;
  /** What it bills in, such as `credits`. */
  readonly unit?: string | undefined;
}

/** Either `profile` or `baseUrl`. */
export interface ConnectionRequest {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`. With a profile: what it says. */
  readonly auth?: string | undefined;
  /** Left out or empty: the key that is known for the same API, if there is one. */
  readonly apiKey?: string | undefined;
  /** Whether to write the key to a file that only its owner can read. */
  readonly keepKey?: boolean | undefined;
  /** What a call, or a unit that the profile bills in, costs in money. */
  readonly price?: number | undefined;
  /** Calls per second, such as `20/s`; left out: found out. */
  readonly rate?: string | undefined;
}

/** The API in use. The key is never in it. */
export interface Connection {
  readonly kind: 'profile' | 'described' | 'sandbox';
  /** For people: the title of the profile, or the host. */
  readonly title: string;
  readonly profile?: string | undefined;
  readonly baseUrl: string;
  readonly auth: string;
  readonly hasKey: boolean;
  readonly isKeyKept: boolean;
  readonly price?: number | undefined;
  readonly unit?: string | undefined;
  readonly rate?: string | undefined;
}

export interface TestRequest {
  /** A domain, an address of a page or of e-mail. */
  readonly domain: string;
}

/** What came of one domain. */
export interface TestResult {
  readonly domain: string;
  readonly status: RowStatusName;
  /** What happened, and what to do about it; a sentence or two. */
  readonly message: string;
  readonly isGood: boolean;
  readonly httpStatus?: number | undefined;
  /** What the answer means, and the rule that decided, in the words of the profile. */
  readonly rule?: { readonly means: string; readonly number?: number; readonly when?: string };
  readonly calls: number;
  readonly cost: Cost;
  readonly elapsedMs: number;
  readonly isFromStore: boolean;
  readonly answer?: unknown;
  /** The columns that would be made of it. */
  readonly columns: readonly { readonly name: string; readonly value: string }[];
}

/** What calls cost. Nothing is known of either without a profile that says so, or a price. */
export interface Cost {
  /** In what the API bills. */
  readonly units?: number | undefined;
  readonly unit?: string | undefined;
  /** In money. */
  readonly money?: number | undefined;
}

// List.

export interface ListEntry {
  readonly id: string;
  /** The name of the file that was chosen. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly uploadedAtMs: number;
}

/** How a list is to be read. What is left out is found out. */
export interface Reading {
  readonly sheet?: string | undefined;
  /** The column with the addresses, by name. */
  readonly column?: string | undefined;
  readonly encoding?: string | undefined;
  readonly noHeader?: boolean | undefined;
  readonly skipLines?: number | undefined;
}

/** A list as it was understood. */
export interface ListView extends ListEntry {
  readonly reading: Reading;
  readonly kind: 'csv' | 'jsonl' | 'xlsx';
  /** For people, such as `CSV, semicolon-separated`. */
  readonly format: string;
  readonly encoding: string;
  /** Words that show whether the encoding was guessed well. */
  readonly encodingExample?: string | undefined;
  /** Of a workbook: its sheets; one is in use. */
  readonly sheets: readonly { readonly name: string; readonly isUsed: boolean }[];
  /** The line, or the row of the sheet, with the names of columns; missing if there is none. */
  readonly headerRow?: number | undefined;
  readonly columns: readonly string[];
  /** The first rows, as texts of their cells. */
  readonly firstRows: readonly (readonly string[])[];
  /** Missing when no column could be found: `problem` says so, and somebody has to choose one. */
  readonly column?: ColumnFound | undefined;
  /** Why the list cannot be used as it is, and what to do. */
  readonly problem?: string | undefined;
  /** Sentences. */
  readonly notices: readonly string[];
  /** What was chosen for these columns before. */
  readonly choice: ColumnChoice;
}

export interface ColumnFound {
  readonly index: number;
  readonly name: string;
  /** Why this one, in a sentence. */
  readonly why: string;
  /** Whether somebody should look at it before calls are made. */
  readonly isDoubtful: boolean;
}

// Columns.

/** What to add to rows, and which blank cells to fill. */
export interface ColumnChoice {
  /** In this order; null for the columns that the profile names, else all that answers have. */
  readonly fields: readonly ChosenField[] | null;
  readonly fills: readonly ChosenFill[];
}

export interface ChosenField {
  /** The name of the column, without the prefix `brand_`. */
  readonly name: string;
  /** The JMESPath of its value in the answer. */
  readonly expression: string;
}

export interface ChosenFill {
  /** One of the list's own columns. */
  readonly column: string;
  readonly expression: string;
}

export interface SamplesRequest {
  /** At most 3. @default 3 */
  readonly count?: number | undefined;
}

/** Real answers for some domains of the list. */
export interface Samples {
  readonly domains: readonly SampledRow[];
  readonly calls: number;
  readonly cost: Cost;
  /** All values that these answers have, as a tree. */
  readonly tree: readonly FieldNode[];
  /** Why there are none, if so, or fewer than there should be. */
  readonly problem?: string | undefined;
}

export interface SampledRow {
  readonly domain: string;
  readonly status: RowStatusName;
  readonly message: string;
}

/** A place in answers. */
export interface FieldNode {
  /** The key, or the position in a list. */
  readonly label: string;
  readonly expression: string;
  /** The name that its column gets unless it is renamed, without the prefix. */
  readonly name: string;
  readonly kind: 'value' | 'object' | 'list';
  /** Its text in each of the domains, in their order; empty where there is none. */
  readonly examples: readonly string[];
  readonly children: readonly FieldNode[];
}

/** The rows of the samples as they will be. */
export interface Preview {
  readonly columns: readonly PreviewColumn[];
  readonly rows: readonly (readonly string[])[];
}

export interface PreviewColumn {
  readonly name: string;
  /**
   * `own`: of the list; `filled`: likewise, with cells filled; `added`: new; `note`: likewise, about
   * the row rather than the company, such as its status.
   */
  readonly kind: 'own' | 'filled' | 'added' | 'note';
}

// Plan and run.

export interface RunRequest {
  /** @default what was chosen last */
  readonly choice?: ColumnChoice | undefined;
  readonly maxCalls?: number | undefined;
  /** In the units that the profile bills in. */
  readonly maxCost?: number | undefined;
  /** Ask about so many first, then wait for `yes` or `no`. */
  readonly firstAskMe?: number | undefined;
}

export interface PlanView {
  readonly rows: number;
  readonly companies: number;
  /** Rows whose company an earlier row has. */
  readonly duplicates: number;
  /** Companies with a fresh answer, which cost nothing. */
  readonly fresh: number;
  readonly invalid: number;
  /** Those rows by reason, the most frequent first. */
  readonly invalidReasons: readonly InvalidReason[];
  /** Companies to ask about, before bounds. */
  readonly lookups: number;
  /** Calls to make, within bounds. */
  readonly calls: number;
  readonly cost: Cost;
  /** Missing while no pace is known. */
  readonly durationMs?: number | undefined;
  readonly ratePerSecond?: number | undefined;
  readonly notices: readonly string[];
}

export interface InvalidReason {
  readonly reason: string;
  readonly count: number;
  /** To follow the count: `12 cells hold no web address`. */
  readonly words: Plural;
  readonly examples: readonly { readonly row: number; readonly cell: string }[];
}

/** A text for one, and for any other number. */
export interface Plural {
  readonly one: string;
  readonly many: string;
}

/**
 * `running`: see the board for the rest; `asking`: waits for `yes` or `no`, see `sampled`;
 * `interrupted`: the program ended in the middle, `go-on` continues; `stopped`: somebody or a bound
 * stopped it, `go-on` continues; `failed`: could not be made, `error` says why, `go-on` tries again.
 */
export type AppRunState = 'running' | 'asking' | 'interrupted' | 'stopped' | 'done' | 'failed';

export interface AppRun {
  readonly id: string;
  readonly state: AppRunState;
  readonly list: { readonly id: string; readonly name: string };
  readonly kind: 'csv' | 'jsonl' | 'xlsx';
  readonly connection: string;
  readonly isRehearsal: boolean;
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  /** Rows by status, once there is a result. */
  readonly statuses?: Readonly<Partial<Record<RowStatusName, number>>> | undefined;
  readonly calls?: number | undefined;
  readonly cost?: Cost | undefined;
  /** How it ended, in sentences; the first one says the most. */
  readonly lines: readonly string[];
  readonly error?: string | undefined;
  readonly sampled?: SampledView | undefined;
  /** What can be asked of it now. */
  readonly steps: readonly RunStep[];
  readonly result?: FileEntry | undefined;
  readonly failures?: FileEntry | undefined;
  /** Whether cells can be mended now. */
  readonly canMend: boolean;
}

/** `go-on` continues a run that is over; `resume` one that is paused. */
export type RunStep = RunAction | 'go-on' | 'yes' | 'no';

export interface FileEntry {
  readonly name: string;
  readonly sizeBytes: number;
}

/** What came of the first companies. */
export interface SampledView {
  readonly domains: readonly {
    readonly domain: string;
    readonly status: string;
    readonly values: readonly string[];
  }[];
  readonly calls: number;
  readonly cost: Cost;
  readonly left: { readonly companies: number; readonly calls: number; readonly cost: Cost };
}

// Result.

export type RowStatusName =
  | 'found'
  | 'not_found'
  | 'rejected'
  | 'failed'
  | 'pending'
  | 'stale'
  | 'invalid'
  | 'skipped';

export interface RowsPage {
  readonly columns: readonly PreviewColumn[];
  /** The index of the column with the addresses. */
  readonly domainColumn: number;
  readonly rows: readonly ResultRow[];
  /** Rows of this status, or all. */
  readonly total: number;
  readonly offset: number;
}

export interface ResultRow {
  /** Its position in the list, from 1. */
  readonly row: number;
  readonly status: RowStatusName;
  /** Why it is not found, in words; empty otherwise. */
  readonly message: string;
  readonly cells: readonly string[];
  /** Whether its cell can be mended. */
  readonly canMend: boolean;
}

export interface MendRequest {
  /** What to write into the column with the addresses. */
  readonly cells: readonly { readonly row: number; readonly value: string }[];
}

// Again.

export interface JobRequest {
  /** @default 02:00 */
  readonly at?: string | undefined;
}

export interface Again {
  /** The command line for what was done. The key is not in it. */
  readonly command: string;
  /** What the key has to be set to before it, if one is needed: the name of the variable. */
  readonly keyVariable?: string | undefined;
  /** The job file: YAML. */
  readonly job: string;
  /** Where it was written, if it was. */
  readonly jobFile?: string | undefined;
  /** Ways to run it every night, each with a heading and lines to type. */
  readonly schedules: readonly { readonly title: string; readonly text: string }[];
}
