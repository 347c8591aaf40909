// The rules between fields, one function for each kind of document. Each adds to `problems` and changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/yaml.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::load {

// What a rule needs to complain: where things stand, and where complaints go. Borrowed for one check.
struct Complaints {
  const Places& places;
  std::string_view file;
  std::vector<Diagnostic>& problems;

  void Add(std::string_view path, std::string what, std::string hint = "") const {
    problems.push_back(places.At(path, file, std::move(what), std::move(hint)));
  }
};

using Texts = google::protobuf::RepeatedPtrField<std::string>;

void CheckDrill(const v1::Drill& drill, const Complaints& complaints);
void CheckPartition(const v1::Partition& partition, const Complaints& complaints);
void CheckPipeline(const v1::Pipeline& pipeline, const Complaints& complaints);

// One fault of a drill; part of CheckDrill, in fault.cc.
void CheckFault(const v1::DrillSpec& spec, int index, const Complaints& complaints);

// Where the monitoring is, and a signal that is taken from it; part of CheckPipeline, in monitoring.cc.
void CheckMonitoring(const v1::PipelineSpec& spec, const Complaints& complaints);
void CheckLabelSignal(const v1::Signal& signal, const v1::Monitoring& monitoring, const std::string& path,
                      const Complaints& complaints);

// What any signal that names somebody by labels may mean, and how it names them; `source` says what it is taken from.
void CheckLabelMeaning(const v1::Signal& signal, std::string_view source, const std::string& path,
                       const Complaints& complaints);

// Where Slurm is, and a signal that is taken from it; part of CheckPipeline, in slurm.cc.
void CheckSlurm(const v1::PipelineSpec& spec, const Complaints& complaints);
void CheckSlurmSignal(const v1::Signal& signal, const v1::PipelineSpec& spec, const std::string& path,
                      const Complaints& complaints);

// Each word names a step of the pipeline (detect, self_check, isolate, replace, recover), and none is there twice.
void CheckStepNames(const Texts& words, const std::string& path, const Complaints& complaints);

// Whose metadata this is has no category and no severity: those are a drill's.
void CheckPlainMetadata(const Complaints& complaints);

// No element is there twice.
void CheckUnique(const Texts& texts, const std::string& path, std::string_view noun, const Complaints& complaints);

}  // namespace triodrill::load
