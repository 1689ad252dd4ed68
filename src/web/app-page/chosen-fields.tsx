import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ChosenField } from '../app/contract.ts';
import { faultOfName, moved } from './choices.ts';
import { announce } from './work.ts';

interface ChosenFieldsProps {
  readonly fields: readonly ChosenField[];
  readonly onChange: (fields: readonly ChosenField[]) => void;
}

/** The columns to add, in their order: each can be renamed, moved and taken out. */
export function ChosenFields({ fields, onChange }: ChosenFieldsProps): JSX.Element {
  const dragged = useSignal<number | undefined>(undefined);
  const list = useRef<HTMLOListElement>(null);
  /** What has the focus after the next drawing: what was moved takes it along. */
  const focusNext = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (focusNext.current === undefined) return;
    const element = list.current?.querySelector<HTMLElement>(focusNext.current);
    element?.focus();
    focusNext.current = undefined;
  });
  const move = (from: number, to: number, button: 'up' | 'down' | 'name'): void => {
    const field = fields[from];
    const after = moved(fields, from, to);
    if (!field || after === fields) return;
    // At an end, the button that was pressed is no longer there.
    const other = button === 'up' && to === 0 ? 'down' : button;
    const kept = button === 'down' && to === fields.length - 1 ? 'up' : other;
    focusNext.current = `li:nth-child(${to + 1}) .${kept}`;
    onChange(after);
    announce(`${field.name} is now column ${to + 1} of ${fields.length}.`);
  };
  const remove = (at: number): void => {
    const name = fields[at]?.name ?? '';
    focusNext.current = `li:nth-child(${Math.min(at + 1, fields.length - 1)}) .name`;
    onChange(fields.filter((_, other) => other !== at));
    announce(`${name} is taken out.`);
  };
  if (fields.length === 0) return <p class="hint">None yet. Tick what you want to keep.</p>;
  return (
    <ol class="picked" ref={list} aria-label="Columns to add, in their order">
      {fields.map((field, at) => {
        const wrong = faultOfName(fields, at);
        return (
          // The mouse may drag; the buttons and the keyboard do the same.
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
          <li
            key={field.expression}
            draggable
            class={dragged.value === at ? 'dragged' : undefined}
            onDragStart={(event) => {
              dragged.value = at;
              event.dataTransfer?.setData('text/plain', field.name);
            }}
            onDragOver={(event) => {
              if (dragged.value !== undefined) event.preventDefault();
            }}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged.value !== undefined) move(dragged.value, at, 'name');
              dragged.value = undefined;
            }}
            onDragEnd={() => {
              dragged.value = undefined;
            }}
          >
            <span class="grip" aria-hidden="true">
              ⠿
            </span>
            <input
              class="name"
              value={field.name}
              aria-label={`Name of column ${at + 1}`}
              aria-invalid={wrong ? true : undefined}
              title="Alt and an arrow key move the column"
              spellcheck={false}
              // Else a mouse that selects letters would drag the column.
              onMouseDown={(event) => event.stopPropagation()}
              onInput={(event) => {
                const name = event.currentTarget.value;
                onChange(fields.map((other, index) => (index === at ? { ...other, name } : other)));
              }}
              onKeyDown={(event) => {
                if (!event.altKey || !event.key.startsWith('Arrow')) return;
                event.preventDefault();
                if (event.key === 'ArrowUp') move(at, at - 1, 'name');
                if (event.key === 'ArrowDown') move(at, at + 1, 'name');
              }}
            />
            <button
              type="button"
              class="quiet icon up"
              disabled={at === 0}
              aria-label={`Move ${field.name} up`}
              onClick={() => move(at, at - 1, 'up')}
            >
              ↑
            </button>
            <button
              type="button"
              class="quiet icon down"
              disabled={at === fields.length - 1}
              aria-label={`Move ${field.name} down`}
              onClick={() => move(at, at + 1, 'down')}
            >
              ↓
            </button>
            <button
              type="button"
              class="quiet icon"
              aria-label={`Take out ${field.name}`}
              onClick={() => remove(at)}
            >
              ×
            </button>
            {wrong ? <p class="wrong">{wrong}</p> : null}
          </li>
        );
      })}
    </ol>
  );
}
