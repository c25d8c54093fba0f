"""The style sheet of every page that is written: of a study, of a campaign: light and dark, on phones and on paper."""

from maxentry.plots.colours import DARK
from maxentry.plots.svg import variable

VARIABLES = "".join(f"{variable(light)}:{dark};" for light, dark in DARK.items())

STYLE = (
    """
:root { color-scheme: light dark; --ink: #1a1a1a; --faint: #5c5c5c; --paper: #ffffff; --card: #f6f6f4; --rule: #d8d8d4;
  --good: #00594a; --good-bg: #dff1ec; --bad: #8a3200; --bad-bg: #fbe6d8; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --faint: #a8a8a8; --paper: #161616; --card: #202020; --rule: #3c3c3c;
    --good: #7fd8c0; --good-bg: #12352d; --bad: #ffb08a; --bad-bg: #43230f; """
    + VARIABLES
    + """ }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem clamp(0.75rem, 3vw, 2rem) 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.4rem; }
p { max-width: 46rem; margin: 0.4rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.15rem; }
.not { border-left: 4px solid var(--bad); padding-left: 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--card); border-radius: 6px; padding: 0.6rem; break-inside: avoid; }
figcaption { font-weight: 600; overflow-wrap: anywhere; }
figure svg { display: block; width: 100%; height: auto; }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; margin: 0.6rem 0; list-style: none; }
.key li { display: flex; align-items: center; gap: 0.4rem; font-size: 0.85rem; } .key svg { width: 3rem; height: 1rem; }
.wide { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { vertical-align: bottom; } td { min-width: 6rem; }
small { display: block; white-space: nowrap; font-size: 0.92em; opacity: 0.85; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--paper); min-width: 7rem; max-width: 14rem;
  overflow-wrap: break-word; }
.good { color: var(--good); background: var(--good-bg); } .bad { color: var(--bad); background: var(--bad-bg); }
dt { color: var(--faint); font-size: 0.85rem; } dd { margin: 0 0 0.5rem; overflow-wrap: anywhere; }
pre { font-size: 0.8rem; overflow-x: auto; background: var(--card); padding: 0.6rem; border-radius: 6px; }
summary { cursor: pointer; overflow-wrap: anywhere; } li { overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 11.5rem), 1fr)); gap: 0.6rem;
  margin: 0.8rem 0; }
.facts div { background: var(--card); border-radius: 6px; padding: 0.5rem 0.7rem; }
.facts dd { margin: 0; font-size: 1.15rem; } .facts dt { margin: 0; }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1rem;
  align-items: start; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 0.5rem; }
.panels > *, .maps > * { min-width: 0; } .panels > svg { max-width: 34rem; } .across { grid-column: 1 / -1; }
.whole { margin: 1rem 0; max-width: 44rem; } .note { color: var(--faint); font-size: 0.85rem; }
.reasons td:first-child { min-width: 0; } .reasons td:last-child { min-width: 16rem; }
.reasons td:nth-child(2), .reasons td:nth-child(3) { max-width: 15rem; overflow-wrap: anywhere; }
.js-plotly-plot text { fill: var(--ink) !important; }
.js-plotly-plot .hoverlayer text, .js-plotly-plot .scatterlayer text { fill: #101010 !important; }
@media print {
  body { font-size: 10pt; } main { max-width: none; padding: 0; } .wide { overflow: visible; }
  table { font-size: 7pt; } th, td { padding: 2pt 3pt; } td { min-width: 0; }
  tbody th { position: static; min-width: 0; } small { white-space: normal; }
  .cards, .maps { grid-template-columns: 1fr 1fr; } tr, li { break-inside: avoid; } h2 { break-after: avoid; }
}
"""
)
