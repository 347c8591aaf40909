#include "tests/golden/stories.h"

namespace triodrill {
namespace {

void Describe(Story& story, const char* name, const char* question, v1::Category category) {
  v1::Metadata& drill = *story.plan.mutable_drill()->mutable_metadata();
  drill.set_name(name);
  drill.set_question(question);
  drill.set_category(category);
  drill.set_severity(v1::P1);
  v1::PartitionSpec& partition = *story.plan.mutable_partition()->mutable_spec();
  partition.mutable_environment()->set_scale("3 nodes, 3 ranks");
  partition.mutable_environment()->set_accelerator("CPU (no accelerator)");
  partition.mutable_environment()->set_interconnect("veth pairs on one bridge");
  partition.mutable_environment()->set_collectives("gloo");
  partition.mutable_environment()->add_simulated("accelerator");
  partition.add_differences("All nodes share one kernel.");
  v1::PipelineSpec& pipeline = *story.plan.mutable_pipeline()->mutable_spec();
  for (const char* step : {"self_check", "isolate", "replace"}) pipeline.add_not_applicable(step);
  v1::Floor& pause = *pipeline.add_floors();
  pause.set_fault("process.pause");
  pause.set_expected("silence for as long as anyone waits");
  pause.set_source("measured, level A");
}

void ExpectUsual(Story& story) {
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(10);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.expect().mutable_steps_lost()->set_max(50);
  story.expect().mutable_isolation()->set_at_most(v1::DOMAIN_NODE);
  story.expect().mutable_interruption()->set_at_most(v1::DOMAIN_JOB);
  for (const char* step : {"detect", "recover"}) story.expect().add_coverage(step);
}

void Kill(Story& story) {
  Describe(story, "kill-one-rank", "Does one dead rank cost more than one restart?", v1::SOFTWARE);
  ExpectUsual(story);
  story.expect().mutable_false_alarms()->set_max(0);
  for (const double detected : {2.1, 3.4}) {
    story.Trial().Kill("n2/0").Signal(0.06, v1::SYMPTOM, "n2").Signal(detected - 0.2, v1::DETECTED, "n0/0");
    story.Signal(detected, v1::DETECTED, "n2/0").Restart(detected + 0.1).Restored(6, 992).Run(6.5, 15, 993).End(15.5);
  }
  story.Sham().Run(0.1, 4, 1001).End(4);
}

void Pause(Story& story) {
  Describe(story, "pause-one-rank", "How long does a silent rank stay unnoticed?", v1::SOFTWARE);
  ExpectUsual(story);
  story.Trial().Pause("n2/0", "until", 20).Withdraw(20).Run(20.2, 27, 1001).End(28);
}

void Link(Story& story) {
  Describe(story, "link-down", "What does a cut of ten seconds cost?", v1::NETWORK);
  ExpectUsual(story);
  story.Trial().LinkDown("n2", "for", 10).Withdraw(10).Run(13.3, 20, 1001).End(70);
}

void Straggler(Story& story) {
  Describe(story, "straggler", "Does anybody notice a slow rank?", v1::HARDWARE);
  ExpectUsual(story);
  v1::Substitution& used = *story.plan.add_substitutions();
  used.set_fault_id("fault");
  used.set_wanted("cpu.throttle");
  used.set_used("cpu.stutter");
  used.set_reason("the cgroups cannot be written without root");
  story.Trial().Throttle("n2/0", "until", 15).Run(0.1, 15, 1001, 2.4).Withdraw(15).Run(15.1, 22, 1037).End(23);
}

void FalseAlarm(Story& story) {
  Describe(story, "false-alarm", "Is the pipeline quiet when nothing is wrong?", v1::SOFTWARE);
  story.expect().mutable_false_alarms()->set_max(0);
  story.Sham().Run(0.1, 4, 1001).Signal(2.5, v1::DETECTED, "n1").End(4);
  story.Sham().Run(0.1, 4, 1001).End(4);
}

void Aborted(Story& story) {
  Describe(story, "aborted", "What does a cut of ten seconds cost?", v1::NETWORK);
  ExpectUsual(story);
  story.Trial().LinkDown("n2", "for", 60).Withdraw(3, true, "cancelled").End(3.2, false, "aborted by a person");
  story.RunEnds("aborted", "SIGINT");
}

void UndoNotConfirmed(Story& story) {
  Describe(story, "undo-not-confirmed", "What does a cut of ten seconds cost?", v1::NETWORK);
  ExpectUsual(story);
  story.Trial().LinkDown("n2", "for", 10).Withdraw(10, false).Run(13.3, 20, 1001).End(21);
}

void NeverRecovered(Story& story) {
  Describe(story, "never-recovered", "Does the job outlive its rendezvous host?", v1::SOFTWARE);
  ExpectUsual(story);
  story.Trial()
      .Kill("n0/0")
      .Signal(0.6, v1::SYMPTOM, "n1")
      .Signal(3.7, v1::DETECTED)
      .Ended(3.7, "n1/0")
      .Ended(3.9, "n2/0");
  story.End(120);
}

void Shrink(Story& story) {
  Describe(story, "elastic-shrink", "Does the job go on with two nodes?", v1::HARDWARE);
  ExpectUsual(story);
  story.expect().mutable_isolation()->set_precision(">= 1");
  story.expect().mutable_isolation()->set_recall(">= 1");
  story.Trial().Kill("n2/0").Signal(0.1, v1::SYMPTOM, "n2").Signal(3.5, v1::DETECTED, "n2").Ended(3.6, "n0/0");
  story.Ended(3.6, "n1/0").Appeared(43.9, "n0/0").Appeared(43.9, "n1/0").Restored(48, 992);
  story.Run(48.8, 58, 993, 0, {"n0/0", "n1/0"}).End(59);
}

void WriterDied(Story& story) {
  Describe(story, "writer-died", "What does a cut of ten seconds cost?", v1::NETWORK);
  ExpectUsual(story);
  story.Trial().LinkDown("n2", "for", 10).WriterDies();
}

void Hostile(Story& story) {
  Describe(story, "hostile", "What if a log line lies?", v1::DATA);
  ExpectUsual(story);
  story.Trial().Kill("n2/0");
  v1::Fact fact;
  fact.mutable_signal()->set_signal("failed");
  fact.mutable_signal()->set_means(v1::DETECTED);
  fact.mutable_signal()->set_named("n2/0");
  fact.mutable_signal()->set_source("log run/n2.err:7");
  fact.mutable_signal()->set_raw(
      "\x1b[2J\x1b]0;owned\x07 # PASS | <img src=x onerror=alert(1)> `code` \xE2\x80\xAE \xFF\n- item");
  story.Say(fact, 2.1).Restart(2.2).Restored(5, 992).Run(5.5, 14, 993).End(15);
}

void SayMonitoring(Story& story, const char* when, const char* digest, double at) {
  v1::Fact fact;
  fact.mutable_monitoring_fingerprint()->set_when(when);
  v1::MonitoringPart& part = *fact.mutable_monitoring_fingerprint()->add_parts();
  part.set_name("rule GpuXid");
  part.set_sha256(digest);
  story.Say(fact, at);
}

void Monitored(Story& story) {
  Describe(story, "rule-changed", "Does a drill notice that its monitoring was changed meanwhile?", v1::HARDWARE);
  ExpectUsual(story);
  story.plan.mutable_pipeline()->mutable_spec()->mutable_monitoring()->set_prometheus("http://127.0.0.1:9090");
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 992).Run(5.5, 14, 993);
  SayMonitoring(story, "before", "aa", -1);
  v1::Fact gap;
  gap.mutable_monitoring_gap()->set_source("prometheus");
  gap.mutable_monitoring_gap()->set_problem("read http://127.0.0.1:9090/api/v1/query: no whole answer");
  story.Say(gap, 3);
  SayMonitoring(story, "after", "ab", 14.5);
  story.End(15);
}

constexpr GoldenStory kStories[] = {
    {"kill", &Kill},
    {"pause", &Pause},
    {"link", &Link},
    {"straggler", &Straggler},
    {"false-alarm", &FalseAlarm},
    {"aborted", &Aborted},
    {"undo-not-confirmed", &UndoNotConfirmed},
    {"never-recovered", &NeverRecovered},
    {"elastic-shrink", &Shrink},
    {"writer-died", &WriterDied},
    {"hostile", &Hostile},
    {"monitored", &Monitored},
};

}  // namespace

std::span<const GoldenStory> GoldenStories() { return kStories; }

}  // namespace triodrill
