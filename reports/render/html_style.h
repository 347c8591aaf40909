// The style sheet of the HTML report. Colours are named by what they say, in both themes; nothing is said by colour
// alone.
#pragma once

#include <string_view>

namespace triodrill {

inline constexpr std::string_view kHtmlStyle = R"css(
:root { color-scheme: light dark; --page: #fbfbfa; --ink: #1d2125; --soft: #5c646d; --line: #d9dcdf; --card: #ffffff;
  --pass: #12713d; --fail: #b3261e; --open: #8a5a00; --work: #7fa7c9; --fault: #c4452f; --mark: #4b3a8c; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --ink: #e6e8ea; --soft: #9aa3ab; --line: #343a40;
  --card: #1b1f23; --pass: #5fd08f; --fault: #ff8a73; --fail: #ff8a80; --open: #f0b84a; --work: #4d7ba3;
  --mark: #b9a8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 12px; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 36px 0 10px; }
h3 { font-size: 1.02rem; margin: 28px 0 8px; }
p { margin: 8px 0; }
a { color: inherit; }
.soft { color: var(--soft); }
.answer { font-weight: 700; white-space: nowrap; }
.PASS { color: var(--pass); } .FAIL { color: var(--fail); } .INCONCLUSIVE { color: var(--open); }
.drill { border-top: 2px solid var(--line); margin-top: 48px; padding-top: 28px; }
.drill:first-of-type { border: 0; margin-top: 0; padding-top: 0; }
.blockers { margin: 0; padding: 0; list-style: none; }
.blockers li { border-left: 3px solid var(--fail); padding: 4px 12px; margin: 8px 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 12px; margin: 20px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px; }
.tile b { display: block; font-size: 1.25rem; line-height: 1.35; overflow-wrap: anywhere; }
.tile span { color: var(--soft); font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
.assurance { min-width: 11em; } .expected { min-width: 7em; } .measured { min-width: 16em; } .objective { min-width: 12em; }
tbody th { font-weight: 600; min-width: 9em; width: 14em; }
code, .quote { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
.picture { overflow-x: auto; margin: 12px 0; }
.picture svg { display: block; width: 100%; min-width: 680px; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--soft); }
svg .axis line { stroke: var(--line); } svg .lane line { stroke: var(--line); }
svg .work { fill: var(--work); } svg .hatch { fill: var(--fault); }
svg .fault { stroke: var(--fault); fill-opacity: .75; }
svg .ended { stroke: var(--fail); stroke-width: 2; fill: none; } svg .appeared { fill: var(--pass); }
svg .milestone line { stroke: var(--mark); } svg .milestone rect { fill: var(--mark); opacity: .28; }
svg .milestone text { fill: var(--mark); }
svg .rate path { fill: var(--work); opacity: .75; } svg .rate line { stroke: var(--soft); stroke-dasharray: 4 3; }
svg .seen { fill: var(--work); } svg .open { fill: var(--work); opacity: .45; } svg .censored { stroke: var(--open); stroke-width: 2; fill: none; }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: .82rem; color: var(--soft); padding: 0; margin: 4px 0;
  list-style: none; }
.nodes { display: flex; flex-wrap: wrap; gap: 10px; padding: 0; margin: 10px 0; list-style: none; }
.nodes > li { border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; font-size: .85rem; }
.slots { display: flex; gap: 6px; padding: 0; margin: 6px 0 0; list-style: none; }
.slots li { border: 1px solid var(--line); border-radius: 4px; padding: 3px 8px; min-width: 74px; background: var(--card); }
.slots .faulted { border-color: var(--fault); border-width: 2px; } .slots .evicted { border-style: dashed; }
.slots small { display: block; color: var(--soft); }
@media print { :root { color-scheme: light; } body { background: none; font-size: 11pt; } main { max-width: none; padding: 0; }
  .picture, .tile, tr { break-inside: avoid; } .picture svg { min-width: 0; } }
)css";

}  // namespace triodrill
