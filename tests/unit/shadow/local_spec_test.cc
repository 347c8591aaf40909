#include "coordinator/engines/local_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/engines/local_engine.h"
#include "drills/shadow/plan.h"
#include "re2/re2.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/policy.h"

namespace triodrill::engines {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Programs kPrograms{
    .shadow = "/b/triodrill-shadow", .agent = "/b/triodrilld", .undo = "/b/triodrill-undo", .data_dir = "/share"};

v1::Partition TwoNodes() {
  v1::Partition partition;
  partition.mutable_metadata()->set_name("demo");
  partition.mutable_spec()->set_engine("local");
  for (const char* name : {"n0", "n1"}) partition.mutable_spec()->add_nodes()->set_name(name);
  return partition;
}

v1::Pipeline Running(const std::vector<std::string>& command) {
  v1::Pipeline pipeline;
  for (const std::string& argument : command) pipeline.mutable_spec()->mutable_workload()->add_command(argument);
  return pipeline;
}

std::vector<std::string> Argv(const v1::Program& program) { return {program.argv().begin(), program.argv().end()}; }

TEST(LocalSpec, ReplacesEveryPlaceholderNodeByNode) {
  const Result<v1::ShadowSpec> spec =
      LocalEngine::Spec(TwoNodes(),
                        Running({"${data_dir}/job", "${node}", "${node_index}", "${nodes}", "${address}",
                                 "${first_node}:1", "${first_address}", "${run_dir}"}),
                        kPrograms, "/s");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(Argv(spec->nodes(1).workload()),
              ElementsAre("/share/job", "n1", "1", "2", "10.77.0.11", "n0:1", "10.77.0.10", "/s/run"));
  EXPECT_EQ(spec->nodes(1).workload().out(), "/s/run/n1.out");
  EXPECT_EQ(spec->nodes(1).workload().err(), "/s/run/n1.err");
}

TEST(LocalSpec, StartsEachAgentWithItsOwnJournalAndPolicy) {
  const Result<v1::ShadowSpec> spec = LocalEngine::Spec(TwoNodes(), Running({"/bin/true"}), kPrograms, "/s");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(Argv(spec->nodes(0).agent()),
              ElementsAre("/b/triodrilld", "--node", "n0", "--coordinator", "unix:/s/coordinator.sock", "--state-dir",
                          "/s/nodes/n0", "--policy", "/s/nodes/n0/policy.yaml", "--nvml",
                          "/s/nodes/n0/nvml/libnvidia-ml.so.1", "--kmsg", "/s/run/kmsg-n0.log"));
}

TEST(LocalSpec, IsOneThatTheSandboxTakes) {
  const Result<v1::ShadowSpec> spec = LocalEngine::Spec(TwoNodes(), Running({"/bin/true"}), kPrograms, "/s");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(shadow::CheckSpec(*spec), Ok());
}

TEST(LocalSpec, RefusesAPlaceholderThatNobodyKnows) {
  const Result<v1::ShadowSpec> spec = LocalEngine::Spec(TwoNodes(), Running({"${rundir}"}), kPrograms, "/s");
  EXPECT_THAT(spec.status().message(), HasSubstr("there is no ${rundir}; known are address, bin_dir, data_dir"));
}

TEST(LocalSpec, RefusesAnEnvironmentEntryWithoutAValue) {
  v1::Pipeline pipeline = Running({"/bin/true"});
  pipeline.mutable_spec()->mutable_workload()->add_env("LOGLEVEL");
  EXPECT_THAT(LocalEngine::Spec(TwoNodes(), pipeline, kPrograms, "/s").status().message(), HasSubstr("NAME=value"));
}

TEST(LocalSpec, RefusesAPartitionOfAnotherEngine) {
  v1::Partition partition = TwoNodes();
  partition.mutable_spec()->set_engine("slurm");
  EXPECT_THAT(LocalEngine::Spec(partition, Running({"/bin/true"}), kPrograms, "/s").status().message(),
              HasSubstr("\"slurm\""));
}

TEST(LocalSpec, LeavesADollarAlone) {
  const Result<std::string> text = Expand("cost $5 ${a}", {{"a", "${b}"}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "cost $5 ${b}");
  EXPECT_FALSE(Expand("${a", {{"a", "1"}}).ok());
}

// As the agent will read it.
v1::AgentPolicy Policy(std::string_view node, const v1::PartitionSpec& partition = {}) {
  v1::AgentPolicy policy;
  std::vector<Diagnostic> problems;
  EXPECT_TRUE(ParseAgentPolicy(AgentPolicyYaml(node, partition), "policy.yaml", policy, problems));
  EXPECT_TRUE(problems.empty());
  return policy;
}

TEST(AgentPolicy, AllowsEveryFaultOfTheSchemaOnAShadowNode) {
  const v1::AgentPolicy policy = Policy("n0");
  EXPECT_EQ(policy.metadata().name(), "n0");
  EXPECT_TRUE(policy.spec().shadow());
  EXPECT_EQ(policy.spec().max_hold().seconds(), 300);
  EXPECT_THAT(policy.spec().protect_interfaces(), ElementsAre("lo"));
  for (const FaultRow& row : FaultCatalogue()) EXPECT_THAT(policy.spec().faults(), ::testing::Contains(row.kind));
  EXPECT_EQ(policy.spec().faults_size(), static_cast<int>(FaultCatalogue().size()));
}

TEST(AgentPolicy, SaysOfApprovalsWhatThePartitionSays) {
  EXPECT_EQ(Policy("n0").spec().waive_approvals(), "");
  EXPECT_TRUE(Policy("n0").spec().approvers().empty());
  v1::PartitionSpec partition;
  partition.set_waive_approvals("a sandbox: \"nothing\" but its own processes");
  EXPECT_EQ(Policy("n0", partition).spec().waive_approvals(), partition.waive_approvals());
  partition.clear_waive_approvals();
  partition.set_approvals(1);
  v1::Approver& approver = *partition.add_approvers();
  approver.set_name("ana");
  approver.set_key("MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=");
  const v1::AgentPolicy policy = Policy("n0", partition);
  ASSERT_EQ(policy.spec().approvers_size(), 1);
  EXPECT_EQ(policy.spec().approvers(0).name(), "ana");
  EXPECT_EQ(policy.spec().approvers(0).key(), approver.key());
  EXPECT_EQ(policy.spec().approvals(), 1);
}

TEST(AgentPolicy, ProtectsOurProgramsAndNotAJobThatHasOurNameInAnArgument) {
  const RE2 protected_command(Policy("n0").spec().protect_commands(0));
  ASSERT_TRUE(protected_command.ok());
  EXPECT_TRUE(RE2::PartialMatch("/usr/bin/triodrilld --node n0", protected_command));
  EXPECT_TRUE(RE2::PartialMatch("triodrill-shadow up", protected_command));
  EXPECT_TRUE(RE2::PartialMatch("triodrill", protected_command));
  EXPECT_FALSE(
      RE2::PartialMatch("/usr/bin/python3 -u /usr/share/triodrill/shadow/torchrun/train.py", protected_command));
  EXPECT_FALSE(RE2::PartialMatch("/usr/bin/python3 -m torch.distributed.run --rdzv_id triodrill", protected_command));
}

}  // namespace
}  // namespace triodrill::engines
