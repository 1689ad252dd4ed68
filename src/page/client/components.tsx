import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Fault } from './api.ts';

// What all pages are made of: one look and one behaviour for a button, a field, a table, a notice.

interface StepProps {
  readonly title: string;
  /** What this step is for, in a sentence. */
  readonly lead: ComponentChildren;
  readonly fault?: Fault | undefined;
  /** Buttons at the end; the first of them is the one that leads on. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/**
 * Whether a step was shown before: the first one of a visit leaves the focus where a page has it.
 */
let hasBegun = false;

/**
 * A step of the way: its title takes the focus when the step begins, so that somebody who hears the
 * page knows where they are, and somebody with a keyboard goes on from there.
 */
export function Step({ title, lead, fault, actions, children }: StepProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (hasBegun) heading.current?.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
    hasBegun = true;
  }, []);
  useLayoutEffect(() => {
    document.title = `${title} – Brandfill`;
  }, [title]);
  const id = useId();
  return (
    <section class="step card" aria-labelledby={id}>
      <h2 id={id} ref={heading} tabIndex={-1}>
        {title}
      </h2>
      <p class="quiet">{lead}</p>
      {children}
      <FaultNote fault={fault} />
      {actions === undefined ? null : <div class="actions">{actions}</div>}
    </section>
  );
}

interface ButtonProps {
  readonly onPress: () => void;
  readonly children: ComponentChildren;
  /** @default plain */
  readonly kind?: 'primary' | 'plain' | 'link' | 'danger';
  /** Its work is under way: it can be seen, and pressing it again does nothing. */
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly label?: string;
}

export function Button(props: ButtonProps): JSX.Element {
  const { onPress, children, kind = 'plain', isBusy = false, isDisabled = false, label } = props;
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      // Not `disabled` while busy: that would throw the focus away.
      aria-disabled={isBusy ? true : undefined}
      aria-busy={isBusy ? true : undefined}
      disabled={isDisabled}
      onClick={() => {
        if (!isBusy) onPress();
      }}
    >
      {children}
    </button>
  );
}

/** Asks before it does something: the second press within its own place does it. */
export function SureButton(props: {
  readonly text: string;
  /** What it is done to, for those who hear the button alone. */
  readonly what: string;
  readonly onSure: () => void;
}): JSX.Element {
  const isAsking = useSignal(false);
  const text = isAsking.value ? `Really ${props.text.toLowerCase()}` : props.text;
  return (
    <Button
      kind={isAsking.value ? 'danger' : 'link'}
      label={`${text} ${props.what}`}
      onPress={() => {
        if (isAsking.value) props.onSure();
        isAsking.value = !isAsking.value;
      }}
    >
      {text}
    </Button>
  );
}

interface FieldProps {
  readonly label: string;
  /** Whether only those who hear the page need the label. */
  readonly isNamed?: boolean;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  /** What is wrong with what was typed. */
  readonly error?: string | undefined;
  readonly isSecret?: boolean;
  readonly placeholder?: string;
  /** What stands before it and cannot be changed. */
  readonly prefix?: string;
  readonly onEnter?: () => void;
}

export function Field(props: FieldProps): JSX.Element {
  const { label, value, onInput, hint, error, isSecret, placeholder, onEnter } = props;
  const id = useId();
  return (
    <div class={props.prefix === undefined ? 'field' : 'field prefixed'}>
      <label htmlFor={id} class={props.isNamed ? 'unseen' : undefined}>
        {label}
      </label>
      {props.prefix === undefined ? null : <span class="quiet">{props.prefix}</span>}
      <input
        id={id}
        // The kinds of inputs have types of their own.
        {...({ type: isSecret ? 'password' : 'text' } as { readonly type: 'text' })}
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={`${id}-about`}
        aria-invalid={error ? true : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onEnter?.();
        }}
      />
      <p class={error ? 'hint wrong' : 'hint'} id={`${id}-about`}>
        {error ?? hint}
      </p>
    </div>
  );
}

export function Select(props: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label htmlFor={id}>{props.label}</label>
      <select
        id={id}
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly hint?: string;
  readonly isChosen: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

export function Choice({ label, hint, isChosen, onChange }: ChoiceProps): JSX.Element {
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={isChosen}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint ? <span class="hint">{hint}</span> : null}
      </span>
    </label>
  );
}

export function Note(props: {
  readonly kind: 'info' | 'good' | 'warning' | 'bad';
  readonly children: ComponentChildren;
}): JSX.Element {
  return <div class={`note ${props.kind}`}>{props.children}</div>;
}

/** What went wrong and what to do, read out when it appears. */
export function FaultNote({ fault }: { readonly fault: Fault | undefined }): JSX.Element {
  return (
    <div role="alert">
      {fault ? (
        <Note kind="bad">
          <strong>{fault.message}</strong> {fault.advice}
        </Note>
      ) : null}
    </div>
  );
}

export function Progress(props: {
  readonly label: string;
  /** From 0 to 1; undefined while it is not known. */
  readonly part?: number | undefined;
  readonly text: string;
}): JSX.Element {
  const { label, part, text } = props;
  return (
    <div>
      <progress max={1} {...(part === undefined ? {} : { value: part })} aria-label={label} />
      <p class="quiet">{text}</p>
    </div>
  );
}

/** Figures side by side, each with its name. */
export function Figures(props: {
  readonly items: readonly (readonly [name: string, value: ComponentChildren, note?: string])[];
}): JSX.Element {
  return (
    <dl class="figures">
      {props.items.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note ? <span class="hint">{note}</span> : null}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface TableProps {
  readonly caption: string;
  /** A name that ends in `#` is of a column of numbers. */
  readonly columns: readonly ComponentChildren[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** Whether only those who hear the page need the caption. */
  readonly hasHeading?: boolean;
  /** Whether each row is a line, as in a spreadsheet; long texts are cut at their cell's end. */
  readonly isSheet?: boolean;
  /** Whether cells stand below each other on a phone, each with the name of its column. */
  readonly isStacked?: boolean;
}

/**
 * A table whose first cells name the rows, if there are any; a sheet has its columns in any case.
 * It scrolls on its own where it is wider than the page.
 */
export function Table(props: TableProps): JSX.Element | null {
  const { caption, columns, rows, hasHeading = false, isSheet = false, isStacked } = props;
  if (rows.length === 0 && !isSheet) return null;
  const isNumber = (name: ComponentChildren): name is string =>
    typeof name === 'string' && name.endsWith('#');
  const classOf = (at: number): string | undefined => (isNumber(columns[at]) ? 'n' : undefined);
  const nameOf = (name: ComponentChildren) => (isNumber(name) ? name.slice(0, -1) : name);
  return (
    <section
      class="wide"
      aria-label={caption}
      // What scrolls must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <table class={isSheet ? 'sheet' : isStacked ? 'stacked' : undefined}>
        <caption class={hasHeading ? 'unseen' : undefined}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th key={at} scope="col" class={classOf(at)}>
                {nameOf(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, at) => {
                const Cell = at === 0 ? 'th' : 'td';
                return (
                  <Cell
                    key={at}
                    scope={at === 0 ? 'row' : undefined}
                    class={classOf(at)}
                    data-name={
                      isStacked && typeof cell === 'string' ? nameOf(columns[at]) : undefined
                    }
                  >
                    {cell}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
