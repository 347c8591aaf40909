// What `triodrill` can be told to do. One function a verb: it does its work, prints its result on standard output and
// its problems on standard error, and returns the exit code. Options are values, parsed in main.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/exit_code.h"

namespace triodrill::cli {

class Interrupts;

inline constexpr std::string_view kLedgerFile = "triodrill-ledger.sqlite";  // in the working directory

// Where a drill runs. Empty = the embedded partition and torchrun, from the data directory.
struct Where {
  std::string partition;
  std::string pipeline;
  std::string state_dir;
};

struct ValidateOptions {
  std::vector<std::string> files;
  bool json = false;
};
// How often a drill is run, instead of as it says itself. -1: as it says.
struct Often {
  int trials = -1;
  int sham = -1;
  int64_t seed = -1;
};
struct PlanOptions {
  std::string drill;
  Where where;
  Often often;
  std::string out;  // the plan itself, as plan.json holds it: what is approved
  bool json = false;
  bool power = false;  // how many trials the objectives need, instead
};
struct RunOptions {
  std::string drill;
  Where where;
  Often often;
  std::vector<std::string> approvals;  // files that `approve` wrote
  std::string out;
  std::string sign;  // private key that signs the bundle; "": not signed
  bool json = false;
  bool quiet = false;
};
struct ApproveOptions {
  std::string plan;
  std::string key;
  std::string name;
  std::string expires = "8h";
  std::string faults = "all";
  std::string out;
  bool yes = false;
};
struct DemoOptions {
  std::string out;
  std::string state_dir;
  bool torchrun = false;  // drills of PyTorch's torchrun instead of the reference pipeline
  bool quiet = false;
};
struct StateOptions {  // abort, recover, status, shadow down, shadow status
  Where where;
  bool json = false;
};
struct JudgeOptions {
  std::string bundle;
  bool json = false;
};
struct VerifyOptions {
  std::string bundle;
  std::string key;  // public
  bool json = false;
};
struct CompareBundlesOptions {
  std::string base;
  std::string next;
  std::string max_regression = "10%";
  std::string alpha = "0.05";
  bool across = false;  // also where drill, profile or environment differ
  bool json = false;
  bool md = false;
};
struct PackOptions {
  std::string bundle;
  std::string out;  // "" is the bundle's own name and .tar.zst
};
struct KeygenOptions {
  std::string out;
};
struct ReportOptions {
  std::vector<std::string> bundles;
  std::string format = "text";
  std::string out;      // "" is standard output
  std::string quarter;  // of the ledger, instead of bundles
  std::string ledger = std::string(kLedgerFile);
  bool across = false;  // compare also where conditions differ
};
struct LedgerOptions {  // each verb has some of them
  std::string ledger = std::string(kLedgerFile);
  std::vector<std::string> bundles;
  std::string release, quarter, drill, pipeline;
  int64_t entry = 0;
  std::string disposition, reason;
  std::string started, detected, ended, severity, summary;
  std::string format = "csv";
  std::string out;
  bool json = false;
};
struct FaultsOptions {
  bool json = false;
};
struct ExplainOptions {
  std::string path;
  std::string json_schema;  // a kind
};

// Need no root, no agent, no network. verbs_offline.cc, verbs_approve.cc, verbs_bundle.cc, verbs_compare.cc,
// verbs_evidence.cc, verbs_ledger.cc
ExitCode Validate(const ValidateOptions& options);
ExitCode ShowPlan(const PlanOptions& options);
ExitCode Approve(const ApproveOptions& options);
ExitCode Judge(const JudgeOptions& options);
ExitCode Pack(const PackOptions& options);
ExitCode Report(const ReportOptions& options);
ExitCode ReportQuarter(const ReportOptions& options);
ExitCode LedgerAdd(const LedgerOptions& options);
ExitCode LedgerList(const LedgerOptions& options);
ExitCode LedgerSdc(const LedgerOptions& options);
ExitCode LedgerDispose(const LedgerOptions& options);
ExitCode LedgerIncident(const LedgerOptions& options);
ExitCode LedgerExport(const LedgerOptions& options);
ExitCode Verify(const VerifyOptions& options);
ExitCode Keygen(const KeygenOptions& options);
ExitCode CompareBundles(const CompareBundlesOptions& options);
ExitCode Faults(const FaultsOptions& options);
ExitCode ExplainSchema(const ExplainOptions& options);

// Work on a partition. verbs_run.cc, verbs_shadow.cc
ExitCode Run(const RunOptions& options, Interrupts& interrupts);
ExitCode Demo(const DemoOptions& options, Interrupts& interrupts);
ExitCode Abort(const StateOptions& options);
ExitCode Recover(const StateOptions& options, Interrupts& interrupts);
ExitCode ShadowUp(const StateOptions& options);
ExitCode ShadowDown(const StateOptions& options);
ExitCode ShadowStatus(const StateOptions& options);

}  // namespace triodrill::cli
