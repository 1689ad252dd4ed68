import { describeStop, describeSummary } from './describe.ts';
import { describeInput, describePlan, inputBlock, planBlock } from './describe-plan.ts';
import type { RunEvent } from './events.ts';
import { chooseStyle, createProgressView, type ProgressStyle } from './progress-view.ts';
import type { Summary } from './summary.ts';

/** Shows a run on the console: what was understood, the plan, progress, and how it ended. */
export interface ConsoleView {
  readonly show: (event: RunEvent) => void;
  finish(summary: Summary): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

export interface ConsoleViewOptions {
  readonly stream: NodeJS.WriteStream;
  readonly progress: ProgressStyle | 'auto';
  /** Whether somebody sits there who is going to be asked: the plan then takes some room. @default false */
  readonly isTerminal?: boolean;
  /** Takes secrets out of a text. @default leaves it as it is */
  readonly redact?: (text: string) => string;
}

export function createConsoleView({
  stream,
  progress,
  isTerminal = false,
  redact = (text) => text,
}: ConsoleViewOptions): ConsoleView {
  const view = createProgressView(chooseStyle(progress, stream), stream);
  const say = (line: string): void => {
    view.end();
    stream.write(`${redact(line)}\n`);
  };
  return {
    show: (event) => {
      switch (event.type) {
        case 'opened':
          return (isTerminal ? inputBlock(event) : [describeInput(event)]).forEach(say);
        case 'planned':
          return (isTerminal ? planBlock : describePlan)(event.plan).forEach(say);
        case 'notice':
          return say(`Note: ${event.message}`);
        case 'stopping':
          return say(describeStop(event.stop));
        case 'progress':
          return view.show(event);
        case 'logos':
          return view.showLogos(event);
        case 'writing':
          return view.end();
      }
    },
    finish: (summary) => describeSummary(summary).forEach(say),
    end: () => view.end(),
  };
}
