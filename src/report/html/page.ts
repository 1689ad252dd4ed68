import type { RunReport } from '../run-report.ts';
import { costSection } from './cost.ts';
import { domainsSection } from './domains.ts';
import { Html, html } from './html.ts';
import { answersSection, latencySection } from './latency.ts';
import { columnsSection, rowsSection, tiles, verdict } from './overview.ts';
import { reasonsSection } from './reasons.ts';
import { filesSection, noticesSection, settingsSection } from './settings.ts';
import { speedSection } from './speed.ts';
import { STYLE } from './style.ts';
import { time } from './words.ts';

/** Forbids loading and running anything: the page is self-contained. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/**
 * Makes a page of a report, in the order in which people ask: did it work, what went wrong, how
 * fast was it, with which settings. The page needs no other file.
 */
export function renderReport(report: RunReport): string {
  const { run } = report;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Brandfill ${report.brandfill}">
<title>${run.input}: ${run.headline}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${verdict(report)}
${tiles(report)}
${rowsSection(report)}
${reasonsSection(report)}
${speedSection(report)}
${answersSection(report)}
${latencySection(report)}
${columnsSection(report)}
${domainsSection(report)}
${costSection(report)}
${noticesSection(report)}
${filesSection(report)}
${settingsSection(report)}
<footer>Made by Brandfill ${report.brandfill} when the run ended, ${time(run.finishedAt)}. Example rows are from the list, answers from the API: share it with nobody who may not see them.</footer>
</main>
</body>
</html>
`.text;
}
