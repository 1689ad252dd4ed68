import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { FieldNode } from '../app/contract.ts';
import { leavesOf, searched } from './choices.ts';

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
