// What the pipeline said after the onset, and whom it named. Pure.
#pragma once

#include <optional>

#include "reports/measure/onset.h"
#include "reports/measure/trial_facts.h"
#include "reports/measure/trio.h"

namespace triodrill {

// Whom `named` means, seen from the faulted slots.
Naming NamingOf(std::string_view named, const SlotSet& faulted);

PipelineReport ReportOf(const v1::Fact& fact, const Onset& onset);

// Sets detection, detected_by, first_report, misattributed, uncredited and the symptoms.
void MeasureDetection(const TrialFacts& facts, const Onset& onset, Nanos deadline, TrialTrio& trial);

// When the first signal of that meaning after the onset came; `evidence` is set to its source.
std::optional<Span> FirstSignal(const TrialFacts& facts, const Onset& onset, v1::Meaning means,
                                std::string* evidence = nullptr);

}  // namespace triodrill
