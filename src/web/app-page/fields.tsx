import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { ChosenField, FieldNode } from '../app/contract.ts';
import { faultOfName, leavesOf, moved, searched } from './choices.ts';
import { announce } from './work.ts';

interface TreeProps {
  readonly tree: readonly FieldNode[];
  readonly isChosen: (node: FieldNode) => boolean;
  readonly onToggle: (node: FieldNode, isWanted: boolean) => void;
}

/** All that answers know, with a tick for each thing to keep. Lists in lists, for all who hear it. */
export function FieldTree({ tree, isChosen, onToggle }: TreeProps): JSX.Element {
  const text = useSignal('');
  const id = useId();
  const shown = searched(tree, text.value);
  return (
    <div class="tree">
      <label class="unseen" htmlFor={id}>
        Search in what is known
      </label>
      <input
        id={id}
        type="search"
        placeholder="Search, such as city"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      {shown.length === 0 ? <p class="hint">Nothing has that in it.</p> : null}
      <Branch
        nodes={shown}
        isChosen={isChosen}
        onToggle={onToggle}
        isOpen={text.value !== ''}
        label="What is known"
      />
    </div>
  );
}

function Branch(props: {
  readonly nodes: readonly FieldNode[];
  readonly isChosen: TreeProps['isChosen'];
  readonly onToggle: TreeProps['onToggle'];
  readonly isOpen: boolean;
  readonly label: string;
}): JSX.Element {
  const { nodes, isChosen, onToggle, isOpen, label } = props;
  return (
    <ul aria-label={label}>
      {nodes.map((node) => (
        <li key={node.expression}>
          {node.children.length === 0 ? (
            <Leaf node={node} isChosen={isChosen(node)} onToggle={onToggle} />
          ) : (
            <details open={isOpen || isShort(node)}>
              <summary>
                {node.label}{' '}
                <span class="hint">
                  {leavesOf(node.children).filter(isChosen).length} of{' '}
                  {leavesOf(node.children).length}
                </span>
              </summary>
              {node.kind === 'list' ? (
                <Leaf
                  node={node}
                  name="All of them in one column"
                  isChosen={isChosen(node)}
                  onToggle={onToggle}
                />
              ) : null}
              <Branch
                nodes={node.children}
                isChosen={isChosen}
                onToggle={onToggle}
                isOpen={isOpen}
                label={node.label}
              />
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

/** A group of a few values is shown at once. */
function isShort({ kind, children }: FieldNode): boolean {
  return kind === 'object' && children.length <= 6;
}

function Leaf(props: {
  readonly node: FieldNode;
  readonly name?: string;
  readonly isChosen: boolean;
  readonly onToggle: TreeProps['onToggle'];
}): JSX.Element {
  const { node, name = node.label, isChosen, onToggle } = props;
  const example = node.examples.find((text) => text !== '');
  return (
    <label class="leaf">
      <input
        type="checkbox"
        checked={isChosen}
        onChange={(event) => onToggle(node, event.currentTarget.checked)}
      />
      <span>
        {name}
        <span class="example">{example ?? 'blank for these'}</span>
      </span>
    </label>
  );
}

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
  useLayoutEffect(() => {
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
