#include "coordinator/cli/drill_run.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/cli/approvals.h"
#include "coordinator/cli/origin.h"
#include "coordinator/cli/version.h"
#include "coordinator/conduct/shell.h"
#include "coordinator/engines/local_spec.h"
#include "coordinator/os/child_process.h"
#include "coordinator/os/clock.h"
#include "coordinator/plan/plan.h"
#include "coordinator/watch/log_follower.h"
#include "coordinator/watch/monitoring_watch.h"
#include "coordinator/watch/slurm_watch.h"
#include "coordinator/watch/state_reference.h"
#include "reports/evidence/files.h"
#include "reports/evidence/seal.h"

namespace triodrill::cli {
namespace {

constexpr uintmax_t kMostRawBytes = uintmax_t{64} << 20;  // of one log kept in the bundle

v1::Fact RunStarted(const std::string& run_id, const std::string& digest, TimePoint epoch) {
  v1::Fact fact;
  fact.mutable_at();
  v1::RunStarted* started = fact.mutable_run_started();
  started->set_run_id(run_id);
  started->set_tool_version(std::string(kVersion));
  started->set_plan_digest(digest);
  started->set_wall_ns(coordinator::WallNanos());
  started->set_wall_text(coordinator::WallText(started->wall_ns()));
  started->set_monotonic_ns(ToNanos(epoch));
  FillOrigin(*started);
  return fact;
}

std::string LiveLine(const conduct::State& state) {
  static constexpr const char* kPhases[] = {"settling", "at the gate", "running", "cooling down", "done"};
  std::string line = absl::StrFormat("trial %d/%d · %s", static_cast<int>(state.trial) + 1, state.plan->trials_size(),
                                     kPhases[static_cast<int>(state.phase)]);
  if (state.progress.high_water() >= 0) absl::StrAppend(&line, " · step ", state.progress.high_water());
  if (state.baseline) absl::StrAppend(&line, absl::StrFormat(" · baseline %.2f steps/s", state.baseline->steps_per_s));
  for (const conduct::ShotState& shot : state.shots) {
    if (shot.stage == conduct::Stage::kLanded) absl::StrAppend(&line, " · holding ", shot.shot.planned().kind());
    if (shot.stage == conduct::Stage::kReverting) absl::StrAppend(&line, " · undoing");
  }
  return line;
}

DrillResult Failed(ExitCode code, std::string problem) {
  DrillResult result;
  result.exit_code = code;
  result.problem = std::move(problem);
  return result;
}

// Copies of the logs that were read, so that the evidence can be looked at without the machine.
void KeepRawLogs(const Bundle& bundle, const std::vector<std::string>& paths, Voice& voice) {
  for (const std::string& path : paths) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path, error);
    if (error) continue;  // a source that never appeared
    const std::string name = absl::StrCat("raw/", std::filesystem::path(path).filename().string());
    if (size > kMostRawBytes) {
      voice.Problem(absl::StrCat("raw log ", path, " is larger than the bundle keeps; left where it is"));
      continue;
    }
    Result<std::string> bytes = ReadWholeFile(path);
    if (Status status = bytes.ok() ? bundle.WriteFile(name, *bytes) : bytes.status(); !status.ok()) {
      voice.Problem(absl::StrCat("keep ", path, ": ", status.message()));
    }
  }
}

// One run, from plan to bundle, in steps that each may end it.
class Runner {
 public:
  Runner(Session& session, const DrillRequest& request, Clock& clock, Voice& voice)
      : session_(session), request_(request), bundle_(&request.bundle), clock_(clock), voice_(voice) {}

  DrillResult Run() {
    if (Status idle = session_.Drain(); !idle.ok()) return Failed(ExitCode::kAborted, std::string(idle.message()));
    if (std::optional<DrillResult> refused = MakePlan()) return *std::move(refused);
    if (std::optional<DrillResult> refused = CheckApprovals()) return *std::move(refused);
    if (Status watched = WatchMonitoring(); !watched.ok()) {
      Discard(*bundle_);
      return Failed(ExitCode::kRefused, absl::StrCat("the monitoring cannot be watched: ", watched.message()));
    }
    if (Status watched = WatchSlurm(); !watched.ok()) {
      Discard(*bundle_);
      return Failed(ExitCode::kRefused, absl::StrCat("Slurm cannot be watched: ", watched.message()));
    }
    Status ready = Prepare();
    if (!ready.ok()) return Failed(ExitCode::kUnreachable, std::string(ready.message()));
    Conduct();
    return Conclude();
  }

 private:
  std::optional<DrillResult> MakePlan() {
    plan::Abilities abilities;
    for (const auto& [name, node] : session_.roster().nodes()) {
      if (node.hello) abilities[name] = *node.hello;
    }
    plan::Outcome outcome = plan::MakePlan(
        {request_.drill, session_.options().partition, session_.options().pipeline, std::string(kVersion), abilities});
    if (!outcome.plan) {
      Discard(*bundle_);
      std::vector<std::string> lines;
      for (const plan::Refusal& refusal : outcome.refusals) {
        lines.push_back(absl::StrCat(refusal.what, "; hint: ", refusal.hint));
      }
      return Failed(outcome.refusals.front().exit_code, absl::StrJoin(lines, "\n"));
    }
    plan_ = std::make_shared<v1::Plan>(*std::move(outcome.plan));
    for (const v1::Substitution& instead : plan_->substitutions()) {
      voice_.Say(absl::StrCat(instead.used(), " is used instead of ", instead.wanted(), ": ", instead.reason()));
    }
    return std::nullopt;
  }

  // Of the plan as it is now that the nodes were asked; once more before each trial.
  std::optional<DrillResult> CheckApprovals() {
    gate::ApprovalAnswer answer = gate::ApprovalOf(*plan_, PlanDigest(*plan_), ShownNow(request_.approvals));
    if (!answer.problems.empty()) {
      Discard(*bundle_);
      std::vector<std::string> lines = RefusalLines(answer);
      for (const v1::Substitution& instead : plan_->substitutions()) {
        lines.push_back(absl::StrCat("what is planned beforehand has ", instead.wanted(), ", and here ", instead.used(),
                                     " stands in for it; hint: make the drill inject that, and have it approved"));
      }
      return Failed(ExitCode::kRefused, absl::StrJoin(lines, "\n"));
    }
    counted_ = std::move(answer.counted);
    voice_.Say(answer.saw);
    return std::nullopt;
  }

  // What fires already and what the rules are must be known before anything is touched.
  Status WatchMonitoring() {
    TRIODRILL_ASSIGN_OR_RETURN(
        monitoring_,
        watch::MonitoringWatch::Start(
            plan_->pipeline().spec(), plan_->partition().spec(), session_.options().programs.webhook, clock_,
            [inbox = &session_.inbox()](std::vector<watch::Observed> seen) { inbox->Push(std::move(seen)); }));
    if (monitoring_ == nullptr) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(fingerprint_, monitoring_->Fingerprint());
    fingerprint_.set_when("before");
    return Ok();
  }

  // Likewise: who is out of service already is no news.
  Status WatchSlurm() {
    TRIODRILL_ASSIGN_OR_RETURN(
        slurm_, watch::SlurmWatch::Start(
                    plan_->pipeline().spec(), plan_->partition().spec(), clock_,
                    [inbox = &session_.inbox()](std::vector<watch::Observed> seen) { inbox->Push(std::move(seen)); }));
    return Ok();
  }

  std::vector<v1::Fact> FingerprintAfter() const {
    if (monitoring_ == nullptr) return {};
    Result<v1::MonitoringFingerprint> taken = monitoring_->Fingerprint();
    v1::Fact fact;
    if (!taken.ok()) {
      fact.mutable_monitoring_fingerprint()->set_problem(std::string(taken.status().message()));
    } else {
      *fact.mutable_monitoring_fingerprint() = *std::move(taken);
    }
    fact.mutable_monitoring_fingerprint()->set_when("after");
    return {std::move(fact)};
  }

  Status Prepare() {
    TRIODRILL_RETURN_IF_ERROR(bundle_->WriteFile(kDrillFile, request_.drill_text));
    TRIODRILL_RETURN_IF_ERROR(bundle_->WriteFile("inputs/partition.yaml", request_.partition_text));
    TRIODRILL_RETURN_IF_ERROR(bundle_->WriteFile("inputs/pipeline.yaml", request_.pipeline_text));
    TRIODRILL_ASSIGN_OR_RETURN(digest_, bundle_->WritePlan(*plan_));
    TRIODRILL_ASSIGN_OR_RETURN(timeline_, TimelineWriter::Create(bundle_->timeline_path()));
    settings_.epoch = clock_.Now();
    TRIODRILL_RETURN_IF_ERROR(timeline_->Append(RunStarted(session_.options().run_id, digest_, settings_.epoch)));
    for (size_t i = 0; i < counted_.size(); ++i) {  // each that was given: else it had been refused
      v1::Fact fact;
      fact.mutable_at();
      *fact.mutable_approval()->mutable_approval() = counted_[i];
      fact.mutable_approval()->set_envelope(request_.approvals[i]);
      TRIODRILL_RETURN_IF_ERROR(timeline_->Append(std::move(fact)));
    }
    if (monitoring_ != nullptr) {
      v1::Fact fact;
      fact.mutable_at();
      *fact.mutable_monitoring_fingerprint() = fingerprint_;
      TRIODRILL_RETURN_IF_ERROR(timeline_->Append(std::move(fact)));
    }
    TRIODRILL_RETURN_IF_ERROR(timeline_->Sync());

    const std::string run_dir = engines::RunDir(session_.options().state_dir);
    TRIODRILL_ASSIGN_OR_RETURN(watch::SignalMatcher matcher,
                               watch::SignalMatcher::Create(plan_->pipeline().spec(), plan_->partition().spec(),
                                                            run_dir, session_.options().programs.data_dir));
    matcher_ = std::make_unique<watch::SignalMatcher>(std::move(matcher));
    watch::LogFollower::Options follow;
    follow.tail.from_start = false;
    TRIODRILL_ASSIGN_OR_RETURN(
        follower_, watch::LogFollower::Start(
                       matcher_->Paths(), follow, clock_,
                       [inbox = &session_.inbox()](std::vector<watch::Line> lines) { inbox->Push(std::move(lines)); }));
    TRIODRILL_ASSIGN_OR_RETURN(const bool started, session_.EnsureWorkload());
    if (started) {
      voice_.Say("the job is started");
      v1::Fact fact;
      const int64_t at = (clock_.Now() - settings_.epoch).count();
      fact.mutable_at()->set_earliest_ns(at);
      fact.mutable_at()->set_latest_ns(at);
      fact.mutable_workload()->set_event("started");
      TRIODRILL_RETURN_IF_ERROR(timeline_->Append(std::move(fact)));
    }
    return Ok();
  }

  // Its output is kept in the bundle.
  Result<std::vector<v1::StateReference>> RunReference(int64_t steps) {
    const v1::Workload& workload = plan_->pipeline().spec().workload();
    if (!workload.has_reference()) return std::vector<v1::StateReference>();
    const v1::Reference& reference = workload.reference();
    voice_.Say(absl::StrCat("a run without a fault, of ", steps, " steps, to compare states with"));
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> argv,
                               engines::ReferenceArgv(plan_->partition(), reference, session_.options().programs,
                                                      session_.options().state_dir, steps));
    const std::string file = bundle_->Path("raw/reference.out");
    TRIODRILL_RETURN_IF_ERROR(coordinator::RunIntoFile(argv, file, clock_, ToNanos(reference.at_most())));
    TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(file));
    return watch::ParseReference(reference, text);
  }

  void Conduct() {
    conduct::Surroundings around{
        .fleet = session_.fleet(),
        .inbox = session_.inbox(),
        .roster = session_.roster(),
        .clock = clock_,
        .matcher = *matcher_,
        .append = [this](const v1::Fact& fact) { return timeline_->Append(fact); },
        .sync = [this] { return timeline_->Sync(); },
        .watch_finely = [this](bool on) { follower_->SetFine(on); },
        .restart_workload = [this] { return session_.engine().RestartWorkload(); },
        .reference = [this](int64_t steps) { return RunReference(steps); },
        .last_facts = [this] { return FingerprintAfter(); },
        .exclusive = []() -> std::optional<bool> { return true; },  // the session holds the lock as long as it lives
        .watchers_healthy = [this]() -> std::optional<bool> {
          return follower_->Health().problems.empty() && (!monitoring_ || monitoring_->Problems().empty()) &&
                 (!slurm_ || slurm_->Problems().empty());
        },
        .plan_digest_on_disk = [this]() -> std::optional<std::string> {
          const Result<std::string> bytes = ReadWholeFile(bundle_->Path(kPlanFile));
          if (!bytes.ok()) return std::nullopt;
          return Sha256Hex(*bytes);
        },
        .say = [this](const std::string& text) { voice_.Say(text); },
        .pulse = [this](const conduct::State& state) { voice_.Live(LiveLine(state)); },
        .approvals = [this] { return ShownNow(request_.approvals); },
        .run_id = session_.options().run_id,
    };
    end_ = conduct::Shell(std::move(around), plan_, settings_).Run();
    voice_.ClearLive();
    follower_.reset();
    monitoring_.reset();
    slurm_.reset();
  }

  DrillResult Conclude() {
    DrillResult result;
    result.plan = *plan_;
    result.bundle = bundle_->directory();
    Status saved = timeline_->Sync();
    timeline_.reset();
    if (!saved.ok()) return Broken(std::move(result), saved);
    KeepRawLogs(*bundle_, matcher_->Paths(), voice_);
    // Judged from what was saved, not from what is in memory: `triodrill judge` must come to the same.
    Result<LoadedBundle> loaded = LoadBundle(bundle_->directory());
    if (!loaded.ok()) return Broken(std::move(result), loaded.status());
    result.derived = Derive(*loaded);
    saved = WriteDerived(*bundle_, *result.derived);
    if (saved.ok()) saved = Seal(*bundle_, *result.derived, request_.signer);
    if (saved.ok()) saved = bundle_->Complete();
    if (!saved.ok()) return Broken(std::move(result), saved);
    result.exit_code = result.derived->verdict.exit_code;
    result.problem = end_.problem;
    return result;
  }

  // The drill is over and undone, but its evidence could not be kept.
  DrillResult Broken(DrillResult result, const Status& status) {
    result.problem = absl::StrCat("the bundle is incomplete: ", status.message());
    result.exit_code = end_.undo_confirmed ? ExitCode::kInternal : ExitCode::kUndoNotConfirmed;
    absl::StrAppend(&result.problem, end_.undo_confirmed
                                         ? "; every fault was undone, as its node confirmed"
                                         : "; an undo is not confirmed: `triodrill recover` asks every node again");
    return result;
  }

  Session& session_;
  const DrillRequest& request_;
  const Bundle* bundle_;
  Clock& clock_;
  Voice& voice_;
  std::shared_ptr<v1::Plan> plan_;
  std::string digest_;
  std::vector<v1::Approval> counted_;  // approvals, before anything was touched
  std::unique_ptr<TimelineWriter> timeline_;
  std::unique_ptr<watch::SignalMatcher> matcher_;
  std::unique_ptr<watch::LogFollower> follower_;
  std::unique_ptr<watch::MonitoringWatch> monitoring_;  // null: the profile has none
  std::unique_ptr<watch::SlurmWatch> slurm_;            // likewise
  v1::MonitoringFingerprint fingerprint_;               // before the first trial
  conduct::Settings settings_;
  conduct::RunEnd end_;
};

}  // namespace

void Discard(const Bundle& bundle) {
  std::error_code ignored;
  std::filesystem::remove(bundle.Path(kIncompleteFile), ignored);
  for (const std::string& directory : {bundle.Path("inputs"), bundle.Path("raw"), bundle.directory()}) {
    std::filesystem::remove(directory, ignored);  // only if it is empty
  }
}

DrillResult RunDrill(Session& session, const DrillRequest& request, Clock& clock, Voice& voice) {
  return Runner(session, request, clock, voice).Run();
}

}  // namespace triodrill::cli
