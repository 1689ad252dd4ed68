import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Fault } from './client.ts';

// What all steps are made of: one look and one behaviour for a button, a field, a table, a warning.

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
 * A step of the way: its title takes the focus when the step begins, so that somebody who hears the
 * page knows where they are, and somebody with a keyboard goes on from there. It takes it before the
 * step can be seen: a moment later, it would take it from whoever types already.
 */
export function Step({ title, lead, fault, actions, children }: StepProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    document.title = `${title} – Brandfill`;
    if (!isFirst.current) return;
    isFirst.current = false;
    if (hasBegun) heading.current?.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
    hasBegun = true;
  }, [title]);
  const id = useId();
  return (
    <section class="step" aria-labelledby={id}>
      <h2 id={id} ref={heading} tabIndex={-1}>
        {title}
      </h2>
      <p class="lead">{lead}</p>
      {children}
      <FaultNote fault={fault} />
      {actions === undefined ? null : <div class="actions">{actions}</div>}
    </section>
  );
}

/** Whether a step was shown before: the first one of a visit leaves the focus where a page has it. */
let hasBegun = false;

interface ButtonProps {
  readonly onPress: () => void;
  readonly children: ComponentChildren;
  /** @default plain */
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  /** Its work is under way: it can be seen, and pressing it again does nothing. */
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly label?: string;
  readonly describedBy?: string;
  readonly isPressed?: boolean;
  readonly id?: string;
}

export function Button(props: ButtonProps): JSX.Element {
  const { onPress, children, kind = 'plain', isBusy = false, isDisabled = false } = props;
  return (
    <button
      type="button"
      id={props.id}
      class={kind}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      aria-pressed={props.isPressed}
      // Not `disabled` while busy: that would throw the focus away.
      aria-disabled={isBusy ? true : undefined}
      aria-busy={isBusy ? true : undefined}
      disabled={isDisabled}
      onClick={() => {
        if (!isBusy) onPress();
      }}
    >
      {children}
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
    </button>
  );
}

interface DeleteButtonProps {
  /** What is deleted, for those who hear the button alone. */
  readonly what: string;
  readonly onDelete: () => void;
  readonly isBusy: boolean;
}

/** Asks before it deletes, in its own place. */
export function DeleteButton({ what, onDelete, isBusy }: DeleteButtonProps): JSX.Element {
  const isAsking = useSignal(false);
  const answer = useRef<HTMLSpanElement>(null);
  const isNew = useRef(true);
  const asks = isAsking.value;
  useLayoutEffect(() => {
    if (!isNew.current) answer.current?.querySelector('button')?.focus();
    isNew.current = false;
  }, [asks]);
  return (
    <span ref={answer} class="delete">
      {asks ? (
        <>
          <Button
            label={`Keep ${what}`}
            onPress={() => {
              isAsking.value = false;
            }}
          >
            Keep
          </Button>
          <Button kind="danger" label={`Really delete ${what}`} onPress={onDelete} isBusy={isBusy}>
            Really delete
          </Button>
        </>
      ) : (
        <Button
          kind="quiet"
          label={`Delete ${what}`}
          onPress={() => {
            isAsking.value = true;
          }}
        >
          Delete
        </Button>
      )}
    </span>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  /** What is wrong with what was typed. */
  readonly error?: string | undefined;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'time';
  readonly placeholder?: string;
  readonly min?: number;
  readonly step?: string;
  readonly isDisabled?: boolean;
  readonly autoComplete?: string;
  readonly onEnter?: () => void;
}

export function Field(props: FieldProps): JSX.Element {
  const { label, value, onInput, hint, error, type = 'text', onEnter } = props;
  const id = useId();
  // The types of Preact know no input whose type is chosen later.
  const typed = { type } as { readonly type: 'text' };
  const about = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        {...typed}
        value={value}
        placeholder={props.placeholder}
        min={props.min}
        step={props.step}
        disabled={props.isDisabled}
        autocomplete={props.autoComplete ?? 'off'}
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={about || undefined}
        aria-invalid={error ? true : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && onEnter) {
            event.preventDefault();
            onEnter();
          }
        }}
      />
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
      {error ? (
        <p class="wrong" id={`${id}-error`}>
          {error}
        </p>
      ) : null}
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly isLabelHidden?: boolean;
}

export function Select(props: SelectProps): JSX.Element {
  const { label, value, options, onChange, hint, isLabelHidden = false } = props;
  const id = useId();
  return (
    <div class="field">
      <label htmlFor={id} class={isLabelHidden ? 'unseen' : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly hint?: ComponentChildren;
}

export function Check({ label, isChecked, onChange, hint }: CheckProps): JSX.Element {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint ? (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        ) : null}
      </div>
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly options: readonly {
    readonly value: T;
    readonly title: string;
    readonly text?: ComponentChildren;
  }[];
  readonly onChange: (value: T) => void;
}

/** One of a few ways, each with a sentence on what it means. */
export function Choice<T extends string>(props: ChoiceProps<T>): JSX.Element {
  const { legend, value, options, onChange } = props;
  const name = useId();
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      <div class="options">
        {options.map((option) => (
          <label key={option.value} class="option">
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>
              <strong>{option.title}</strong>
              {option.text ? <span class="hint">{option.text}</span> : null}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface NoteProps {
  readonly kind: 'info' | 'good' | 'warning' | 'bad';
  readonly children: ComponentChildren;
}

export function Note({ kind, children }: NoteProps): JSX.Element {
  return <div class={`note ${kind}`}>{children}</div>;
}

/** What went wrong and what to do, read out when it appears. */
export function FaultNote({ fault }: { readonly fault: Fault | undefined }): JSX.Element {
  return (
    <div role="alert" class="faults">
      {fault ? (
        <Note kind="bad">
          <p>
            <strong>{fault.message}</strong>
          </p>
          {fault.advice ? <p>{fault.advice}</p> : null}
        </Note>
      ) : null}
    </div>
  );
}

interface ProgressProps {
  readonly label: string;
  /** From 0 to 1; undefined while it is not known. */
  readonly part: number | undefined;
  readonly text: string;
}

export function Progress({ label, part, text }: ProgressProps): JSX.Element {
  const id = useId();
  return (
    <div class="progress">
      <span class="unseen" id={id}>
        {label}
      </span>
      <progress max={1} {...(part === undefined ? {} : { value: part })} aria-labelledby={id} />
      <p>{text}</p>
    </div>
  );
}

/** Figures side by side, each with its name. */
export function Figures(props: {
  readonly items: readonly {
    readonly name: string;
    readonly value: ComponentChildren;
    readonly note?: ComponentChildren;
  }[];
}): JSX.Element {
  return (
    <dl class="figures">
      {props.items.map(({ name, value, note }) => (
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

/** A table that scrolls on its own where it is wider than the page. */
export function Wide(props: {
  readonly label: string;
  readonly children: ComponentChildren;
  /** Whether what it shows is about to be replaced. */
  readonly isOld?: boolean;
  readonly place?: RefObject<HTMLElement | null>;
}): JSX.Element {
  const { label, children, isOld = false, place } = props;
  return (
    <section
      class="wide"
      aria-label={label}
      aria-busy={isOld}
      // What scrolls must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      {...(place ? { ref: place } : {})}
    >
      {children}
    </section>
  );
}

/** What a cell holds: the beginning of a long text, the rest where the mouse rests. */
export function Cell({ text = '' }: { readonly text?: string | undefined }): JSX.Element {
  return (
    <div class="cell" title={text.length > LONG ? text : undefined}>
      {text}
    </div>
  );
}

/** About what fits into the lines of a cell. */
const LONG = 60;

/** Lines to read or copy as they are. */
export function Lines({ text }: { readonly text: string }): JSX.Element {
  // What scrolls must be reachable by keyboard.
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  return <pre tabIndex={0}>{text}</pre>;
}
