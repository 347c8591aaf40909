// Runs told as stories, as a ledger takes them: from memory, or as bundles on the disk.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "reports/evidence/derive.h"
#include "reports/ledger/rows.h"
#include "tests/unit/reports/story.h"

namespace triodrill::ledger {

struct Told {
  std::string run_id = "run-1";
  std::string started = "2026-11-29T12:00:00Z";
  std::string release;
};

inline Timeline TimelineOf(Story& story, const Told& told, const std::string& plan_digest) {
  Timeline timeline = story.Told();
  for (v1::Fact& fact : timeline.facts) {
    if (!fact.has_run_started()) continue;
    fact.mutable_run_started()->set_run_id(told.run_id);
    fact.mutable_run_started()->set_wall_text(told.started);
    fact.mutable_run_started()->set_plan_digest(plan_digest);
  }
  return timeline;
}

// As LoadBundle would give it.
inline LoadedBundle LoadedFrom(Story& story, const Told& told = {}) {
  LoadedBundle bundle;
  bundle.directory = "bundle-" + told.run_id;
  bundle.plan = story.plan;
  bundle.timeline = TimelineOf(story, told, PlanDigest(story.plan));
  bundle.timeline_head = "head-" + told.run_id;
  bundle.complete = bundle.timeline.complete;
  bundle.problem = bundle.timeline.problem;
  return bundle;
}

inline Result<ToldRun> TakenFrom(const LoadedBundle& bundle, const std::string& release = "") {
  return RunOf(bundle, Derive(bundle), release);
}
inline ToldRun Taken(Story& story, const Told& told = {}) { return *TakenFrom(LoadedFrom(story, told), told.release); }

inline void WriteBundle(Story& story, const Told& told, const std::string& directory) {
  const Result<Bundle> bundle = Bundle::Create(directory);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const Result<std::string> digest = bundle->WritePlan(story.plan);
  ASSERT_TRUE(digest.ok());
  auto writer = TimelineWriter::Create(bundle->timeline_path());
  ASSERT_TRUE(writer.ok());
  const Timeline timeline = TimelineOf(story, told, *digest);
  for (const v1::Fact& fact : AllFacts(timeline)) ASSERT_TRUE((*writer)->Append(fact).ok());
  writer->reset();
  ASSERT_TRUE(bundle->Complete().ok());
}

// A trial in which n2/0 is killed, seen at `detected` and over at `recovered`, seconds after t0.
inline void TellDeath(Story& story, double detected = 2, double recovered = 5.5) {
  story.Trial().Kill("n2/0").Signal(detected, v1::DETECTED, "n2/0").Restart(detected + 0.1);
  story.Restored(recovered - 0.5, 990).Run(recovered, recovered + 12.5, 991).End(recovered + 13.5);
}

// What the pipeline writes of one slot, in the story's current trial.
inline v1::Fact Report(v1::Meaning means, const std::string& signal, const std::string& named, const std::string& raw) {
  v1::Fact fact;
  fact.mutable_signal()->set_signal(signal);
  fact.mutable_signal()->set_means(means);
  fact.mutable_signal()->set_named(named);
  fact.mutable_signal()->set_step(-1);
  fact.mutable_signal()->set_source("log run/pipeline.log:7");
  fact.mutable_signal()->set_raw(raw);
  return fact;
}

}  // namespace triodrill::ledger
