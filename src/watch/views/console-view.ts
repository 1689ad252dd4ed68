import { printable } from '../../common/printable.ts';
import { describeStop, describeSummary } from '../describe/describe.ts';
import { describeInput, describePlan, inputBlock, planBlock } from '../describe/describe-plan.ts';
import type { RunEvent } from '../events.ts';
import type { Summary } from '../summary.ts';
import type { ProgressView } from './progress-view.ts';

/**
 * Shows a run on the console: how the input was understood, the plan, progress, and how it ended.
 */
export interface ConsoleView {
  readonly show: (event: RunEvent) => void;
  finish(summary: Summary): void;
  /** Leaves the terminal as it was found. May be called twice. */
  end(): void;
}

export interface ConsoleViewOptions {
  /** Takes a line, without its end. */
  readonly write: (line: string) => void;
  readonly progress: ProgressView;
  /**
   * Whether somebody sits there who will be asked to confirm: the plan then takes more room.
   * @default false
   */
  readonly isTerminal?: boolean;
  /** The id of the run in logs, for the plan on a terminal. @default it is not shown */
  readonly runId?: string;
  /** Takes secrets out of a text. @default leaves it as it is */
  readonly redact?: (text: string) => string;
}

export function createConsoleView({
  write,
  progress,
  isTerminal = false,
  runId,
  redact = (text) => text,
}: ConsoleViewOptions): ConsoleView {
  const say = (line: string): void => {
    progress.giveWay();
    write(printable(redact(line)));
  };
  return {
    show: (event) => {
      switch (event.type) {
        case 'opened':
          return (isTerminal ? inputBlock(event) : [describeInput(event)]).forEach(say);
        case 'planned':
          return (isTerminal ? planBlock(event.plan, runId) : describePlan(event.plan)).forEach(
            say,
          );
        case 'notice':
          return say(`Note: ${event.message}`);
        case 'stopping':
          return say(describeStop(event.stop));
        case 'progress':
          return progress.show(event);
        case 'logos':
          return progress.showLogos(event);
        case 'rows':
          return progress.showRows(event);
        case 'writing':
          return progress.end();
      }
    },
    finish: (summary) => {
      progress.end();
      describeSummary(summary).forEach(say);
    },
    end: () => progress.end(),
  };
}
