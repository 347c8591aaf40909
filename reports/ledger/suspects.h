// Silent data corruption in one run: whose data a drill changed, and whom the pipeline suspected without that. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "reports/ledger/rows.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill::ledger {

// Kinds of fault that change data without breaking anything.
bool ChangesData(std::string_view kind);

// A report is of SDC if its signal's id or its line has the word `sdc` or says "silent data corruption".
bool SaysSdc(std::string_view signal, std::string_view raw);

// Injected ones in the order of the trials, and after those of a trial its suspects.
std::vector<SdcRow> SdcOf(const v1::Plan& plan, const Timeline& timeline, const Trio& trio);

// Every slot and node that had a part in a valid trial, by name.
std::vector<ServedRow> ServedIn(const Trio& trio, const std::vector<SdcRow>& sdc);

}  // namespace triodrill::ledger
